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


async def verify(
    index: BookStore,
    ledgers: LedgerStore,
    shared: Mapping[str, Callable[[], Awaitable[list[str]]]],
    books: Sequence[BookId] = (),
) -> AsyncIterator[Verified]:
    """Read all that is stored of these books, or of all, and the shared stores. BookNotFound.

    `shared` has for each store that all books share, by name, what returns its faults.
    """
    known = {*await index.books(), *await index.damaged()}
    require_indexed(books, known)
    for book in books or sorted(known):
        try:
            yield Verified(book, "index", await index.faults(book))
            if before := await index.faults(book, previous=True):
                yield Verified(book, "generation before", before)
        except BookNotFound:
            if books:
                raise
            continue  # removed since it was listed
        yield Verified(book, "ledger", await ledgers.faults(book))
    for name, faults in shared.items():
        yield Verified("", name, await faults())
