"""The collections of one prefix on a server, created when first needed, and their indexes.

`<prefix>~books` has the records (`server_records`), `<prefix>~<dimension>` the points of all books
with vectors of this dimension. The collections of older versions, `<prefix>_<book>`, never clash
with them, since a book id has no `~`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.payload import (
    DENSE,
    INTEGER_FIELDS,
    KEYWORD_FIELDS,
    SPARSE,
    TENANT_FIELD,
)
from app.adapters.qdrant.server_errors import CollectionExists, server_errors
from app.adapters.qdrant.server_options import (
    ServerOptions,
    hnsw_config,
    strict_mode,
    vector_params,
)

GENERATION_FIELD = "generation"


class Schema:
    """Names and creation of the collections."""

    def __init__(
        self, client: AsyncQdrantClient, prefix: str, address: str, options: ServerOptions
    ) -> None:
        """No request is sent yet."""
        self._client = client
        self._prefix = prefix
        self._address = address
        self._options = options

    @property
    def books(self) -> str:
        return f"{self._prefix}~books"

    def points(self, dimension: int) -> str:
        return f"{self._prefix}~{dimension}"

    async def every_points(self) -> list[str]:
        """Return the names of the existing collections of points."""
        with server_errors(self._address):
            answer = await self._client.get_collections()
        start = f"{self._prefix}~"
        return sorted(
            one.name
            for one in answer.collections
            if one.name.startswith(start) and one.name.removeprefix(start).isdigit()
        )

    async def create(self, dimension: int) -> None:
        """Create the two collections and their indexes where they are missing. StorageError."""
        names = ("kind", "book", "revision", GENERATION_FIELD)
        records = dict.fromkeys(names, models.PayloadSchemaType.KEYWORD)
        records["changed"] = models.PayloadSchemaType.INTEGER
        await self._create(self.books, None, records)
        await self._create(self.points(dimension), dimension, _points_indexes())

    async def _create(
        self,
        name: str,
        dimension: int | None,
        schemas: Mapping[str, models.PayloadSchemaType | models.PayloadSchemaParams],
    ) -> None:
        with server_errors(self._address):
            exists = await self._client.collection_exists(name)
        if not exists:
            await self._create_collection(name, dimension)
        with server_errors(self._address):
            present = (await self._client.get_collection(name)).payload_schema or {}
        with server_errors(self._address):
            for field, schema in schemas.items():
                if field not in present:
                    await self._client.create_payload_index(
                        name, field, field_schema=schema, wait=True
                    )

    async def _create_collection(self, name: str, dimension: int | None) -> None:
        options = self._options
        vectors = {} if dimension is None else {DENSE: vector_params(dimension, options)}
        sparse = None if dimension is None else {SPARSE: models.SparseVectorParams()}
        try:
            with server_errors(self._address):
                await self._client.create_collection(
                    name,
                    vectors_config=vectors,
                    sparse_vectors_config=sparse,
                    hnsw_config=None if dimension is None else hnsw_config(),
                    shard_number=1 if dimension is None else options.shard_number,
                    replication_factor=options.replication_factor,
                    # If fewer replicas than this factor accept a write, Qdrant reports an error but
                    # keeps the write on those that did. With 1, replicas that failed are disabled
                    # instead, so two replicas of a record never differ.
                    write_consistency_factor=1
                    if dimension is None
                    else options.write_consistency_factor,
                    strict_mode_config=strict_mode(options),
                )
        except CollectionExists:
            return  # another process was first


def _points_indexes() -> dict[str, models.PayloadSchemaParams]:
    """Payload indexes: the tenant key alone has an HNSW graph for each value, that is, each book.

    The other fields filter within a book: few enough points match to compare them all.
    """
    keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
    tenant = models.KeywordIndexParams(type=keyword, is_tenant=True)
    other = models.KeywordIndexParams(type=keyword, enable_hnsw=False)
    number = models.IntegerIndexParams(type=integer, enable_hnsw=False)
    indexes: dict[str, models.PayloadSchemaParams] = {TENANT_FIELD: tenant}
    indexes |= dict.fromkeys((GENERATION_FIELD, *KEYWORD_FIELDS), other)
    return indexes | dict.fromkeys(INTEGER_FIELDS, number)


def match_any(field: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
