"""A new generation of one book on a Qdrant server."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from qdrant_client import models

from app.adapters.qdrant.payload import (
    check_count,
    check_dimension,
)
from app.adapters.qdrant.server_points import condition_of, missing_points, point_of
from app.adapters.qdrant.server_records import BookRecord, Lease, Records, StoredGeneration
from app.adapters.qdrant.server_store import (
    BATCH,
    GENERATION_FIELD,
    TENANT_FIELD,
    ServerStore,
    match_any,
)
from app.domain.book_id import BookId
from app.domain.errors import RagError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint

_log = logging.getLogger(__name__)


RENEW_SECONDS = 20.0


async def delete_others(
    store: ServerStore, book: BookId, kept: Sequence[StoredGeneration] = ()
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
        self,
        records: Records,
        record: BookRecord,
        dimension: int,
        on_switch: Callable[[], None],
    ) -> None:
        """`record` has our lease; `on_switch` is called after publication."""
        self._records, self._store = records, records.store
        self._record = record
        self._book = record.book
        self._dimension = dimension
        self._collection = self._store.points(dimension)
        self._on_switch = on_switch
        self._key = secrets.token_hex(8)
        self._number = 1 + max([0, *(one.manifest.generation for one in record.generations)])
        self._count = 0
        self._renewing: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._may_be_published = self._done = False

    async def start(self) -> None:
        """Delete leftovers of a crash and begin to renew the lease. StorageError."""
        try:
            await delete_others(self._store, self._book, self._record.generations)
        except BaseException:
            await self.abandon()
            raise
        self._renewing = asyncio.create_task(self._renew_lease())

    async def write(self, points: Sequence[IndexPoint]) -> None:
        for point in points:
            check_dimension(self._book, "of this run", self._dimension, len(point.dense))
        for start in range(0, len(points), BATCH):
            batch = [point_of(self._key, point) for point in points[start : start + BATCH]]
            await self._store.client.upsert(self._collection, points=batch, wait=True)
            self._count += len(batch)

    async def publish(self, manifest: BookManifest) -> BookManifest:
        """The newest intact one of the kept generations becomes the previous one."""
        check_count(self._book, self._count, manifest.chunks)
        published = replace(manifest, generation=self._number)
        current, kept = StoredGeneration(self._key, published), self._record.generations
        missing = await missing_points(self._store, [current, *kept])
        if self._key in missing:
            message = f"not published: {missing[self._key]}"
            raise StorageError(message)
        intact = [one for one in kept if one.key not in missing][:1]
        await self._switch(BookRecord(self._book, generations=(current, *intact)))
        try:
            for one in kept:
                if one not in intact:
                    await self._delete(one.key)
        except RagError as error:
            self._warn("index.prune_failed", error)
        return published

    async def _switch(self, new: BookRecord) -> None:
        """Put the new record, without a lease, in place of ours."""
        await self._stop_renewing()
        self._may_be_published = True
        try:
            await self._records.put(self._record, new)
        except StorageError as error:
            message = (
                f"{error}; book {self._book!r} may have been published nevertheless: "
                "`textbook-rag books` shows its version; to be sure, ingest it again"
            )
            raise StorageError(message) from error
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
            await self._delete(self._key)
            if not record.generations and not self._may_be_published:
                await self._records.delete(record)
        except RagError as error:
            self._warn("index.prune_failed", error)

    async def _delete(self, key: str) -> None:
        await self._store.delete_points(condition_of({key: self._book}))

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
