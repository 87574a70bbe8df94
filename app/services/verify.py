"""Checks stored data for damage: index, ledgers, embedding cache, keys and question log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound
from app.services.book_scope import require_indexed
from app.services.ports import BookStore, LedgerStore


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of one check; `book` is "" for a store that all books share."""

    book: str
    part: str
    """"index", "generation before" if it is damaged, "ledger" or the name of a shared store."""
    faults: Sequence[str]


@dataclass(frozen=True, slots=True)
class VerifyBooks:
    """The use case. It reads all stored data and writes nothing: the faults say what to do."""

    index: BookStore
    ledgers: LedgerStore
    shared: Mapping[str, Callable[[], Awaitable[list[str]]]]
    """For each store that all books share, by name, what returns its faults."""

    async def run(self, books: Sequence[BookId] = ()) -> AsyncIterator[Verified]:
        """Check these books, or all, and the shared stores. BookNotFound."""
        known = {*await self.index.books(), *await self.index.damaged()}
        require_indexed(books, known)
        for book in books or sorted(known):
            try:
                yield Verified(book, "index", await self.index.faults(book))
                if before := await self.index.faults(book, previous=True):
                    yield Verified(book, "generation before", before)
            except BookNotFound:
                if books:
                    raise
                continue  # removed since it was listed
            yield Verified(book, "ledger", await self.ledgers.faults(book))
        for name, faults in self.shared.items():
            yield Verified("", name, await faults())
