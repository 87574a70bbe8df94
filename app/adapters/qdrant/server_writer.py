"""A new generation of one book on a Qdrant server."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from qdrant_client import models

from app.adapters.qdrant.payload import (
    DENSE,
    POSITION_FIELD,
    SPARSE,
    TAGS_FIELD,
    to_payload,
)
from app.adapters.qdrant.server_catalogue import CHECKSUM_FIELD, checksum, missing_points
from app.adapters.qdrant.server_points import (
    BATCH,
    GENERATION_FIELD,
    TENANT_FIELD,
    ServerStore,
    match_any,
    point_id,
    sparse_vector,
)
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Lease, Records
from app.domain.book_id import BookId
from app.domain.errors import RagError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint

_log = logging.getLogger(__name__)

RENEW_SECONDS = 20.0


async def create_collections(store: ServerStore, dimension: int) -> None:
    """Create the two collections and their indexes where they are missing. StorageError."""
    await _create(
        store,
        store.books,
        {"revision": models.PayloadSchemaType.KEYWORD},
        vectors_config={},
        # If fewer replicas than this factor accept a write, Qdrant reports an error but keeps the
        # write on those that did. With 1, replicas that failed are disabled instead, so two
        # replicas of a record never differ.
        write_consistency_factor=1,
    )
    keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
    other = models.KeywordIndexParams(type=keyword, enable_hnsw=False)
    await _create(
        store,
        store.points(dimension),
        {
            # The tenant key alone has an HNSW graph for each value, that is, each book. The other
            # fields filter within a book: few enough points match to compare them all.
            TENANT_FIELD: models.KeywordIndexParams(type=keyword, is_tenant=True),
            GENERATION_FIELD: other,
            TAGS_FIELD: other,
            POSITION_FIELD: models.IntegerIndexParams(type=integer, enable_hnsw=False),
        },
        vectors_config={
            DENSE: models.VectorParams(size=dimension, distance=models.Distance.COSINE)
        },
        sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        # One HNSW graph for each book, and one over all for questions without a book.
        hnsw_config=models.HnswConfigDiff(m=16, payload_m=16),
        # Writes go on while a node of two replicas is lost; of three, two agree.
        write_consistency_factor=(store.replicas + 1) // 2,
    )


async def _create(
    store: ServerStore,
    name: str,
    indexes: Mapping[str, models.PayloadSchemaType | models.PayloadSchemaParams],
    **layout: Any,  # noqa: ANN401 - arguments of `create_collection`
) -> None:
    if not await store.client.collection_exists(name):
        try:
            await store.client.create_collection(
                name,
                shard_number=1,  # document frequencies are counted in each shard
                replication_factor=store.replicas,
                **layout,
            )
        except StorageError:
            if not await store.client.collection_exists(name):  # by another process
                raise
    present = (await store.client.get_collection(name)).payload_schema or {}
    for field, schema in indexes.items():
        if field not in present:
            await store.client.create_payload_index(name, field, field_schema=schema, wait=True)


async def delete_others(
    store: ServerStore, book: BookId, kept: Sequence[GenerationRecord] = ()
) -> None:
    """Delete all other generations of the book. Only while our lease is in its record."""
    keys = [one.key for one in kept]
    of_book = match_any(TENANT_FIELD, [book])
    others = [match_any(GENERATION_FIELD, keys)] if keys else None
    await store.delete_points(models.Filter(must=[of_book], must_not=others))


class ServerWriter:
    """Writes points under a new generation key, verifies them and puts the key into the record.

    Until then readers do not see the points.
    """

    def __init__(
        self, records: Records, record: BookRecord, dimension: int, on_switch: Callable[[], None]
    ) -> None:
        """`record` has our lease; `on_switch` is called after publication."""
        self._records, self._store = records, records.store
        self._record = record
        self._book = record.book
        self._collection = self._store.points(dimension)
        self._on_switch = on_switch
        self._key = secrets.token_hex(8)
        self._number = 1 + max([0, *(one.manifest.generation for one in record.generations)])
        self._renewing: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._done = False

    async def start(self) -> None:
        """Delete leftovers of a crash and begin to renew the lease. StorageError."""
        try:
            await delete_others(self._store, self._book, self._record.generations)
        except BaseException:
            await self.abandon()
            raise
        self._renewing = asyncio.create_task(self._renew_lease())

    async def write(self, points: Sequence[IndexPoint]) -> None:
        for start in range(0, len(points), BATCH):
            batch = [_point_of(self._key, point) for point in points[start : start + BATCH]]
            await self._store.client.upsert(self._collection, points=batch, wait=True)

    async def publish(self, manifest: BookManifest) -> BookManifest:
        """The newest intact one of the kept generations becomes the previous one."""
        published = replace(manifest, generation=self._number)
        current, kept = GenerationRecord(self._key, published), self._record.generations
        missing = await missing_points(self._store, [current, *kept])
        if self._key in missing:
            raise StorageError(f"not published: {missing[self._key]}")
        intact = [one for one in kept if one.key not in missing][:1]
        await self._switch(BookRecord(self._book, generations=(current, *intact)))
        try:
            await self._delete([one.key for one in kept if one not in intact])
        except RagError as error:
            self._warn("index.prune_failed", error)
        return published

    async def _switch(self, new: BookRecord) -> None:
        """Put the new record, without a lease, in place of ours."""
        await self._stop_renewing()
        try:
            await self._records.put(self._record, new)
        except StorageError as error:
            raise StorageError(
                f"{error}; book {self._book!r} may have been published nevertheless: "
                "`textbook-rag books` shows its version; to be sure, ingest it again"
            ) from error
        self._done = True
        self._on_switch()

    async def abandon(self) -> None:
        if self._done:
            return
        self._done = True
        await self._stop_renewing()
        try:
            # The record first: with its new revision, a publication that is still under way fails.
            # If this write fails, the generation may be current; if not, the next run deletes it.
            record = await self._records.put(self._record, replace(self._record, lease=None))
            await self._delete([self._key])
            if not record.generations:
                await self._records.delete(record)
        except RagError as error:
            self._warn("index.prune_failed", error)

    async def _delete(self, keys: Sequence[str]) -> None:
        if keys:
            ours = [match_any(TENANT_FIELD, [self._book]), match_any(GENERATION_FIELD, keys)]
            await self._store.delete_points(models.Filter(must=ours))

    async def _renew_lease(self) -> None:
        """Renew the lease meanwhile: embedding a book can take hours."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), RENEW_SECONDS)
                return
            lease = self._record.lease
            try:
                self._record = await self._records.put(
                    self._record, replace(self._record, lease=lease and Lease(lease.holder))
                )
            except RagError as error:
                self._warn("index.lease_not_renewed", error)

    async def _stop_renewing(self) -> None:
        """Wait for a write of the record to end."""
        self._ending.set()
        if self._renewing is not None:
            await self._renewing

    def _warn(self, event: str, error: RagError) -> None:
        _log.warning(event, extra={"book": self._book, "reason": str(error)})


def _point_of(generation: str, point: IndexPoint) -> models.PointStruct:
    vectors: dict[str, models.Vector] = {DENSE: point.dense.tolist()}
    if point.sparse.indices:
        vectors[SPARSE] = sparse_vector(point.sparse)
    payload = to_payload(point.chunk)
    payload |= {TENANT_FIELD: point.chunk.book, GENERATION_FIELD: generation}
    return models.PointStruct(
        id=point_id(generation, point.chunk.chunk_id),
        vector=vectors,
        payload=payload | {CHECKSUM_FIELD: checksum(payload, point)},
    )
