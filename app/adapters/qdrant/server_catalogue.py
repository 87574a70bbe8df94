"""The books on a server, from their records, cached for at most half a second."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.document_frequencies import Frequencies, pooled_idf
from app.adapters.qdrant.manifest import manifest_from_json
from app.adapters.qdrant.server_contents import StoredGenerations
from app.adapters.qdrant.server_errors import check_version
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import BookNotFound, IndexUnreadable
from app.domain.indexed_book import BookList, BookManifest, Damage

_RECHECK_SECONDS = 0.5
"""Minimum time between two requests for a book's record, or for all records."""

_LIST_SECONDS = 60.0
"""Time between two listings of all records. They find changes by a writer with a wrong clock."""

_COMPARE_SECONDS = 10.0
"""Minimum time between two comparisons of an intact book's points with what was published."""

_log = logging.getLogger(__name__)

_SKEW_MILLISECONDS = 30_000
"""Allowed difference between the clocks of two writers, including the time of a slow write."""

_CACHED_TERMS = 64_000_000
"""Terms in the cache of document frequencies: 8 bytes each, 512 MB."""


@dataclass(frozen=True, slots=True)
class ServedBook:
    manifest: BookManifest
    current: GenerationRecord
    previous: GenerationRecord | None


@dataclass(slots=True)
class _Seen:
    """A record as last read; `reason` says why its book cannot be served."""

    record: BookRecord
    served: ServedBook | None = None
    reason: str = ""
    checked: float = field(default=-math.inf)
    compared: float = field(default=-math.inf)


