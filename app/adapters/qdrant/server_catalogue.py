"""The books on a server, from their records, cached for at most half a second."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.adapters.qdrant.server_checks import missing_points
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import BookNotFound, IndexUnreadable
from app.domain.indexed_book import BookList, BookManifest, Damage

_RECHECK_SECONDS = 0.5
"""Minimum time between two requests for the revisions of the records."""

_COMPARE_SECONDS = 10.0
"""Minimum time between two counts of the points of an intact book."""

_log = logging.getLogger(__name__)


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
    compared: float = -math.inf


class Catalogue:
    """The books of one prefix. The generation that a record names never changes."""

    def __init__(self, records: Records, clock: Callable[[], float]) -> None:
        """No request is sent yet. `clock` gives seconds."""
        self._records = records
        self._clock = clock
        self._seen: dict[BookId, _Seen] = {}
        self._books = BookList()
        self._damaged: Mapping[BookId, Damage] = {}
        self._refreshed = -math.inf
        self._refreshing = asyncio.Lock()

    def look_again(self, *, compare: bool = False) -> None:
        """Ask the server at the next use; called after a switch, or for an up-to-date answer.

        With `compare`, the points are compared with what was published, too.
        """
        self._refreshed = -math.inf
        for seen in self._seen.values() if compare else ():
            seen.compared = -math.inf

    def damaged(self) -> Mapping[BookId, Damage]:
        """The books that could not be read, or that differed from what was published."""
        return self._damaged

    async def books(self) -> BookList:
        """The readable books; the same object until something changes."""
        async with self._refreshing:
            if self._clock() - self._refreshed >= _RECHECK_SECONDS:
                if await self._read_changed() | await self._compare():
                    self._derive()
                self._refreshed = self._clock()
            return self._books

    async def served(self, books: Sequence[BookId]) -> list[ServedBook]:
        """Return the readable ones of these books, or of all books if none is named.

        BookNotFound if a named book is missing, IndexUnreadable if all are unreadable.
        """
        readable = await self.books()
        found, failed = list[ServedBook](), ""
        for book in dict.fromkeys(map(BookId, books)) or [*readable] or [*self._damaged]:
            seen = self._seen.get(book)
            if seen is None or seen.record.current is None:
                raise BookNotFound.of(book)
            if seen.served and not seen.reason:
                found.append(seen.served)
            failed = failed or seen.reason
        if failed and not found:
            raise IndexUnreadable(failed)
        return found

    async def _read_changed(self) -> bool:
        """Read the records that have changed, forget books that are gone; return if any has."""
        revisions = await self._records.revisions()
        found = {BookId(name): one for name, one in revisions.items() if is_book_id(name)}
        known = {book: seen.record.revision for book, seen in self._seen.items()}
        if found == known:
            return False
        changed = [book for book, revision in found.items() if known.get(book) != revision]
        records = await self._records.read_many(changed)
        for book in known.keys() - found.keys():
            del self._seen[book]
        self._seen |= {book: self._seen_of(record) for book, record in records.items()}
        return True

    def _seen_of(self, record: BookRecord) -> _Seen:
        current = record.current
        if current is None:
            return _Seen(record)
        try:
            manifest = current.read_manifest(f"{self._records.store.address} {record.book}")
        except IndexUnreadable as error:
            return _Seen(record, reason=str(error))
        return _Seen(record, ServedBook(manifest, current, record.previous))

    async def _compare(self) -> bool:
        """Compare books with what was published, at most every `_COMPARE_SECONDS`.

        One that differs is set aside, and compared again at the next look. Returns whether any
        book was set aside or taken back.
        """
        now, changed = self._clock(), False
        due = [
            (book, seen, seen.served.current)
            for book, seen in self._seen.items()
            if seen.served and now - seen.compared >= _COMPARE_SECONDS
        ]
        found = await missing_points(self._records.store, [(book, one) for book, _, one in due])
        for book, seen, current in due:
            fault = found.get(current.key, "")
            seen.compared = now - (_COMPARE_SECONDS - _RECHECK_SECONDS if fault else 0.0)
            if seen.reason != fault:
                seen.reason, changed = fault, True
                if fault:
                    _log.error("index.book_set_aside", extra={"book": book, "reason": fault})
        return changed

    def _derive(self) -> None:
        known = sorted(self._seen.items())
        self._damaged = {book: Damage(seen.reason) for book, seen in known if seen.reason}
        readable = (seen.served for _, seen in known if not seen.reason)
        self._books = BookList(served.manifest for served in readable if served)
