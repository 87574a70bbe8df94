"""Which books a server holds, as their records say, at most half a second old."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.frequencies import Frequencies, pooled_idf
from app.adapters.qdrant.manifest import manifest_from_json
from app.adapters.qdrant.server_errors import check_version, server_errors
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexUnreadable
from app.services.ports import BookManifest, Damage

_RECHECK_SECONDS = 0.5
"""Shortest time between two requests for one book's record, or for all."""

_CACHED_TERMS = 64_000_000
"""Terms of document frequencies in memory: 8 bytes each, 512 MB."""


@dataclass(frozen=True, slots=True)
class ServedBook:
    manifest: BookManifest
    current: GenerationRecord
    previous: GenerationRecord | None


@dataclass(slots=True)
class _Seen:
    """A book as its record was when it was read; `reason` why it cannot be served."""

    record: BookRecord
    served: ServedBook | None = None
    reason: str = ""
    checked: float = field(default=-math.inf)


class Catalogue:
    """The books of one prefix. What a record names as current never changes."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        records: Records,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """No request is sent yet. `clock` gives seconds."""
        self._client = client
        self._records = records
        self._clock = clock
        self._seen: dict[BookId, _Seen] = {}
        self._checked = -math.inf
        self._asking = asyncio.Lock()
        self._compatible = False
        self._frequencies: LRUCache[str, Frequencies] = LRUCache(
            _CACHED_TERMS, getsizeof=lambda one: len(one.terms) + 1
        )

    def look_again(self) -> None:
        """Ask at the next use: after a switch in this process, or for a fresh answer."""
        self._checked = -math.inf
        for seen in self._seen.values():
            seen.checked = -math.inf

    def damaged(self) -> dict[BookId, Damage]:
        """The books that could not be read when they were last looked at."""
        return {book: Damage(one.reason) for book, one in sorted(self._seen.items()) if one.reason}

    async def books(self) -> dict[BookId, ServedBook]:
        """The readable books, sorted by id."""
        async with self._asking:
            if self._clock() - self._checked >= _RECHECK_SECONDS:
                await self.check_version()
                records = await self._records.all()
                self._seen = {
                    record.book: self._look(record, record.current)
                    for record in records
                    if record.current
                }
                self._checked = self._clock()
            return {book: one.served for book, one in self._seen.items() if one.served}

    async def get(self, book: BookId) -> ServedBook:
        """BookNotFound, IndexUnreadable. One small request at most every half second."""
        book = BookId(book)
        seen = self._seen.get(book)
        now = self._clock()
        last = max(seen.checked if seen else -math.inf, self._checked)
        if now - last >= _RECHECK_SECONDS:
            await self.check_version()
            record = await self._records.read(book)
            if record.current:
                seen = self._seen[book] = self._look(record, record.current)
            else:
                seen = None
                self._seen.pop(book, None)
        if seen is None:
            message = f"no book {book!r} in the index"
            raise BookNotFound(message)
        if seen.served is None:
            raise IndexUnreadable(seen.reason)
        return seen.served

    async def served(self, books: Sequence[BookId]) -> list[ServedBook]:
        """The readable ones of these books, or of all if none is named.

        BookNotFound if a named book is missing; StorageError if none can be read.
        """
        if not books:
            found = list((await self.books()).values())
            if not found and (damaged := self.damaged()):
                raise IndexUnreadable(next(iter(damaged.values())).reason)
            return found
        found, failed = [], None
        for book in dict.fromkeys(books):
            try:
                found.append(await self.get(book))
            except IndexUnreadable as error:
                failed = error
        if failed and not found:
            raise failed
        return found

    async def idf(self, books: Sequence[ServedBook], terms: Sequence[int]) -> dict[int, float]:
        """Inverse document frequencies of these terms over the books' current generations."""
        keys = [one.current.key for one in books]
        found = {key: self._frequencies[key] for key in keys if key in self._frequencies}
        missing = [key for key in keys if key not in found]
        if missing:
            read = await self._records.read_frequencies(missing)
            found |= read
            for key, one in read.items():
                if len(one.terms) < _CACHED_TERMS:
                    self._frequencies[key] = one
        return pooled_idf(terms, found.values())

    def _look(self, record: BookRecord, current: GenerationRecord) -> _Seen:
        known = self._seen.get(record.book)
        if known and known.record.revision == record.revision:
            known.checked = self._clock()
            return known
        seen = _Seen(record, checked=self._clock())
        try:
            manifest = manifest_from_json(
                current.manifest, f"{self._records.address} {record.book}"
            )
        except IndexUnreadable as error:
            seen.reason = str(error)
        else:
            seen.served = ServedBook(manifest, current, record.previous)
        return seen

    async def check_version(self) -> None:
        if self._compatible:
            return
        with server_errors(self._records.address):
            info = await self._client.info()
        check_version(self._records.address, info.version)
        self._compatible = True