class Catalogue:
    """The books of one prefix. The generation that a record names never changes."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        records: Records,
        generations: StoredGenerations,
        clock: Callable[[], float],
    ) -> None:
        """No request is sent yet. `clock` gives seconds."""
        self._client = client
        self._records = records
        self._generations = generations
        self._clock = clock
        self._seen: dict[BookId, _Seen] = {}
        self._serving: dict[BookId, ServedBook] | None = None
        self._manifests: BookList | None = None
        self._damaged: dict[BookId, Damage] | None = None
        self._checked = self._listed = -math.inf
        self._newest = self._strange = 0
        self._asking, self._comparing = asyncio.Lock(), asyncio.Lock()
        self._compatible = False
        self._frequencies: LRUCache[str, Frequencies] = LRUCache(
            _CACHED_TERMS, getsizeof=lambda one: len(one.terms) + 1
        )

    def look_again(self, *, compare: bool = False) -> None:
        """Ask the server at the next use; called after a switch, or for an up-to-date answer.

        With `compare`, the points are compared with what was published, too.
        """
        self._checked = -math.inf
        for seen in self._seen.values():
            seen.checked = -math.inf
            if compare:
                seen.compared = -math.inf

    def damaged(self) -> dict[BookId, Damage]:
        """The books that could not be read, or that differed from what was published."""
        if self._damaged is None:
            found = sorted(book for book, one in self._seen.items() if one.reason)
            self._damaged = {book: Damage(self._seen[book].reason) for book in found}
        return self._damaged

    async def manifests(self) -> BookList:
        """The manifests of `books`; the same object until something changes."""
        books = await self.books()
        if self._manifests is None:
            self._manifests = BookList(one.manifest for one in books.values())
        return self._manifests

    async def books(self) -> dict[BookId, ServedBook]:
        """The readable books, sorted by id; the same object until something changes."""
        async with self._asking:
            stale = self._clock() - self._checked >= _RECHECK_SECONDS
            if stale:
                await self.check_version()
                await self._refresh()
                self._checked = self._clock()
            if stale or self._serving is None:
                await self._compare(list(self._seen))
            if self._serving is None:
                self._serving = {
                    book: one.served
                    for book, one in sorted(self._seen.items())
                    if one.served and not one.reason
                }
            return self._serving

    async def get(self, book: BookId) -> ServedBook:
        """Return the book; sends at most one small request every half second.

        BookNotFound if it is not published, IndexUnreadable if it is damaged.
        """
        await self._look_at([book])
        return self._found(book)

    async def served(self, books: Sequence[BookId]) -> Sequence[ServedBook]:
        """Return the readable ones of these books, or of all books if none is named.

        BookNotFound if a named book is missing, IndexUnreadable if all are unreadable.
        """
        if not books:
            every = list((await self.books()).values())
            if not every and (damaged := self.damaged()):
                raise IndexUnreadable(next(iter(damaged.values())).reason)
            return every
        asked = list(dict.fromkeys(books))
        await self._look_at(asked)
        found, failed = [], None
        for book in asked:
            try:
                found.append(self._found(book))
            except IndexUnreadable as error:
                failed = error
        if failed and not found:
            raise failed
        return found

    async def idf(self, books: Sequence[ServedBook], terms: Sequence[int]) -> dict[int, float]:
        """Return the inverse document frequencies over the books' current generations, by term."""
        keys = [one.current.key for one in books]
        return pooled_idf(terms, (await self._read_frequencies(keys)).values())

    async def _read_frequencies(self, keys: Sequence[str]) -> dict[str, Frequencies]:
        """Frequencies by generation key, from the cache or the server, where there are any."""
        found = {key: self._frequencies[key] for key in keys if key in self._frequencies}
        missing = [key for key in keys if key not in found]
        if missing:
            read = await self._records.read_frequencies(missing)
            found |= read
            for key, one in read.items():
                if len(one.terms) < _CACHED_TERMS:
                    self._frequencies[key] = one
        return found

    async def _refresh(self) -> None:
        """Read the records that changed since the last time.

        List all records every `_LIST_SECONDS`, and if their number differs from the known ones.
        """
        now = self._clock()
        if now - self._listed < _LIST_SECONDS:
            since = min(self._newest, int(1_000 * time.time())) - _SKEW_MILLISECONDS
            changed, count = await asyncio.gather(
                self._records.revisions(since), self._records.count()
            )
            await self._read_changed(changed)
            if count == len(self._seen) + self._strange:
                return
        every = await self._records.revisions()
        for gone in self._seen.keys() - every.keys():
            self._forget(gone)
        await self._read_changed(every)
        self._strange = sum(not is_book_id(name) for name in every)
        self._listed = now

    async def _read_changed(self, revisions: Mapping[str, str]) -> None:
        changed = [
            BookId(name)
            for name, revision in revisions.items()
            if is_book_id(name) and not self._is_known(BookId(name), revision)
        ]
        for record in (await self._records.read_many(changed)).values():
            self._look(record)

    def _is_known(self, book: BookId, revision: str) -> bool:
        return book in self._seen and self._seen[book].record.revision == revision

    async def _look_at(self, books: Sequence[BookId]) -> None:
        """Read the records of these books, unless they were read in the last half second."""
        now = self._clock()
        old = [book for book in map(BookId, books) if now - self._last(book) >= _RECHECK_SECONDS]
        if old:
            await self.check_version()
            records = await self._records.read_many(old)
            for book in old:
                if book in records:
                    self._look(records[book])
                else:
                    self._forget(book)
        await self._compare(map(BookId, books))

    async def _compare(self, books: Iterable[BookId]) -> None:
        """Compare books with what was published, at most every `_COMPARE_SECONDS`.

        One that differs is set aside, and compared again at the next look.
        """
        async with self._comparing:
            now = self._clock()
            known = [(book, self._seen[book]) for book in books if book in self._seen]
            due = [
                (book, seen, seen.served.current)
                for book, seen in known
                if seen.served and now - seen.compared >= _COMPARE_SECONDS
            ]
            if not due:
                return
            faults = await self._generations.faults([(book, one) for book, _, one in due])
            for book, seen, one in due:
                fault = faults.get(one.key, "")
                seen.compared = now - (_COMPARE_SECONDS - _RECHECK_SECONDS if fault else 0.0)
                self._set_aside(book, seen, fault and self._described(book, one, fault))

    def _described(self, book: BookId, generation: GenerationRecord, fault: str) -> str:
        where = f"{self._records.address} {book} generation {generation.number}"
        return f"{where}: {fault}; ingest the book again"

    def _set_aside(self, book: BookId, seen: _Seen, reason: str) -> None:
        """Do not answer from the book while there is a reason; "" takes it back."""
        if seen.reason != reason:
            seen.reason = reason
            self._changed()
            if reason:
                _log.error("index.book_set_aside", extra={"book": book, "reason": reason})

    def _last(self, book: BookId) -> float:
        seen = self._seen.get(book)
        return max(seen.checked if seen else -math.inf, self._checked)

    def _found(self, book: BookId) -> ServedBook:
        seen = self._seen.get(book)
        if seen is None or seen.record.current is None:
            raise BookNotFound.of(book)
        if seen.served is None or seen.reason:
            raise IndexUnreadable(seen.reason)
        return seen.served

    def _forget(self, book: BookId) -> None:
        if self._seen.pop(book, None):
            self._changed()

    def _changed(self) -> None:
        """Discard what is derived from the records; it is computed again at its next use."""
        self._serving = self._manifests = self._damaged = None

    def _look(self, record: BookRecord) -> None:
        if self._is_known(record.book, record.revision):
            self._seen[record.book].checked = self._clock()
            return
        seen = self._seen[record.book] = _Seen(record, checked=self._clock())
        self._changed()
        self._newest = max(self._newest, record.changed)
        if record.current is None:
            return
        try:
            manifest = manifest_from_json(
                record.current.manifest, f"{self._records.address} {record.book}"
            )
        except IndexUnreadable as error:
            seen.reason = str(error)
        else:
            seen.served = ServedBook(manifest, record.current, record.previous)

    async def check_version(self) -> None:
        if self._compatible:
            return
        info = await self._client.info()
        check_version(self._records.address, info.version)
        self._compatible = True
