"""The index on a Qdrant server, cluster or cloud, through qdrant-client."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.document_frequencies import weighted
from app.adapters.qdrant.manifest import manifest_from_json
from app.adapters.qdrant.payload import (
    ORDER_FIELDS,
    check_dimension,
    from_payload,
    in_reading_order,
)
from app.adapters.qdrant.server_catalogue import Catalogue, ServedBook
from app.adapters.qdrant.server_client import public_address
from app.adapters.qdrant.server_lease import refuse_if_held
from app.adapters.qdrant.server_points import (
    best_scores,
    chunk_id_of,
    condition_of,
    point_id,
    retrieve_points,
    scroll,
    search_points,
)
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.adapters.qdrant.server_schema import BATCH, Schema, ServerOptions, match_any
from app.adapters.qdrant.server_writer import BookStorage, ServerWriter
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, IndexUnreadable, InputError, StorageError
from app.domain.indexed_book import BookList, BookManifest, Damage, IndexPoint, Snapshot
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector, Vector


class ServerIndex:
    """Implements the `VectorIndex` port: collections named `<prefix>~...`, shared by all books."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        prefix: str,
        url: str,
        options: ServerOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """No request is sent yet. `url` is used only in messages; `clock` gives seconds."""
        self._client = client
        self._address = public_address(url)
        self._schema = Schema(client, prefix, options or ServerOptions())
        self._records = Records(client, self._schema.books, self._address)
        self._storage = BookStorage(client, self._schema, self._records)
        self._generations = self._storage.generations
        self._catalogue = Catalogue(client, self._records, self._generations, clock)

    async def books(self) -> BookList:
        return await self._catalogue.manifests()

    async def damaged(self) -> Mapping[BookId, Damage]:
        return self._catalogue.damaged()

    async def manifest(self, book: BookId) -> BookManifest | None:
        current = (await self._records.read(book)).current
        if current is None:
            return None
        return manifest_from_json(current.manifest, f"{self._address} {book}")

    async def faults(self, book: BookId, *, full: bool = False) -> list[str]:
        current = (await self._record(book)).current
        return await self._faults(book, current, full=full) if current else []

    async def faults_before(self, book: BookId, *, full: bool = False) -> list[str] | None:
        previous = (await self._record(book)).previous
        return await self._faults(book, previous, full=full) if previous else None

    async def _faults(
        self, book: BookId, generation: GenerationRecord, *, full: bool = False
    ) -> list[str]:
        where = f"{self._address} {book} generation {generation.number}"
        try:
            manifest_from_json(generation.manifest, where)
            await self._records.read_frequencies([generation.key])
        except IndexUnreadable as error:
            return [str(error)]
        found = await self._generations.faults([(book, generation)], full=full)
        return [f"{where}: {fault}" for fault in found.values()]

    async def repair(self, book: BookId) -> BookManifest:
        record = await self._record(book)
        if await self.faults(book):
            if not record.previous:
                message = f"book {book!r} has no other generation: run `textbook-rag ingest`"
                raise StorageError(message)
            await self._swap(book)
        return (await self._catalogue.get(book)).manifest

    async def begin(self, book: BookId, dimension: int, number: int = 1) -> ServerWriter:
        """Start a generation. IndexBusy names the process that is writing the book."""
        await self._catalogue.check_version()
        await self._schema.create(dimension)
        record = await self._storage.take(BookId(book))
        switched = self._catalogue.look_again
        writer = ServerWriter(self._storage, record, dimension, switched, number)
        await writer.start()
        return writer

    async def chunks(self, book: BookId) -> Mapping[str, tuple[str, ...]]:
        served = await self._catalogue.get(book)
        key = served.current.key
        return {
            chunk_id_of(key, record.id): tuple((record.payload or {})["paragraph_ids"])
            async for record in self._scroll(served, ["paragraph_ids"])
        }

    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        if sparse is not None and not sparse.indices:
            sparse = None
        books = await self._catalogue.served(filter.books)
        found = await self._search(books, dense, sparse, limit, filter)
        if not found.dense and not found.sparse:
            # Two switches since the look-up may have deleted the points.
            self._catalogue.look_again()
            again = await self._catalogue.served(filter.books)
            if _scopes(again) != _scopes(books):
                return await self._search(again, dense, sparse, limit, filter)
        return found

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
        served = await self._catalogue.served(books)
        weights = await self._catalogue.idf(served, terms)
        best = dict.fromkeys(weights, 0.0)
        for dimension, scope in _scopes(served).items():
            found = await best_scores(self._client, self._schema.points(dimension), scope, weights)
            for term, score in zip(weights, found, strict=True):
                best[term] = max(best[term], score)
        return [best[term] for term in terms]

    async def fetch(self, wanted: Mapping[BookId, Sequence[str]]) -> list[Chunk]:
        """One request for each dimension, and one more if a book was switched meanwhile."""
        served = await self._catalogue.served(list(wanted)) if wanted else []
        books = {one.manifest.book: one for one in served}
        found = await self._retrieve([(one.current, wanted[book]) for book, one in books.items()])
        before = [
            (one.previous, [chunk_id for chunk_id in wanted[book] if (book, chunk_id) not in found])
            for book, one in books.items()
            if one.previous
        ]
        found |= await self._retrieve([(one, missing) for one, missing in before if missing])
        every = ((book, chunk_id) for book, ids in wanted.items() for chunk_id in ids)
        return [found[one] for one in every if one in found]

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        found = []
        for dimension, scope in _scopes(await self._catalogue.served(filter.books)).items():
            condition = condition_of(scope, filter)
            records = scroll(self._client, self._schema.points(dimension), condition, True)
            found += [from_payload(record.payload) async for record in records]
        return sorted(found, key=lambda chunk: (chunk.book, chunk.chunk_id))

    async def next_chapter(self, book: BookId, chapter: str, position: int) -> int | None:
        served = await self._catalogue.get(book)
        scope = condition_of({served.current.key: served.manifest.book})
        after = models.FieldCondition(key="position", range=models.Range(gt=position))
        same = match_any("chapter", [chapter])
        records, _ = await self._client.scroll(
            self._schema.points(served.current.dimension),
            scroll_filter=models.Filter(must=[scope, after], must_not=[same]),
            limit=1,
            order_by="position",
            with_payload=["position"],
            with_vectors=False,
        )
        return (records[0].payload or {})["position"] if records else None

    async def remove(self, book: BookId) -> None:
        """IndexBusy while the book is being written."""
        await self._record(book)
        record = await self._storage.take(BookId(book))
        # A crash after this leaves a record without generations, which the next run cleans up.
        record = await self._storage.put(record, BookRecord(record.book, lease=record.lease))
        await self._storage.keep(record.book, [])
        await self._records.delete(record)
        self._catalogue.look_again()

    async def rollback(self, book: BookId) -> BookManifest:
        await self._swap(book)
        return (await self._catalogue.get(book)).manifest

    async def snapshot(self, book: BookId) -> Snapshot:
        served = await self._catalogue.get(book)
        return Snapshot(served.manifest, self._in_reading_order(served))

    async def _in_reading_order(self, served: ServedBook) -> AsyncIterator[list[IndexPoint]]:
        key, collection = served.current.key, self._schema.points(served.current.dimension)
        records = self._scroll(served, list(ORDER_FIELDS))
        ids = in_reading_order([(chunk_id_of(key, one.id), one.payload) async for one in records])
        for start in range(0, len(ids), BATCH):
            asked = ids[start : start + BATCH]
            found = await retrieve_points(self._client, collection, key, asked)
            yield [found[chunk_id] for chunk_id in asked if chunk_id in found]

    async def check(self) -> None:
        self._catalogue.look_again(compare=True)
        await self._catalogue.served([])

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
        if sparse is not None:
            sparse = weighted(sparse, await self._catalogue.idf(books, sparse.indices))
        found = []
        for dimension, scope in _scopes(books).items():
            collection, options = self._schema.points(dimension), self._schema.options
            found.append(
                await search_points(
                    self._client, collection, scope, dense, sparse, limit, filter, options
                )
            )
        return Candidates.best(found, limit)

    async def _record(self, book: BookId) -> BookRecord:
        """Read the book's record. BookNotFound if it is not published, StorageError."""
        self._catalogue.look_again()
        record = await self._records.read(BookId(book))
        if record.current is None:
            raise BookNotFound.of(book)
        return record

    async def _swap(self, book: BookId) -> None:
        """Exchange the current and the previous generation, in one write of the record.

        StorageError if the previous one is damaged.
        """
        record = await self._record(book)
        refuse_if_held(book, record.lease)
        if record.previous is None:
            message = f"book {book!r} has no previous generation to go back to"
            raise InputError(message)
        if faults := await self._faults(record.book, record.previous):
            raise StorageError(faults[0])
        await self._storage.put(
            record, replace(record, current=record.previous, previous=record.current, lease=None)
        )
        self._catalogue.look_again()

    async def _retrieve(
        self, wanted: Sequence[tuple[GenerationRecord, Sequence[str]]]
    ) -> dict[tuple[BookId, str], Chunk]:
        by_dimension: dict[int, list[str]] = defaultdict(list)
        for one, chunk_ids in wanted:
            by_dimension[one.dimension] += [point_id(one.key, chunk_id) for chunk_id in chunk_ids]
        chunks: list[Chunk] = []
        for dimension, ids in by_dimension.items():
            records = await self._client.retrieve(
                self._schema.points(dimension), ids, with_payload=True
            )
            chunks += [from_payload(record.payload) for record in records]
        return {(chunk.book, chunk.chunk_id): chunk for chunk in chunks}

    def _scroll(
        self, served: ServedBook, payload: bool | list[str]
    ) -> AsyncIterator[models.Record]:
        condition = condition_of({served.current.key: served.manifest.book})
        collection = self._schema.points(served.current.dimension)
        return scroll(self._client, collection, condition, payload)


def _scopes(books: Sequence[ServedBook]) -> dict[int, dict[str, BookId]]:
    """The books' current generations by dimension: each dimension is a collection."""
    scopes: dict[int, dict[str, BookId]] = defaultdict(dict)
    for one in books:
        scopes[one.current.dimension][one.current.key] = one.manifest.book
    return scopes
