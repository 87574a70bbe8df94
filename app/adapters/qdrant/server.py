"""The index on a Qdrant server, cluster or cloud, through qdrant-client."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.payload import ORDER_FIELDS, from_payload, in_reading_order, index_point
from app.adapters.qdrant.server_catalogue import Catalogue, damage
from app.adapters.qdrant.server_client import public_address
from app.adapters.qdrant.server_points import BATCH, Generations, ServerStore, point_id
from app.adapters.qdrant.server_records import BookRecord, Records
from app.adapters.qdrant.server_writer import ServerWriter, create_collections, delete_others
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, InputError, StorageError
from app.domain.indexed_book import BookList, BookManifest, Damage, IndexPoint, Snapshot
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector, Vector


class ServerIndex:
    """Implements the `BookStore` port: collections named `<prefix>~...`, shared by all books."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        prefix: str,
        url: str,
        replicas: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """No request is sent yet. `url` is used only in messages; `clock` gives seconds."""
        self._store = ServerStore(client, prefix, public_address(url), replicas)
        self._records = Records(self._store)
        self._catalogue = Catalogue(self._records, clock)

    async def books(self) -> BookList:
        return await self._catalogue.books()

    async def damaged(self) -> Mapping[BookId, Damage]:
        return self._catalogue.damaged

    async def faults(self, book: BookId, *, previous: bool = False) -> list[str]:
        """Read every point of the generation and compare it with what was published."""
        record = await self._record(book)
        checked = record.generations[previous:][:1]
        faults = [record.fault, *[await damage(self._store, one) for one in checked]]
        return list(filter(None, faults))

    async def begin(self, book: BookId, dimension: int) -> ServerWriter:
        """Start a generation. IndexBusy names the process that is writing the book."""
        await self.books()  # for the server's version
        await create_collections(self._store, dimension)
        record = await self._records.take(BookId(book))
        switched = self._catalogue.invalidate
        writer = ServerWriter(self._records, record, dimension, switched)
        await writer.start()
        return writer

    async def search(
        self, dense: Vector | None, sparse: SparseVector | None, limit: int, filter: SearchFilter
    ) -> Candidates:
        found, before = Candidates(), list[Generations]()
        while not (found.dense or found.sparse):
            if before:  # two switches since the look-up may have deleted the points
                self._catalogue.invalidate()
            searched = self._current(await self._catalogue.served(filter.books))
            if searched == before:
                break
            before = searched
            each = [await one.search(dense, sparse, limit, filter) for one in searched]
            found = Candidates.best(each, limit)
        return found

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId]) -> list[float]:
        best = [0.0] * len(terms)
        for one in self._current(await self._catalogue.served(books)):
            best = list(map(max, best, await one.best_scores(terms)))
        return best

    async def fetch(self, wanted: Mapping[BookId, Sequence[str]]) -> list[Chunk]:
        """One request for each book, and one more if it was switched meanwhile."""
        served = await self._catalogue.served(list(wanted)) if wanted else []
        each = await asyncio.gather(*(self._fetch(one, wanted[one.book]) for one in served))
        return [chunk for chunks in each for chunk in chunks]

    async def _fetch(self, served: BookRecord, ids: Sequence[str]) -> list[Chunk]:
        found: dict[str, Chunk] = {}
        for one in served.generations:
            missing = [point_id(one.key, chunk_id) for chunk_id in ids if chunk_id not in found]
            if missing:
                collection = self._store.points(one.manifest.dimension)
                records = await self._store.client.retrieve(collection, missing, with_payload=True)
                chunks = [from_payload(record.payload) for record in records]
                found |= {chunk.chunk_id: chunk for chunk in chunks}
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        found = []
        for one in self._current(await self._catalogue.served(filter.books)):
            records = self._store.scroll(one.collection, one.condition(filter))
            found += [from_payload(record.payload) async for record in records]
        return sorted(found, key=lambda chunk: (chunk.book, chunk.chunk_id))

    async def remove(self, book: BookId) -> None:
        """IndexBusy while the book is being written."""
        await self._record(book)
        record = await self._records.take(BookId(book))
        # A crash after this leaves a record without generations, which the next run cleans up.
        record = await self._records.put(record, BookRecord(record.book, lease=record.lease))
        await delete_others(self._store, record.book)
        await self._records.delete(record)
        self._catalogue.invalidate()

    async def rollback(self, book: BookId) -> BookManifest:
        """Exchange the two generations, in one write of the record.

        StorageError if the previous one is damaged; a damaged current one is not kept.
        """
        record = await self._record(book)
        record.require_free()
        if len(record.generations) < 2:
            raise InputError(f"book {book!r} has no previous generation to go back to")
        current, previous = record.generations
        if fault := await damage(self._store, previous):
            raise StorageError(fault)
        kept = [] if await damage(self._store, current) else [current]
        await self._records.put(record, replace(record, generations=(previous, *kept), lease=None))
        self._catalogue.invalidate()
        return previous.manifest

    async def snapshot(self, book: BookId) -> Snapshot:
        served = await self._catalogue.served([book])
        (current,) = self._current(served)
        return Snapshot(served[0].generations[0].manifest, self._in_reading_order(current))

    async def _in_reading_order(self, one: Generations) -> AsyncIterator[list[IndexPoint]]:
        records = self._store.scroll(one.collection, one.condition(), list(ORDER_FIELDS))
        ids = in_reading_order([(str(found.id), found.payload) async for found in records])
        for start in range(0, len(ids), BATCH):
            asked = ids[start : start + BATCH]
            read = await self._store.client.retrieve(one.collection, asked, with_vectors=True)
            found = {point.id: index_point(point.payload, point.vector) for point in read}
            yield [found[name] for name in asked if name in found]

    async def check(self) -> None:
        self._catalogue.invalidate()
        await self._catalogue.served([])

    async def _record(self, book: BookId) -> BookRecord:
        """Read the book's record. BookNotFound if it is not published, StorageError."""
        self._catalogue.invalidate()
        record = await self._records.read(BookId(book))
        if not record.generations and not record.fault:
            raise BookNotFound.of(book)
        return record

    def _current(self, books: Sequence[BookRecord]) -> list[Generations]:
        """Return the books' current generations, by collection."""
        found: dict[str, dict[str, BookId]] = defaultdict(dict)
        for one in books:
            current = one.generations[0]
            found[self._store.points(current.manifest.dimension)][current.key] = one.book
        return [Generations(self._store, collection, keys) for collection, keys in found.items()]
