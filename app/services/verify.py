"""Checks stored data for damage: index, ledgers, embedding cache, keys and question log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, StorageError
from app.services.book_scope import require_indexed
from app.services.ports import BookStore, LedgerStore


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of one check; `book` is "" for a store that all books share."""

    book: str
    part: str
    """"index", "generation before" if it is damaged, "ledger" or the name of a shared store."""
    faults: tuple[str, ...] = ()
    repaired: str = ""
    """The repair made; "" if there was none."""

    @property
    def sound(self) -> bool:
        return not self.faults or bool(self.repaired)


@dataclass(frozen=True, slots=True)
class VerifyBooks:
    """The use case. It reads all stored data and writes only to repair it."""

    index: BookStore
    ledgers: LedgerStore
    shared: Mapping[str, Callable[[], Awaitable[list[str]]]]
    """For each store that all books share, by name, what returns its faults."""

    async def run(
        self, books: Sequence[BookId] = (), *, repair: bool = False, full: bool = False
    ) -> list[Verified]:
        """Check these books, or all, and the shared stores. BookNotFound before any repair.

        With `full`, every point on a server is read. A repair switches readers to an intact
        generation; if there is none, an ingest writes one. Ledgers and shared stores are not
        repaired: their faults say what to do.
        """
        known = {*await self.index.books(), *await self.index.damaged()}
        require_indexed(books, known)
        found = []
        for book in books or sorted(known):
            try:
                found += await self._check(book, repair=repair, full=full)
            except BookNotFound:
                if books:
                    raise
                # Removed since it was listed.
        shared = [Verified("", name, tuple(await one())) for name, one in self.shared.items()]
        return [*found, *shared]

    async def _check(self, book: BookId, *, repair: bool, full: bool) -> list[Verified]:
        faults = {
            part: tuple(await self.index.faults(book, previous=previous, full=full))
            for part, previous in (("index", False), ("generation before", True))
        }
        due = repair and any(faults.values())
        repaired, failed = await self._repair(book) if due else ("", ())
        found = [
            Verified(book, part, (*lines, *failed), repaired if lines else "")
            for part, lines in faults.items()
            if lines or part == "index"
        ]
        return [*found, Verified(book, "ledger", tuple(await self.ledgers.faults(book)))]

    async def _repair(self, book: BookId) -> tuple[str, tuple[str, ...]]:
        """Return what was done, and what could not be done."""
        try:
            manifest = await self.index.repair(book)
        except StorageError as error:
            return "", (str(error),)
        return f"readers see generation {manifest.generation} of {manifest.created_at}", ()
