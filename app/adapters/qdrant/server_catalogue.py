"""The books on a server, from their records, cached for at most half a second; their damage.

The server does not notice that points were deleted, or that a file was zeroed while it was down: it
answers from what is left.
"""

import asyncio
import json
import logging
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

from qdrant_client import models

from app.adapters.qdrant.payload import index_point
from app.adapters.qdrant.server_errors import check_version
from app.adapters.qdrant.server_points import GENERATION_FIELD, Generations, ServerStore, match_any
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import BookNotFound, IndexUnreadable, StorageError
from app.domain.indexed_book import BookList, BookManifest, Damage, IndexPoint

CHECKSUM_FIELD = "checksum"
"""Payload field with the `checksum` of the point."""

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
        self.damaged: Mapping[BookId, Damage] = {}
        """The books that could not be read, or that differed from what was published."""
        self._books = BookList()
        self._refreshed = self._compared = -math.inf
        self._refreshing = asyncio.Lock()

    def invalidate(self) -> None:
        """Ask the server at the next use; called after a switch, or for an up-to-date answer."""
        self._refreshed = self._compared = -math.inf

    async def books(self) -> BookList:
        """The readable books; the same object until something changes."""
        async with self._refreshing:
            now = self._clock()
            if now - self._refreshed >= _RECHECK_SECONDS:
                await self._read_changed()
                if self.damaged or now - self._compared >= _COMPARE_SECONDS:
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
        for book in dict.fromkeys(map(BookId, books)) or [*self._served] or [*self.damaged]:
            if book in self._served:
                found.append(self._served[book])
            elif book in self.damaged:
                failed = failed or self.damaged[book].reason
            else:
                raise BookNotFound.of(book)
        if failed and not found:
            raise IndexUnreadable(failed)
        return found

    async def _read_changed(self) -> None:
        """Read the records that have changed, and forget books that are gone."""
        if not self._known:
            store = self._records.store
            check_version(store.address, (await store.client.info()).version)
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
            if damage != self.damaged.get(book):
                _log.error("index.book_set_aside", extra={"book": book, "reason": damage.reason})
        self._served, self.damaged = served, damaged
        books = BookList(one.generations[0].manifest for one in served.values())
        if books != self._books:
            self._books = books


async def missing_points(
    store: ServerStore, generations: Sequence[GenerationRecord]
) -> dict[str, str]:
    """Count the points; return the faults of the generations that lack some, by key."""
    found: dict[str, str] = {}
    for dimension in {one.manifest.dimension for one in generations}:
        some = [one for one in generations if one.manifest.dimension == dimension]
        try:
            counts = await _counts(store, store.points(dimension), [one.key for one in some])
        except StorageError as error:  # such as a missing collection
            found |= {one.key: str(error) for one in some}
            continue
        for one in some:
            count, chunks = counts.get(one.key, 0), one.manifest.chunks
            if count != chunks:
                found[one.key] = _fault(store, one.manifest, f"it has {count} of {chunks} chunks")
    return found


async def damage(store: ServerStore, generation: GenerationRecord) -> str:
    """Read every point of a generation; return what is wrong, or ""."""
    manifest = generation.manifest
    points = Generations(store, store.points(manifest.dimension), {generation.key: manifest.book})
    try:
        records = store.scroll(points.collection, points.condition(), vectors=True)
        intact = sum([_is_intact(record) async for record in records])
    except StorageError as error:
        return str(error)
    if intact == manifest.chunks:
        return ""
    return _fault(store, manifest, f"it has {intact} of {manifest.chunks} chunks as published")


def _fault(store: ServerStore, manifest: BookManifest, fault: str) -> str:
    where = f"{store.address} {manifest.book} generation {manifest.generation}"
    return f"{where}: {fault}; ingest the book again"


async def _counts(store: ServerStore, collection: str, keys: Sequence[str]) -> Mapping[str, int]:
    some = models.Filter(must=[match_any(GENERATION_FIELD, keys)])
    answer = await store.client.facet(
        collection, GENERATION_FIELD, facet_filter=some, limit=len(keys), exact=True
    )
    return {str(hit.value): hit.count for hit in answer.hits}


def checksum(payload: Mapping[str, object], point: IndexPoint) -> str:
    """Return a 128-bit hash of payload, sparse vector, and signs of the dense one, in hex.

    Stores scale dense vectors to length 1 and sort the terms of sparse ones; both keep the hash.
    """
    digest = blake2b(json.dumps(payload, sort_keys=True).encode(), digest_size=16)
    terms = sorted(zip(point.sparse.indices, point.sparse.values, strict=True))
    digest.update(array("I", [term for term, _ in terms]).tobytes())
    digest.update(array("f", [value for _, value in terms]).tobytes())
    digest.update(bytes(value > 0 for value in point.dense))
    return digest.hexdigest()


def _is_intact(record: models.Record) -> bool:
    """Whether the point has the checksum that is in its payload."""
    payload = dict(record.payload or {})
    stated = payload.pop(CHECKSUM_FIELD, None)
    try:
        return bool(stated == checksum(payload, index_point(payload, record.vector)))
    except (IndexUnreadable, AttributeError, KeyError, TypeError):
        return False
