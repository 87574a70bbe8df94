"""The index on a Qdrant server, cluster or cloud, through qdrant-client."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.payload import (
    ORDER_FIELDS,
    check_dimension,
    from_payload,
    in_reading_order,
)
from app.adapters.qdrant.server_catalogue import Catalogue, ServedBook
from app.adapters.qdrant.server_checks import damage
from app.adapters.qdrant.server_client import public_address
from app.adapters.qdrant.server_errors import check_version
from app.adapters.qdrant.server_points import (
    best_scores,
    chunk_id_of,
    condition_of,
    point_id,
    retrieve_points,
    search_points,
)
from app.adapters.qdrant.server_records import BookRecord, Records
from app.adapters.qdrant.server_store import BATCH, ServerStore
from app.adapters.qdrant.server_writer import ServerWriter, delete_others
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, InputError, StorageError
from app.domain.indexed_book import BookList, BookManifest, Damage, IndexPoint, Snapshot
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector, Vector


class ServerIndex:
    """Implements the `VectorIndex` port: collections named `<prefix>~...`, shared by all books."""

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
        self._version_is_checked = False

    async def books(self) -> BookList:
        await self._check_version()
        return await self._catalogue.books()

    async def damaged(self) -> Mapping[BookId, Damage]:
        return self._catalogue.damaged()

    async def faults(self, book: BookId, *, previous: bool = False) -> list[str]:
        """Read every point of the generation and compare it with what was published."""
        record = await self._record(book)
        generation = record.previous if previous else record.current
        fault = await damage(self._store, record.book, generation) if generation else ""
        return [fault] if fault else []

    async def begin(self, book: BookId, dimension: int) -> ServerWriter:
        """Start a generation. IndexBusy names the process that is writing the book."""
        await self._check_version()
        await self._store.create(dimension)
        record = await self._records.take(BookId(book))
        switched = self._catalogue.look_again
        writer = ServerWriter(self._records, record, dimension, switched)
        await writer.start()
        return writer

    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        if sparse is not None and not sparse.indices:
            sparse = None
        books = await self._served(filter.books)
        found = await self._search(books, dense, sparse, limit, filter)
        if not found.dense and not found.sparse:
            # Two switches since the look-up may have deleted the points.
            self._catalogue.look_again()
            again = await self._served(filter.books)
            if _scopes(again) != _scopes(books):
                return await self._search(again, dense, sparse, limit, filter)
        return found

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
        best = [0.0] * len(terms)
        for dimension, scope in _scopes(await self._served(books)).items():
            collection = self._store.points(dimension)
            best = list(map(max, best, await best_scores(self._store, collection, scope, terms)))
        return best

    async def fetch(self, wanted: Mapping[BookId, Sequence[str]]) -> list[Chunk]:
        """One request for each dimension, and one more if a book was switched meanwhile."""
        served = await self._served(list(wanted)) if wanted else []
        found: dict[tuple[BookId, str], Chunk] = {}
        for which in ("current", "previous"):
            ids: dict[int, list[str]] = defaultdict(list)
            for of_book in served:
                book, generation = of_book.manifest.book, getattr(of_book, which)
                missing = [name for name in wanted[book] if (book, name) not in found]
                if generation and missing:
                    ids[generation.dimension] += [point_id(generation.key, one) for one in missing]
            found |= await self._retrieve(ids)
        every = ((book, chunk_id) for book, names in wanted.items() for chunk_id in names)
        return [found[one] for one in every if one in found]

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        found = []
        for dimension, scope in _scopes(await self._served(filter.books)).items():
            condition = condition_of(scope, filter)
            records = self._store.scroll(self._store.points(dimension), condition)
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
        self._catalogue.look_again()

    async def rollback(self, book: BookId) -> BookManifest:
        """Exchange the two generations, in one write of the record.

        StorageError if the previous one is damaged; a damaged current one is not kept.
        """
        record = await self._record(book)
        record.require_free()
        if record.previous is None:
            message = f"book {book!r} has no previous generation to go back to"
            raise InputError(message)
        if fault := await damage(self._store, record.book, record.previous):
            raise StorageError(fault)
        sound = record.current and not await damage(self._store, record.book, record.current)
        kept = record.current if sound else None
        await self._records.put(
            record, replace(record, current=record.previous, previous=kept, lease=None)
        )
        self._catalogue.look_again()
        return (await self._get(book)).manifest

    async def snapshot(self, book: BookId) -> Snapshot:
        served = await self._get(book)
        return Snapshot(served.manifest, self._in_reading_order(served))

    async def _in_reading_order(self, served: ServedBook) -> AsyncIterator[list[IndexPoint]]:
        key, collection = served.current.key, self._store.points(served.manifest.dimension)
        condition = condition_of({key: served.manifest.book})
        records = self._store.scroll(collection, condition, list(ORDER_FIELDS))
        ids = in_reading_order([(chunk_id_of(key, one.id), one.payload) async for one in records])
        for start in range(0, len(ids), BATCH):
            asked = ids[start : start + BATCH]
            found = await retrieve_points(self._store, collection, key, asked)
            yield [found[chunk_id] for chunk_id in asked if chunk_id in found]

    async def check(self) -> None:
        self._catalogue.look_again(compare=True)
        await self._served([])

    async def _search(
        self,
        books: Sequence[ServedBook],
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        if dense is not None:
            for one in books:
                manifest = one.manifest
                check_dimension(manifest.book, manifest.model, manifest.dimension, len(dense))
        found = [
            await search_points(
                self._store, self._store.points(dimension), scope, dense, sparse, limit, filter
            )
            for dimension, scope in _scopes(books).items()
        ]
        return Candidates.best(found, limit)

    async def _record(self, book: BookId) -> BookRecord:
        """Read the book's record. BookNotFound if it is not published, StorageError."""
        self._catalogue.look_again()
        record = await self._records.read(BookId(book))
        if record.current is None:
            raise BookNotFound.of(book)
        return record

    async def _retrieve(self, ids: Mapping[int, Sequence[str]]) -> dict[tuple[BookId, str], Chunk]:
        """Return the chunks of these points, which are given by dimension."""
        chunks: list[Chunk] = []
        for dimension, some in ids.items():
            collection = self._store.points(dimension)
            records = await self._store.client.retrieve(collection, some, with_payload=True)
            chunks += [from_payload(record.payload) for record in records]
        return {(chunk.book, chunk.chunk_id): chunk for chunk in chunks}

    async def _served(self, books: Sequence[BookId]) -> Sequence[ServedBook]:
        await self._check_version()
        return await self._catalogue.served(books)

    async def _get(self, book: BookId) -> ServedBook:
        (served,) = await self._served([book])
        return served

    async def _check_version(self) -> None:
        if not self._version_is_checked:
            check_version(self._store.address, (await self._store.client.info()).version)
            self._version_is_checked = True


def _scopes(books: Sequence[ServedBook]) -> dict[int, dict[str, BookId]]:
    """The books' current generations by dimension: each dimension is a collection."""
    scopes: dict[int, dict[str, BookId]] = defaultdict(dict)
    for one in books:
        scopes[one.manifest.dimension][one.current.key] = one.manifest.book
    return scopes
