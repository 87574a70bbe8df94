"""The books on a server, from their records, cached for at most half a second."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.adapters.qdrant.server_checks import faults
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import BookNotFound, IndexUnreadable
from app.domain.indexed_book import BookList, BookManifest, Damage

_RECHECK_SECONDS = 0.5
"""Minimum time between two requests for a book's record, or for the revisions of all records."""

_COMPARE_SECONDS = 10.0
"""Minimum time between two comparisons of an intact book's points with what was published."""

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
    checked: float = -math.inf
    compared: float = -math.inf


class Catalogue:
    """The books of one prefix. The generation that a record names never changes."""

    def __init__(self, records: Records, clock: Callable[[], float]) -> None:
        """No request is sent yet. `clock` gives seconds."""
        self._records = records
        self._clock = clock
        self._seen: dict[BookId, _Seen] = {}
        self._books: BookList | None = None
        self._damaged: dict[BookId, Damage] | None = None
        self._listed = -math.inf
        self._listing, self._comparing = asyncio.Lock(), asyncio.Lock()

    def look_again(self, *, compare: bool = False) -> None:
        """Ask the server at the next use; called after a switch, or for an up-to-date answer.

        With `compare`, the points are compared with what was published, too.
        """
        self._listed = -math.inf
        for seen in self._seen.values():
            seen.checked = -math.inf
            if compare:
                seen.compared = -math.inf

    def damaged(self) -> Mapping[BookId, Damage]:
        """The books that could not be read, or that differed from what was published."""
        if self._damaged is None:
            known = sorted(self._seen.items())
            self._damaged = {book: Damage(one.reason) for book, one in known if one.reason}
        return self._damaged

    async def books(self) -> BookList:
        """The readable books; the same object until something changes."""
        async with self._listing:
            if self._clock() - self._listed >= _RECHECK_SECONDS:
                await self._list()
            if self._books is None:
                readable = (one.served for one in self._seen.values() if not one.reason)
                self._books = BookList(one.manifest for one in readable if one)
            return self._books

    async def served(self, books: Sequence[BookId]) -> list[ServedBook]:
        """Return the readable ones of these books, or of all books if none is named.

        BookNotFound if a named book is missing, IndexUnreadable if all are unreadable.
        """
        if books:
            asked: Iterable[BookId] = dict.fromkeys(map(BookId, books))
            await self._look_at(list(asked))
        else:
            asked = [*await self.books()] or list(self.damaged())
        found, failed = list[ServedBook](), ""
        for book in asked:
            seen = self._seen.get(book)
            if seen is None or seen.record.current is None:
                raise BookNotFound.of(book)
            if seen.served and not seen.reason:
                found.append(seen.served)
            failed = failed or seen.reason
        if failed and not found:
            raise IndexUnreadable(failed)
        return found

    async def _list(self) -> None:
        """Read the records that have changed, and forget the books that are gone."""
        revisions = await self._records.revisions()
        found = {BookId(name): one for name, one in revisions.items() if is_book_id(name)}
        self._forget(self._seen.keys() - found.keys())
        changed = [
            book
            for book, revision in found.items()
            if book not in self._seen or self._seen[book].record.revision != revision
        ]
        await self._read(changed)
        self._listed = self._clock()
        for seen in self._seen.values():
            seen.checked = self._listed
        await self._compare(list(self._seen))

    async def _look_at(self, books: Sequence[BookId]) -> None:
        """Read the records of these books, unless they were read in the last half second."""
        now = self._clock()
        known = (book for book in books if book in self._seen)
        fresh = {book for book in known if now - self._seen[book].checked < _RECHECK_SECONDS}
        await self._read([book for book in books if book not in fresh])
        await self._compare(books)

    async def _read(self, books: Sequence[BookId]) -> None:
        if not books:
            return
        records = await self._records.read_many(books)
        self._forget(set(books) - records.keys())
        for book, record in records.items():
            seen = self._seen.get(book)
            if seen is None or seen.record.revision != record.revision:
                self._seen[book] = self._seen_of(record)
                self._changed()
            self._seen[book].checked = self._clock()

    def _seen_of(self, record: BookRecord) -> _Seen:
        current = record.current
        if current is None:
            return _Seen(record)
        try:
            manifest = current.read_manifest(f"{self._records.store.address} {record.book}")
        except IndexUnreadable as error:
            return _Seen(record, reason=str(error))
        return _Seen(record, ServedBook(manifest, current, record.previous))

    async def _compare(self, books: Sequence[BookId]) -> None:
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
            found = await faults(self._records.store, [(book, one) for book, _, one in due])
            for book, seen, current in due:
                fault = found.get(current.key, "")
                seen.compared = now - (_COMPARE_SECONDS - _RECHECK_SECONDS if fault else 0.0)
                if seen.reason != fault:
                    seen.reason = fault
                    self._changed()
                    if fault:
                        _log.error("index.book_set_aside", extra={"book": book, "reason": fault})

    def _forget(self, books: Iterable[BookId]) -> None:
        for book in books:
            if self._seen.pop(book, None):
                self._changed()

    def _changed(self) -> None:
        """Discard what is derived from the records; it is computed again at its next use."""
        self._books = self._damaged = None
