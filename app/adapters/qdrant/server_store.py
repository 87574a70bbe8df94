"""What is stored on a Qdrant server under one prefix.

`<prefix>~books` has a record for each book (`server_records`), `<prefix>~<dimension>` the points of
all books with vectors of this dimension. Collections are created when first needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.payload import (
    DENSE,
    POSITION_FIELD,
    SPARSE,
    TAGS_FIELD,
)
from app.domain.errors import StorageError

TENANT_FIELD = "book"
GENERATION_FIELD = "generation"

BATCH = 256
"""Points in one upsert or read with vectors: about 1 MB at 1,024 dimensions."""

PAGE = 1_000
"""Points in one page of a scroll."""


@dataclass(frozen=True, slots=True)
class ServerStore:
    """The collections of one prefix. No request is sent before a method is called."""

    client: AsyncQdrantClient
    prefix: str
    address: str
    """For messages."""
    replicas: int = 1
    """Copies of each new collection. For high availability use 3 nodes and 2 replicas."""

    @property
    def books(self) -> str:
        return f"{self.prefix}~books"

    def points(self, dimension: int) -> str:
        return f"{self.prefix}~{dimension}"

    async def scroll(
        self,
        collection: str,
        condition: models.Filter,
        payload: bool | list[str] = True,
        *,
        vectors: bool = False,
    ) -> AsyncIterator[models.Record]:
        """Yield all records that match; one request per page."""
        offset = None
        while True:
            records, offset = await self.client.scroll(
                collection,
                scroll_filter=condition,
                limit=BATCH if vectors else PAGE,
                offset=offset,
                with_payload=payload,
                with_vectors=vectors,
            )
            for record in records:
                yield record
            if offset is None:
                return

    async def delete_points(self, condition: models.Filter) -> None:
        """Delete the points of any dimension that match."""
        start = f"{self.prefix}~"
        for one in (await self.client.get_collections()).collections:
            if one.name.startswith(start) and one.name.removeprefix(start).isdigit():
                await self.client.delete(one.name, points_selector=condition, wait=True)

    async def create(self, dimension: int) -> None:
        """Create the two collections and their indexes where they are missing. StorageError."""
        await self._create(
            self.books,
            {"revision": models.PayloadSchemaType.KEYWORD},
            vectors_config={},
            # If fewer replicas than this factor accept a write, Qdrant reports an error but keeps
            # the write on those that did. With 1, replicas that failed are disabled instead, so two
            # replicas of a record never differ.
            write_consistency_factor=1,
        )
        dense = models.VectorParams(size=dimension, distance=models.Distance.COSINE)
        await self._create(
            self.points(dimension),
            _points_indexes(),
            vectors_config={DENSE: dense},
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            # One HNSW graph for each book, and one over all for questions without a book.
            hnsw_config=models.HnswConfigDiff(m=16, payload_m=16),
            # Writes go on while a node of two replicas is lost; of three, two agree.
            write_consistency_factor=(self.replicas + 1) // 2,
        )

    async def _create(
        self,
        name: str,
        indexes: Mapping[str, models.PayloadSchemaType | models.PayloadSchemaParams],
        **layout: Any,  # noqa: ANN401 - arguments of `create_collection`
    ) -> None:
        if not await self.client.collection_exists(name):
            try:
                await self.client.create_collection(
                    name,
                    shard_number=1,  # document frequencies are counted in each shard
                    replication_factor=self.replicas,
                    **layout,
                )
            except StorageError:
                if not await self.client.collection_exists(name):  # by another process
                    raise
        present = (await self.client.get_collection(name)).payload_schema or {}
        for field, schema in indexes.items():
            if field not in present:
                await self.client.create_payload_index(name, field, field_schema=schema, wait=True)


def _points_indexes() -> dict[str, models.PayloadSchemaParams]:
    """Payload indexes: the tenant key alone has an HNSW graph for each value, that is, each book.

    The other fields filter within a book: few enough points match to compare them all.
    """
    keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
    tenant = models.KeywordIndexParams(type=keyword, is_tenant=True)
    other = models.KeywordIndexParams(type=keyword, enable_hnsw=False)
    number = models.IntegerIndexParams(type=integer, enable_hnsw=False)
    return {
        TENANT_FIELD: tenant,
        GENERATION_FIELD: other,
        TAGS_FIELD: other,
        POSITION_FIELD: number,
    }


def match_any(field: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
