"""Records of books on a server; document frequencies and contents of their generations.

Both are points without vectors in the collection `<prefix>~books`. A record is replaced only if it
still has the revision that was read; the server checks this atomically. So of two writers one wins,
and readers see all changes of a write at the same time.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.contents import Contents
from app.adapters.qdrant.document_frequencies import Frequencies
from app.adapters.qdrant.server_errors import CollectionMissing
from app.adapters.qdrant.server_lease import Lease, lease_from_json
from app.adapters.qdrant.server_points import scroll
from app.adapters.qdrant.server_schema import PAGE, match_any
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, StorageError

BOOK, FREQUENCIES = "book", "frequencies"

_FREQUENCIES_PAGE = 100
"""Generations whose frequencies are read in one request: 60 KB each for 1,000 chunks."""

_EARLIER = 8
"""Revisions that a record keeps: by them, a writer that others followed at once knows its own."""


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    key: str
    """Random, so that two attempts to write a book never share points."""
    number: int
    dimension: int
    manifest: object
    """JSON, as `manifest_from_json` reads it."""


@dataclass(frozen=True, slots=True)
class BookRecord:
    """The fields are stored under these names."""

    book: BookId
    revision: str = ""
    """Random, new at each write; "" for a record that is not stored yet."""
    current: GenerationRecord | None = None
    previous: GenerationRecord | None = None
    lease: Lease | None = None
    changed: int = 0
    """Milliseconds since the epoch, by the writer's clock."""
    earlier: tuple[str, ...] = ()
    """The last revisions before this one, newest first."""

    def has_content_of(self, other: BookRecord) -> bool:
        """Whether both have the same content, apart from revisions and time."""
        same = replace(other, revision=self.revision, changed=self.changed, earlier=self.earlier)
        return self == same

    def follows(self, revision: str) -> bool:
        """Whether the write with this revision was applied; others may have followed it."""
        return revision in (self.revision, *self.earlier)

    @property
    def kept(self) -> list[GenerationRecord]:
        return [one for one in (self.current, self.previous) if one]


