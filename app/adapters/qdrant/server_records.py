"""Records of books on a server: which generations a book has, and who is writing it.

A record is a point without vectors in `<prefix>~books`. It is replaced only if it still has the
revision that was read; the server checks this atomically. So of two writers one wins, and readers
see all changes of a write at the same time.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from qdrant_client import models

from app.adapters.qdrant.payload import manifest_from_json
from app.adapters.qdrant.server_errors import CollectionMissing
from app.adapters.qdrant.server_store import PAGE, ServerStore, match_any
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, StorageError
from app.domain.indexed_book import BookManifest

_ATTEMPTS = 3
"""Attempts to write a record. The read after the first may come from a replica that lacks it."""

LEASE_SECONDS = 120.0
"""A writer counts as dead if it has not renewed its lease for this time."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one writer of a book, because Qdrant has no locks."""

    holder: str
    """Process, host and start time, with microseconds: every process in a container may have the
    same id."""
    seen_at: float
    """Seconds since the epoch."""

    @classmethod
    def new(cls) -> Lease:
        started = datetime.now(UTC).isoformat(timespec="microseconds")
        holder = f"process {os.getpid()} on {socket.gethostname()}, started {started}"
        return cls(holder, time.time())

    def renewed(self) -> Lease:
        return replace(self, seen_at=time.time())


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    key: str
    """Random, so that two attempts to write a book never share points."""
    manifest: Mapping[str, Any]
    """JSON, as `manifest_from_json` reads it."""

    @property
    def number(self) -> int:
        return int(self.manifest.get("generation", 0))

    @property
    def dimension(self) -> int:
        return int(self.manifest.get("dimension", 0))

    def read_manifest(self, where: str) -> BookManifest:
        """IndexUnreadable, naming `where`."""
        return manifest_from_json(self.manifest, where)


@dataclass(frozen=True, slots=True)
class BookRecord:
    """The fields are stored under these names."""

    book: BookId
    revision: str = ""
    """Random, new at each write; "" for a record that is not stored yet."""
    current: GenerationRecord | None = None
    previous: GenerationRecord | None = None
    lease: Lease | None = None

    @property
    def kept(self) -> list[GenerationRecord]:
        return [one for one in (self.current, self.previous) if one]

    def require_free(self) -> None:
        """Raise IndexBusy while a writer that is not dead has the lease."""
        if self.lease and (rest := self.lease.seen_at + LEASE_SECONDS - time.time()) > 0:
            message = (
                f"book {self.book!r} is being written by another run ({self.lease.holder}): wait "
                f"for it to end, or stop it; if it was killed, try again in {rest:.0f} s"
            )
            raise IndexBusy(message)


@dataclass(frozen=True, slots=True)
class Records:
    """Reads and writes of `<prefix>~books`. A server without this collection has no books."""

    store: ServerStore

    async def read(self, book: BookId) -> BookRecord:
        """Return the book's record, or a new one if there is none. StorageError."""
        return (await self.read_many([book])).get(book) or BookRecord(BookId(book))

    async def read_many(self, books: Sequence[BookId]) -> dict[BookId, BookRecord]:
        """Return the records of those of the books that have one."""
        records: dict[BookId, BookRecord] = {}
        with suppress(CollectionMissing):
            for start in range(0, len(books), PAGE):
                ids = list(map(_point_id, books[start : start + PAGE]))
                found = await self.store.client.retrieve(self.store.books, ids, with_payload=True)
                records.update((one.book, one) for one in map(_record_of, found))
        return records

    async def revisions(self) -> dict[str, str]:
        """Return the revision of each record by its book."""
        revisions: dict[str, str] = {}
        with suppress(CollectionMissing):
            fields = ["book", "revision"]
            async for one in self.store.scroll(self.store.books, models.Filter(), fields):
                payload = one.payload or {}
                revisions[str(payload.get("book"))] = str(payload.get("revision"))
        return revisions

    async def take(self, book: BookId) -> BookRecord:
        """Put our lease into the book's record. IndexBusy while another process holds the lease."""
        record = await self.read(book)
        record.require_free()
        try:
            return await self.put(record, replace(record, lease=Lease.new()))
        except IndexBusy:
            (await self.read(book)).require_free()
            raise

    async def put(self, old: BookRecord, new: BookRecord) -> BookRecord:
        """Replace `old` by `new` unless another process has written or deleted it since: IndexBusy.

        The record is read back: a write whose answer was lost counts, and so does a publication
        that another run followed at once. A renewal of our lease whose answer was lost is no other
        process.
        """
        new = replace(new, revision=secrets.token_hex(8))
        for _ in range(_ATTEMPTS):
            lost = None
            try:
                await self._write(old, new)
            except StorageError as error:
                lost = error
            found = await self.read(new.book)
            published = new.current not in old.kept and new.current in found.kept
            if found.revision == new.revision or published:
                return new
            if lost:
                raise lost
            if old.lease and found.lease and old.lease.holder == found.lease.holder:
                old = found
        message = f"book {old.book!r} was changed by another run just now: nothing was changed"
        if old.lease:
            message = (
                f"book {old.book!r} was taken over by another run, because this one did not renew "
                "its lease in time: nothing was published"
            )
        raise IndexBusy(message)

    async def _write(self, old: BookRecord, new: BookRecord) -> None:
        """Write `new` if the stored record is still `old`; a deleted one is not written again.

        The write ordering is `MEDIUM`: a leader among the live replicas orders the writes. `STRONG`
        would refuse all writes while one fixed leader is down.
        """
        point_id, payload = _point_id(new.book), asdict(new)
        unchanged, ordering = match_any("revision", [old.revision]), models.WriteOrdering.MEDIUM
        if old.revision:
            this = models.HasIdCondition(has_id=[point_id])
            await self.store.client.overwrite_payload(
                self.store.books,
                payload=payload,
                points=models.Filter(must=[this, unchanged]),
                wait=True,
                ordering=ordering,
            )
        else:
            await self.store.client.upsert(
                self.store.books,
                points=[models.PointStruct(id=point_id, vector={}, payload=payload)],
                wait=True,
                ordering=ordering,
                update_filter=models.Filter(must=[unchanged]),
            )

    async def delete(self, record: BookRecord) -> None:
        """Delete the record unless another process has written it since."""
        this, unchanged = (
            match_any(name, [value])
            for name, value in (("book", record.book), ("revision", record.revision))
        )
        await self.store.client.delete(
            self.store.books, points_selector=models.Filter(must=[this, unchanged]), wait=True
        )


def _point_id(book: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, book))


def _record_of(point: models.Record) -> BookRecord:
    data = point.payload or {}
    return BookRecord(
        BookId(str(data.get("book"))),
        str(data.get("revision")),
        _generation(data.get("current")),
        _generation(data.get("previous")),
        _lease(data.get("lease")),
    )


def _lease(data: object) -> Lease | None:
    with suppress(TypeError):
        return Lease(**data) if isinstance(data, dict) else None
    return None


def _generation(data: object) -> GenerationRecord | None:
    if not isinstance(data, dict):
        return None
    manifest = data.get("manifest")
    return GenerationRecord(str(data.get("key")), manifest if isinstance(manifest, dict) else {})
