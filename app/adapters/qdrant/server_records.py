"""Records of books on a server: which generations a book has, and who is writing it.

A record is a point without vectors in `<prefix>~books`. It is replaced only if it still has the
revision that was read; the server checks this atomically. So of two writers one wins, and readers
see all changes of a write at the same time.
"""

import os
import secrets
import socket
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError
from qdrant_client import models

from app.adapters.qdrant.payload import LAYOUT
from app.adapters.qdrant.server_errors import CollectionMissing
from app.adapters.qdrant.server_points import ServerStore, match_any
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, StorageError
from app.domain.indexed_book import BookManifest

_ATTEMPTS = 3
"""Attempts to write a record. The read after the first may come from a replica that lacks it."""

LEASE_SECONDS = 120.0
"""A writer counts as dead if it has not renewed its lease for this time."""


def _new_holder() -> str:
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    return f"process {os.getpid()} on {socket.gethostname()}, started {started}"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one writer of a book, because Qdrant has no locks."""

    holder: str = field(default_factory=_new_holder)
    """Process, host and start time, with microseconds: every process in a container may have the
    same id."""
    seen_at: float = field(default_factory=time.time)
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    key: str
    """Random, so that two attempts to write a book never share points."""
    manifest: BookManifest


@dataclass(frozen=True, slots=True)
class BookRecord:
    book: BookId
    revision: str = ""
    """Random, new at each write; "" for a record that is not stored yet."""
    generations: tuple[GenerationRecord, ...] = ()
    """The current one, then the previous one."""
    lease: Lease | None = None
    fault: str = ""
    """Why the generations cannot be read; then there are none here."""

    def require_free(self) -> None:
        """Raise IndexBusy while a writer that is not dead has the lease."""
        if self.lease and (rest := self.lease.seen_at + LEASE_SECONDS - time.time()) > 0:
            raise IndexBusy(
                f"book {self.book!r} is being written by another run ({self.lease.holder}): wait "
                f"for it to end, or stop it; if it was killed, try again in {rest:.0f} s"
            )


_RECORD = TypeAdapter(BookRecord)


@dataclass(frozen=True, slots=True)
class Records:
    """Reads and writes of `<prefix>~books`. A server without this collection has no books."""

    store: ServerStore

    async def read(self, book: BookId) -> BookRecord:
        """Return the book's record, or a new one if there is none. StorageError."""
        return (await self.read_many([book])).get(book) or BookRecord(BookId(book))

    async def read_many(self, books: Sequence[BookId]) -> dict[BookId, BookRecord]:
        """Return the records of those of the books that have one."""
        ids, found = list(map(_point_id, books)), list[models.Record]()
        with suppress(CollectionMissing):
            found = await self.store.client.retrieve(self.store.books, ids, with_payload=True)
        return {one.book: one for one in map(self._record, found)}

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
            return await self.put(record, replace(record, lease=Lease()))
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
            published = [one for one in new.generations if one not in old.generations]
            if found.revision == new.revision or set(published) & set(found.generations):
                return new
            if lost:
                raise lost
            if old.lease and found.lease and old.lease.holder == found.lease.holder:
                old = found
        raise IndexBusy(
            f"book {old.book!r} was changed by another run just now, or taken over from this one, "
            "which did not renew its lease in time: nothing was changed"
        )

    async def _write(self, old: BookRecord, new: BookRecord) -> None:
        """Write `new` if the stored record is still `old`; a deleted one is not written again.

        The write ordering is `MEDIUM`: a leader among the live replicas orders the writes. `STRONG`
        would refuse all writes while one fixed leader is down.
        """
        payload = {"layout": LAYOUT, **_RECORD.dump_python(new, mode="json")}
        point = models.PointStruct(id=_point_id(new.book), vector={}, payload=payload)
        mode = models.UpdateMode.UPDATE_ONLY if old.revision else models.UpdateMode.INSERT_ONLY
        await self.store.client.upsert(
            self.store.books,
            points=[point],
            wait=True,
            ordering=models.WriteOrdering.MEDIUM,
            update_filter=_as_read(old),
            update_mode=mode,
        )

    async def delete(self, record: BookRecord) -> None:
        """Delete the record unless another process has written it since."""
        books = self.store.books
        await self.store.client.delete(books, points_selector=_as_read(record), wait=True)

    def _record(self, point: models.Record) -> BookRecord:
        data = point.payload or {}
        if data.get("layout") == LAYOUT:
            with suppress(ValidationError):
                return _RECORD.validate_python(data)
        book = BookId(str(data.get("book")))
        fault = f"{self.store.address} {book}: not an index of layout {LAYOUT}; ingest it again"
        return BookRecord(book, str(data.get("revision")), fault=fault)


def _as_read(record: BookRecord) -> models.Filter:
    """Condition that the stored record has not changed since this one was read."""
    this = models.HasIdCondition(has_id=[_point_id(record.book)])
    return models.Filter(must=[this, match_any("revision", [record.revision])])


def _point_id(book: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, book))
