"""Checks stored data for damage: index, ledgers and embedding cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, StorageError
from app.services.book_scope import require_indexed
from app.services.ports import BookStore, EmbeddingCache, LedgerStore


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of one check; `book` is "" for the cache, which all books share."""

    book: str
    part: str
    """"index", "generation before", "ledger" or "cache"."""
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
    cache: EmbeddingCache

    async def run(self, books: Sequence[BookId] = (), *, repair: bool = False) -> list[Verified]:
        """Check these books, or all, and the cache. BookNotFound before anything is repaired.

        A repair switches readers to an intact generation; if there is none, an ingest with `force`
        writes one. Ledgers and the cache are not repaired: their faults say what to do.
        """
        known = {*await self.index.books(), *await self.index.damaged()}
        require_indexed(books, known)
        found = []
        for book in books or sorted(known):
            try:
                found += await self._check(book, repair=repair)
            except BookNotFound:
                if books:
                    raise
                # Removed since it was listed.
        return [*found, Verified("", "cache", tuple(await self.cache.faults()))]

    async def _check(self, book: BookId, *, repair: bool) -> list[Verified]:
        found = [await self._check_index(book, repair=repair)]
        if previous := await self._check_previous(book, repair=repair):
            found.append(previous)
        return [*found, Verified(book, "ledger", tuple(await self.ledgers.faults(book)))]

    async def _check_index(self, book: BookId, *, repair: bool) -> Verified:
        faults = tuple(await self.index.faults(book))
        if not faults or not repair:
            return Verified(book, "index", faults)
        try:
            manifest = await self.index.repair(book)
        except StorageError as error:
            return Verified(book, "index", (*faults, str(error)))
        done = f"readers see generation {manifest.generation} of {manifest.created_at}"
        return Verified(book, "index", faults, done)

    async def _check_previous(self, book: BookId, *, repair: bool) -> Verified | None:
        """Check the previous generation, the target of a rollback; None if there is none."""
        part = "generation before"
        try:
            faults = await self.index.faults_before(book)
            if faults and repair:
                await self.index.repair(book)
                if not await self.index.faults_before(book):
                    return Verified(book, part, tuple(faults), "it was removed")
        except StorageError as error:
            return Verified(book, part, (str(error),))
        return None if faults is None else Verified(book, part, tuple(faults))
