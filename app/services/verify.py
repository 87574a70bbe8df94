"""Check what is stored of the books: index, ledgers, cache of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, StorageError
from app.services.ports import BookStore, EmbeddingCache, LedgerStore


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found of one thing: `book` is "" for the cache, which all books share."""

    book: str
    part: str
    """"index", "generation before", "ledger" or "cache"."""
    faults: tuple[str, ...] = ()
    repaired: str = ""
    """What was done about them; "" when nothing was, or nothing could be."""

    @property
    def sound(self) -> bool:
        return not self.faults or bool(self.repaired)


@dataclass(frozen=True, slots=True)
class VerifyBooks:
    """The use case. It reads every byte, and changes something only to repair."""

    index: BookStore
    ledgers: LedgerStore
    cache: EmbeddingCache

    async def run(self, books: Sequence[BookId] = (), *, repair: bool = False) -> list[Verified]:
        """Check these books, or all, and the cache. BookNotFound before anything is repaired.

        To repair is to switch readers to a generation without faults: an ingest with `force` writes
        one where there is none. A ledger and the cache are left as they are, with what to do.
        """
        known = {one.book for one in await self.index.books()} | {*await self.index.damaged()}
        for book in books:
            if book not in known:
                there = ", ".join(sorted(known)) or "none"
                message = f"no book {book!r} in the index; there are: {there}"
                raise BookNotFound(message)
        found = []
        for book in books or sorted(known):
            found.append(await self._index(book, repair=repair))
            found.append(await self._before(book, repair=repair))
            found.append(Verified(book, "ledger", tuple(await self.ledgers.faults(book))))
        return [*found, Verified("", "cache", tuple(await self.cache.faults()))]

    async def _index(self, book: BookId, *, repair: bool) -> Verified:
        faults = tuple(await self.index.faults(book))
        if not faults or not repair:
            return Verified(book, "index", faults)
        try:
            manifest = await self.index.repair(book)
        except StorageError as error:
            return Verified(book, "index", (*faults, str(error)))
        done = f"readers see generation {manifest.generation} of {manifest.created_at}"
        return Verified(book, "index", faults, done)

    async def _before(self, book: BookId, *, repair: bool) -> Verified:
        """What a rollback would go to. One that readers were led away from stays damaged."""
        part = "generation before"
        try:
            faults = tuple(await self.index.faults(book, before=True))
            if faults and repair:
                await self.index.repair(book)
                if not await self.index.faults(book, before=True):
                    return Verified(book, part, faults, "it is not kept")
        except StorageError as error:
            return Verified(book, part, (str(error),))
        return Verified(book, part, faults)
