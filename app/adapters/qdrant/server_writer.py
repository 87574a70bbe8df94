"""A new generation of one book on a Qdrant server."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.contents import ContentsCounter
from app.adapters.qdrant.document_frequencies import FrequencyCounter
from app.adapters.qdrant.manifest import manifest_to_json
from app.adapters.qdrant.payload import TENANT_FIELD, check_count, check_dimension
from app.adapters.qdrant.server_contents import StoredGenerations
from app.adapters.qdrant.server_lease import RENEW_SECONDS, new_lease, refuse_if_held
from app.adapters.qdrant.server_points import condition_of, point_of
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.adapters.qdrant.server_schema import BATCH, GENERATION_FIELD, Schema, match_any
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, RagError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint

_log = logging.getLogger(__name__)


class BookStorage:
    """Writes and deletes of a book's record, points and frequencies."""

    def __init__(self, client: AsyncQdrantClient, schema: Schema, records: Records) -> None:
        """No request is sent yet."""
        self.client = client
        self.schema = schema
        self.records = records
        self.generations = StoredGenerations(client, schema, records)

    async def take(self, book: BookId) -> BookRecord:
        """Put our lease into the book's record. IndexBusy while another process holds the lease."""
        record = await self.records.read(book)
        refuse_if_held(book, record.lease)
        taken = await self.records.replace(record, replace(record, lease=new_lease()))
        if taken is None:
            refuse_if_held(book, (await self.records.read(book)).lease)
            message = f"book {book!r} is being written by another run that began just now"
            raise IndexBusy(message)
        return taken

    async def put(self, old: BookRecord, new: BookRecord) -> BookRecord:
        """Replace a record with our lease. IndexBusy if another process has taken the book over."""
        written = await self.records.replace(old, new)
        if written is None:
            # Our own renewal, whose answer was lost, may have changed the revision.
            found = await self.records.read(old.book)
            if old.lease and found.lease and old.lease.is_of(found.lease):
                written = await self.records.replace(found, new)
        if written is None:
            # The read after the first write may have come from a stale replica: look again.
            found = await self.records.read(old.book)
            written = found if found.has_content_of(new) else None
        if written is None:
            message = f"book {old.book!r} was changed by another run just now: nothing was changed"
            if old.lease:
                message = (
                    f"book {old.book!r} was taken over by another run, because this one did not "
                    "renew its lease in time: nothing was published"
                )
            raise IndexBusy(message)
        return written

    async def keep(self, book: BookId, kept: Sequence[GenerationRecord]) -> None:
        """Delete all other generations of the book. Only while our lease is in its record."""
        keys = [one.key for one in kept]
        await self._delete(
            models.Filter(
                must=[match_any(TENANT_FIELD, [book])],
                must_not=[match_any(GENERATION_FIELD, keys)] if keys else None,
            )
        )

    async def drop(self, book: BookId, key: str) -> None:
        """Delete one generation."""
        await self._delete(condition_of({key: book}))

    async def _delete(self, condition: models.Filter) -> None:
        """Delete the points and frequencies of generations."""
        for collection in await self.schema.every_points():
            await self.client.delete(collection, points_selector=condition, wait=True)
        await self.records.delete_frequencies(condition)


class ServerWriter:
    """Writes points under a new generation key, verifies them and puts the key into the record.

    Until then readers do not see the points.
    """

    def __init__(
        self,
        storage: BookStorage,
        record: BookRecord,
        dimension: int,
        switched: Callable[[], None],
        number: int,
    ) -> None:
        """`record` has our lease; `switched` is called after publication.

        The generation gets the number `number`, or the next free one if that is higher.
        """
        self._storage = storage
        self._record = record
        self._book = record.book
        self._dimension = dimension
        self._collection = storage.schema.points(dimension)
        self._switched = switched
        self._key = secrets.token_hex(8)
        self._number = max([number, *(one.number + 1 for one in record.kept)])
        self._contents = ContentsCounter()
        self._frequencies = FrequencyCounter()
        self._renewing: asyncio.Task[None] | None = None
        self._putting = asyncio.Lock()
        self._may_be_published = self._done = False

    async def start(self) -> None:
        """Delete leftovers of a crash and begin to renew the lease. StorageError."""
        try:
            await self._storage.keep(self._book, self._record.kept)
        except BaseException:
            await self.abandon()
            raise
        self._renewing = asyncio.create_task(self._renew_lease())

    async def write(self, points: Sequence[IndexPoint]) -> None:
        for point in points:
            check_dimension(self._book, "of this run", self._dimension, len(point.dense))
        for start in range(0, len(points), BATCH):
            batch = [point_of(self._key, point) for point in points[start : start + BATCH]]
            await self._storage.client.upsert(self._collection, points=batch, wait=True)
        for point in points:
            self._contents.add(point)
            self._frequencies.add(point.sparse)

    async def publish(self, manifest: BookManifest) -> BookManifest:
        """The newest intact one of the kept generations becomes the previous one."""
        contents, storage = self._contents.result(), self._storage
        check_count(self._book, contents.chunks, manifest.chunks)
        published = replace(manifest, generation=self._number)
        current = GenerationRecord(
            self._key, self._number, self._dimension, manifest_to_json(published)
        )
        await storage.records.write_contents(
            self._book, self._key, self._frequencies.result(), contents
        )
        kept = self._record.kept
        every = [(self._book, one) for one in (current, *kept)]
        faults = await storage.generations.faults(every)
        if self._key in faults:
            message = f"{storage.records.address} {self._book}: {faults[self._key]}: not published"
            raise StorageError(message)
        previous = next((one for one in kept if one.key not in faults), None)
        await self._stop_renewing()
        record = self._record
        self._may_be_published = True
        new = BookRecord(self._book, current=current, previous=previous, lease=None)
        try:
            await storage.put(record, new)
        except StorageError as error:
            message = (
                f"{error}; book {self._book!r} may have been published nevertheless: "
                "`textbook-rag books` shows its version; to be sure, ingest it again"
            )
            raise StorageError(message) from error
        self._done = True
        self._switched()
        try:
            for one in kept:
                if one != previous:
                    await storage.drop(self._book, one.key)
        except RagError as error:
            self._warn("index.prune_failed", error)
        return published

    async def abandon(self) -> None:
        if self._done:
            return
        self._done = True
        await self._stop_renewing()
        storage = self._storage
        try:
            # The record first: with its new revision, a publication that is still under way fails.
            # If this write fails, the generation may be current; if not, the next run deletes it.
            record = await storage.put(self._record, replace(self._record, lease=None))
            await storage.drop(self._book, self._key)
            if not record.kept and not self._may_be_published:
                await storage.records.delete(record)
        except RagError as error:
            self._warn("index.prune_failed", error)

    async def _renew_lease(self) -> None:
        """Renew the lease every minute: embedding a book can take hours."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            lease = self._record.lease
            async with self._putting:
                try:
                    self._record = await self._storage.put(
                        self._record, replace(self._record, lease=lease and lease.renewed())
                    )
                except RagError as error:
                    self._warn("index.lease_not_renewed", error)

    async def _stop_renewing(self) -> None:
        if self._renewing is not None:
            async with self._putting:  # not during a write of the record
                self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    def _warn(self, event: str, error: RagError) -> None:
        _log.warning(event, extra={"book": self._book, "reason": str(error)})
