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
    """"index", "generation before", "ledger" or the name of a shared store."""
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
        found = [await self._check_index(book, repair=repair, full=full)]
        if previous := await self._check_previous(book, repair=repair, full=full):
            found.append(previous)
        return [*found, Verified(book, "ledger", tuple(await self.ledgers.faults(book)))]

    async def _check_index(self, book: BookId, *, repair: bool, full: bool) -> Verified:
        faults = tuple(await self.index.faults(book, full=full))
        if not faults or not repair:
            return Verified(book, "index", faults)
        try:
            manifest = await self.index.repair(book)
        except StorageError as error:
            return Verified(book, "index", (*faults, str(error)))
        done = f"readers see generation {manifest.generation} of {manifest.created_at}"
        return Verified(book, "index", faults, done)

    async def _check_previous(self, book: BookId, *, repair: bool, full: bool) -> Verified | None:
        """Check the previous generation, the target of a rollback; None if there is none."""
        part = "generation before"
        try:
            faults = await self.index.faults_before(book, full=full)
            if faults and repair:
                await self.index.repair(book)
                if not await self.index.faults_before(book):
                    return Verified(book, part, tuple(faults), "it was removed")
        except StorageError as error:
            return Verified(book, part, (str(error),))
        return None if faults is None else Verified(book, part, tuple(faults))
