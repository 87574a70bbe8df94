"""A new generation of one book on a Qdrant server: a collection of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.manifest import manifest_to_json
from app.adapters.qdrant.payload import (
    DENSE,
    INTEGER_FIELDS,
    KEYWORD_FIELDS,
    SPARSE,
    TENANT_FIELD,
    check_dimension,
    to_payload,
)
from app.adapters.qdrant.samples import LIMIT, Samples
from app.adapters.qdrant.server_catalogue import RENEW_SECONDS, Catalogue, Lease, new_lease
from app.adapters.qdrant.server_errors import CollectionExists, server_errors
from app.adapters.qdrant.server_options import BATCH, ServerOptions, strict_mode, vector_params
from app.adapters.qdrant.server_points import retrieve_points, search_collection
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, RagError, StorageError
from app.domain.retrieval.query import Candidates, SearchFilter
from app.services.ports import BookManifest, IndexPoint

_log = logging.getLogger(__name__)


class ServerWriter:
    """Fills a collection that no alias points to, verifies its count and switches the alias."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        catalogue: Catalogue,
        book: BookId,
        number: int,
        dimension: int,
        options: ServerOptions,
    ) -> None:
        """Name the collection; `open` creates it."""
        self._client = client
        self._catalogue = catalogue
        self._book = book
        self._number = number
        self._dimension = dimension
        self._collection = catalogue.collection(book, number)
        self._options = options
        self._samples = Samples()
        self._lease = new_lease()
        self._renewing: asyncio.Task[None] | None = None
        self._done = False

    @classmethod
    async def open(
        cls,
        client: AsyncQdrantClient,
        catalogue: Catalogue,
        book: BookId,
        dimension: int,
        options: ServerOptions,
    ) -> ServerWriter:
        """Remove leftovers of a crash and create an empty collection, its payload indexes first."""
        await remove_strays(client, catalogue, book)
        number = max(await catalogue.generations(book), default=0) + 1
        writer = cls(client, catalogue, book, number, dimension, options)
        try:
            await writer._create()
        except CollectionExists as error:
            message = f"book {book!r} is being written by another run that began just now"
            raise IndexBusy(message) from error
        try:
            await writer._create_indexes()
        except BaseException:
            await writer.abandon()
            raise
        writer._renewing = asyncio.create_task(writer._renew_lease())
        return writer

    async def write(self, points: Sequence[IndexPoint]) -> None:
        for point in points:
            check_dimension(self._book, "of this run", self._dimension, len(point.dense))
        with server_errors(self._catalogue.address):
            for start in range(0, len(points), BATCH):
                batch = [_point(point) for point in points[start : start + BATCH]]
                await self._client.upsert(self._collection, points=batch, wait=True)
        self._samples.offer(points)

    async def publish(self, manifest: BookManifest) -> BookManifest:
        with server_errors(self._catalogue.address):
            found = await self._client.count(self._collection, exact=True)
        if found.count != manifest.chunks:
            message = (
                f"book {self._book!r}: {found.count} chunks are in the new index, but the book has "
                f"{manifest.chunks}: not published"
            )
            raise StorageError(message)
        await self._check_readable()
        published = replace(manifest, generation=self._number)
        self._catalogue.look_again()
        before, _ = await self._catalogue.kept(self._book)
        await self._stop_renewing()
        await self._describe(
            {
                "manifest": manifest_to_json(published),
                "previous": before or None,
                "lease": None,
            }
        )
        await self._catalogue.switch(self._book, self._collection, replace=bool(before))
        self._done = True
        try:
            await remove_strays(self._client, self._catalogue, self._book)
        except RagError as error:
            _log.warning("index.prune_failed", extra={"book": self._book, "reason": str(error)})
        return published

    async def abandon(self) -> None:
        if self._done:
            return
        self._done = True
        await self._stop_renewing()
        try:
            with server_errors(self._catalogue.address):
                await self._client.delete_collection(self._collection)
        except RagError as error:
            _log.warning("index.prune_failed", extra={"book": self._book, "reason": str(error)})

    async def _check_readable(self) -> None:
        """Look samples up and search for them, as a reader does."""
        where, samples = f"{self._catalogue.address} {self._collection}", self._samples
        with server_errors(self._catalogue.address):
            stored = await retrieve_points(self._client, self._collection, samples.ids)
            found = [await self._search(point) for point in samples.points]
        samples.check_stored(where, stored)
        samples.check_found(where, [hits.dense for hits in found], [hits.sparse for hits in found])

    async def _search(self, point: IndexPoint) -> Candidates:
        sparse = point.sparse if point.sparse.indices else None
        return await search_collection(
            self._client,
            self._collection,
            self._book,
            point.dense,
            sparse,
            LIMIT,
            SearchFilter(),
            self._options,
        )

    async def _renew_lease(self) -> None:
        """Renew the lease every minute: embedding a book can take hours."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            self._lease = self._lease.renewed()
            try:
                await self._describe({"lease": self._lease.to_json()})
            except RagError as error:
                _log.warning(
                    "index.lease_not_renewed", extra={"book": self._book, "reason": str(error)}
                )

    async def _stop_renewing(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def _create(self) -> None:
        options = self._options
        metadata = {
            "prefix": self._catalogue.prefix,
            "book": self._book,
            "lease": self._lease.to_json(),
        }
        sparse = models.SparseVectorParams(modifier=models.Modifier.IDF)
        with server_errors(self._catalogue.address):
            await self._client.create_collection(
                self._collection,
                vectors_config={DENSE: vector_params(self._dimension, options)},
                sparse_vectors_config={SPARSE: sparse},
                shard_number=options.shard_number,
                replication_factor=options.replication_factor,
                write_consistency_factor=options.write_consistency_factor,
                strict_mode_config=strict_mode(options),
                metadata=metadata,
            )

    async def _create_indexes(self) -> None:
        schemas: dict[str, models.PayloadSchemaType | models.KeywordIndexParams] = {
            TENANT_FIELD: models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, is_tenant=True
            )
        }
        schemas |= dict.fromkeys(KEYWORD_FIELDS, models.PayloadSchemaType.KEYWORD)
        schemas |= dict.fromkeys(INTEGER_FIELDS, models.PayloadSchemaType.INTEGER)
        with server_errors(self._catalogue.address):
            for field, schema in schemas.items():
                await self._client.create_payload_index(
                    self._collection, field, field_schema=schema, wait=True
                )

    async def _describe(self, metadata: dict[str, object]) -> None:
        with server_errors(self._catalogue.address):
            await self._client.update_collection(self._collection, metadata=metadata)


async def remove_strays(client: AsyncQdrantClient, catalogue: Catalogue, book: BookId) -> None:
    """Delete the book's collections except the current and the previous one.

    IndexBusy, naming the writer, if one of them is being written.
    """
    catalogue.look_again()
    for stray in await catalogue.strays(book, set(await catalogue.kept(book))):
        refuse_if_held(book, stray.lease)
        with server_errors(catalogue.address):
            await client.delete_collection(stray.collection)


def refuse_if_held(book: BookId, lease: Lease | None) -> None:
    if lease and lease.is_held():
        message = (
            f"book {book!r} is being written by another run ({lease}): "
            "wait for it to end, or stop it"
        )
        raise IndexBusy(message)


def _point(point: IndexPoint) -> models.PointStruct:
    vectors: dict[str, models.Vector] = {DENSE: point.dense.tolist()}
    # Neither store counts a missing vector in the document frequencies; an empty one may count.
    if point.sparse.indices:
        vectors[SPARSE] = models.SparseVector(
            indices=list(point.sparse.indices), values=list(point.sparse.values)
        )
    payload = cast("dict[str, object]", to_payload(point.chunk))
    return models.PointStruct(id=point.chunk.chunk_id, vector=vectors, payload=payload)
