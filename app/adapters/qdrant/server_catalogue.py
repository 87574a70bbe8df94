"""The books on a server, from their records, cached for at most half a second."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence

from app.adapters.qdrant.server_errors import check_version
from app.adapters.qdrant.server_points import missing_points
from app.adapters.qdrant.server_records import BookRecord, Records
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import BookNotFound, IndexUnreadable
from app.domain.indexed_book import BookList, Damage

_RECHECK_SECONDS = 0.5
"""Minimum time between two requests for the revisions of the records."""

_COMPARE_SECONDS = 10.0
"""Time between two counts of the points of intact books whose records do not change."""

_log = logging.getLogger(__name__)


class Catalogue:
    """The books of one prefix. The generation that a record names never changes."""

    def __init__(self, records: Records, clock: Callable[[], float]) -> None:
        """No request is sent yet. `clock` gives seconds."""
        self._records = records
        self._clock = clock
        self._known: dict[BookId, BookRecord] = {}
        self._served: Mapping[BookId, BookRecord] = {}
        self._damaged: Mapping[BookId, Damage] = {}
        self._books = BookList()
        self._refreshed = self._compared = -math.inf
        self._refreshing = asyncio.Lock()
        self._version_is_checked = False

    def look_again(self) -> None:
        """Ask the server at the next use; called after a switch, or for an up-to-date answer."""
        self._refreshed = self._compared = -math.inf

    def damaged(self) -> Mapping[BookId, Damage]:
        """The books that could not be read, or that differed from what was published."""
        return self._damaged

    async def books(self) -> BookList:
        """The readable books; the same object until something changes."""
        async with self._refreshing:
            now = self._clock()
            if now - self._refreshed >= _RECHECK_SECONDS:
                await self._read_changed()
                if self._damaged or now - self._compared >= _COMPARE_SECONDS:
                    await self._compare()
                    self._compared = now
                self._refreshed = now
            return self._books

    async def served(self, books: Sequence[BookId]) -> list[BookRecord]:
        """Return the readable ones of these books, or of all books if none is named.

        BookNotFound if a named book is missing, IndexUnreadable if all are unreadable.
        """
        await self.books()
        found, failed = list[BookRecord](), ""
        for book in dict.fromkeys(map(BookId, books)) or [*self._served] or [*self._damaged]:
            if book in self._served:
                found.append(self._served[book])
            elif book in self._damaged:
                failed = failed or self._damaged[book].reason
            else:
                raise BookNotFound.of(book)
        if failed and not found:
            raise IndexUnreadable(failed)
        return found

    async def _read_changed(self) -> None:
        """Read the records that have changed, and forget books that are gone."""
        if not self._version_is_checked:
            store = self._records.store
            check_version(store.address, (await store.client.info()).version)
            self._version_is_checked = True
        revisions = await self._records.revisions()
        found = {BookId(name): one for name, one in revisions.items() if is_book_id(name)}
        kept = {book: one for book, one in self._known.items() if found.get(book) == one.revision}
        if kept.keys() == found.keys() == self._known.keys():
            return
        changed = [book for book in found if book not in kept]
        self._known = kept | await self._records.read_many(changed)
        self._compared = -math.inf

    async def _compare(self) -> None:
        """Compare all books with what was published; set aside those that differ."""
        known = sorted(self._known.items())
        served = {book: one for book, one in known if one.generations}
        damaged = {book: Damage(one.fault) for book, one in known if one.fault}
        current = [one.generations[0] for one in served.values()]
        missing = await missing_points(self._records.store, current)
        for one in current:
            if fault := missing.get(one.key):
                damaged[one.manifest.book] = Damage(fault)
                del served[one.manifest.book]
        for book, damage in damaged.items():
            if damage != self._damaged.get(book):
                _log.error("index.book_set_aside", extra={"book": book, "reason": damage.reason})
        self._served, self._damaged = served, damaged
        books = BookList(one.generations[0].manifest for one in served.values())
        if books.named() != self._books.named():
            self._books = books