class Records:
    """Reads and writes of `<prefix>~books`."""

    def __init__(self, client: AsyncQdrantClient, collection: str, address: str) -> None:
        """No request is sent yet."""
        self._client = client
        self.collection = collection
        self.address = address
        self._found = False

    async def read(self, book: BookId) -> BookRecord:
        """Return the book's record, or a new one if there is none. StorageError."""
        return (await self.read_many([book])).get(BookId(book)) or BookRecord(BookId(book))

    async def read_many(self, books: Sequence[BookId]) -> dict[BookId, BookRecord]:
        """Return the records of those of the books that have one."""
        records: dict[BookId, BookRecord] = {}
        if not await self._exists():
            return records
        with self._none_if_missing():
            for start in range(0, len(books), PAGE):
                ids = [_point_id(BOOK, book) for book in books[start : start + PAGE]]
                found = await self._client.retrieve(self.collection, ids, with_payload=True)
                records.update((one.book, one) for one in map(_record_of, found))
        return records

    async def count(self) -> int:
        """Return the number of records, including those with an invalid book id."""
        if not await self._exists():
            return 0
        with self._none_if_missing():
            found = await self._client.count(
                self.collection, models.Filter(must=[match_any("kind", [BOOK])]), exact=True
            )
            return found.count
        return 0

    async def revisions(self, since: int = 0) -> dict[str, str]:
        """Return the revisions, by book, of records whose `changed` is `since` or later."""
        revisions: dict[str, str] = {}
        if not await self._exists():
            return revisions
        must: list[models.Condition] = [match_any("kind", [BOOK])]
        if since:
            must.append(models.FieldCondition(key="changed", range=models.Range(gte=since)))
        condition, fields = models.Filter(must=must), ["book", "revision"]
        with self._none_if_missing():
            async for one in scroll(self._client, self.collection, condition, fields):
                payload = one.payload or {}
                revisions[str(payload.get("book"))] = str(payload.get("revision"))
        return revisions

    async def replace(self, old: BookRecord, new: BookRecord) -> BookRecord | None:
        """Replace `old` by `new`; None if another process wrote or deleted the record meanwhile.

        The write ordering is `MEDIUM`: a leader among the live replicas orders the writes. `STRONG`
        would refuse all writes while one fixed leader is down.
        """
        now = int(1_000 * time.time())
        earlier = (old.revision, *old.earlier)[:_EARLIER]
        new = replace(new, revision=secrets.token_hex(8), changed=now, earlier=earlier)
        try:
            await self._write(old, new)
        except StorageError:
            # The write may have succeeded although its answer was lost.
            if not (await self.read(new.book)).follows(new.revision):
                raise
            return new
        return new if (await self.read(new.book)).follows(new.revision) else None

    async def _write(self, old: BookRecord, new: BookRecord) -> None:
        """Write `new` if the stored record is still `old`; a deleted one is not written again."""
        point_id, payload = _point_id(BOOK, new.book), {"kind": BOOK, **asdict(new)}
        unchanged, ordering = match_any("revision", [old.revision]), models.WriteOrdering.MEDIUM
        if old.revision:
            this = models.HasIdCondition(has_id=[point_id])
            await self._client.overwrite_payload(
                self.collection,
                payload=payload,
                points=models.Filter(must=[this, unchanged]),
                wait=True,
                ordering=ordering,
            )
        else:
            await self._client.upsert(
                self.collection,
                points=[models.PointStruct(id=point_id, vector={}, payload=payload)],
                wait=True,
                ordering=ordering,
                update_filter=models.Filter(must=[unchanged]),
            )

    async def delete(self, record: BookRecord) -> None:
        """Delete the record unless another process has written it since."""
        is_book, this = match_any("kind", [BOOK]), match_any("book", [record.book])
        unchanged = match_any("revision", [record.revision])
        await self._delete(models.Filter(must=[is_book, this, unchanged]))

    async def write_contents(
        self, book: BookId, key: str, found: Frequencies, contents: Contents
    ) -> None:
        payload = {
            "kind": FREQUENCIES,
            "book": book,
            "generation": key,
            "frequencies": found.to_text(),
            "contents": asdict(contents),
        }
        point = models.PointStruct(id=_point_id(FREQUENCIES, key), vector={}, payload=payload)
        await self._client.upsert(self.collection, points=[point], wait=True)

    async def read_frequencies(self, keys: Sequence[str]) -> dict[str, Frequencies]:
        """Return document frequencies by generation key, where there are any. IndexUnreadable."""
        found = await self._read(keys, "frequencies")
        return {key: Frequencies.from_text(one, f"{self.address} {key}") for key, one in found}

    async def read_contents(self, keys: Sequence[str]) -> dict[str, Contents]:
        """Return the contents of generations by key, where their record is intact."""
        found = {}
        for key, one in await self._read(keys, "contents"):
            with suppress(IndexUnreadable):
                found[key] = Contents.from_json(one, f"{self.address} {key}")
        return found

    async def _read(self, keys: Sequence[str], name: str) -> list[tuple[str, object]]:
        """Return (generation key, value) of a field that is stored once for each generation."""
        found: list[tuple[str, object]] = []
        for start in range(0, len(keys), _FREQUENCIES_PAGE):
            asked = keys[start : start + _FREQUENCIES_PAGE]
            records = await self._client.retrieve(
                self.collection,
                [_point_id(FREQUENCIES, key) for key in asked],
                with_payload=["generation", name],
            )
            payloads = [record.payload or {} for record in records]
            found += [(str(one.get("generation")), one.get(name)) for one in payloads]
        return found

    async def delete_frequencies(self, which: models.Filter) -> None:
        """Delete the frequencies of the generations that match `which`."""
        await self._delete(models.Filter(must=[which, match_any("kind", [FREQUENCIES])]))

    async def _exists(self) -> bool:
        if not self._found:
            self._found = await self._client.collection_exists(self.collection)
        return self._found

    @contextmanager
    def _none_if_missing(self) -> Iterator[None]:
        """End the block where the collection is gone: a server that was emptied has no books."""
        try:
            yield
        except CollectionMissing:
            self._found = False

    async def _delete(self, condition: models.Filter) -> None:
        await self._client.delete(self.collection, points_selector=condition, wait=True)


def _point_id(kind: str, name: str) -> str:
    return str(uuid.UUID(bytes=blake2b(f"{kind}/{name}".encode(), digest_size=16).digest()))


def _record_of(point: models.Record) -> BookRecord:
    data = point.payload or {}
    return BookRecord(
        BookId(str(data.get("book"))),
        str(data.get("revision")),
        _generation(data.get("current")),
        _generation(data.get("previous")),
        lease_from_json(data.get("lease")),
        changed if isinstance(changed := data.get("changed"), int) else 0,
        tuple(map(str, earlier)) if isinstance(earlier := data.get("earlier"), list) else (),
    )


def _generation(data: object) -> GenerationRecord | None:
    if not isinstance(data, dict):
        return None
    try:
        key, number, dimension = str(data["key"]), int(data["number"]), int(data["dimension"])
    except (KeyError, TypeError, ValueError) as error:
        message = f"the record of a book is damaged ({error!r}): ingest the book again"
        raise IndexUnreadable(message) from error
    return GenerationRecord(key, number, dimension, data.get("manifest"))
