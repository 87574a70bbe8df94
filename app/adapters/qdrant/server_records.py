"""What a server holds about books: a record each, and the document frequencies of generations.

Both are points without vectors in the collection `<prefix>~books`. A record is replaced only if it
still has the revision that was read, which the server checks in the same step. So of two writers
one wins, and whatever one write changes, readers see at once.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.frequencies import Frequencies
from app.adapters.qdrant.server_errors import server_errors
from app.adapters.qdrant.server_lease import Lease, lease_from_json
from app.adapters.qdrant.server_options import PAGE
from app.adapters.qdrant.server_schema import match_any
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import IndexUnreadable

BOOK, FREQUENCIES = "book", "frequencies"


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    key: str
    """Random, so that no two attempts to write a book share a generation's points."""
    number: int
    dimension: int
    manifest: object
    """JSON, as `manifest_from_json` reads it."""


@dataclass(frozen=True, slots=True)
class BookRecord:
    book: BookId
    revision: str = ""
    """Random, another one at each write; "" for a record that is not stored yet."""
    current: GenerationRecord | None = None
    previous: GenerationRecord | None = None
    lease: Lease | None = None

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
        """The book's record, or a new one. StorageError."""
        if not await self._exists():
            return BookRecord(BookId(book))
        with server_errors(self.address):
            found = await self._client.retrieve(
                self.collection, [_point_id(BOOK, book)], with_payload=True
            )
        return _record(found[0].payload) if found else BookRecord(BookId(book))

    async def all(self) -> list[BookRecord]:
        """Every record, sorted by book; none if nothing was ever written."""
        records: list[BookRecord] = []
        if not await self._exists():
            return records
        offset = None
        while True:
            with server_errors(self.address):
                page, offset = await self._client.scroll(
                    self.collection,
                    scroll_filter=models.Filter(must=[match_any("kind", [BOOK])]),
                    limit=PAGE,
                    offset=offset,
                    with_payload=True,
                )
            records += [_record(one.payload) for one in page if _is_record(one.payload)]
            if offset is None:
                return sorted(records, key=lambda record: record.book)

    async def replace(self, old: BookRecord, new: BookRecord) -> BookRecord | None:
        """Write `new` in the place of `old`; None if another process wrote the record meanwhile."""
        new = replace(new, revision=secrets.token_hex(8))
        point = models.PointStruct(
            id=_point_id(BOOK, new.book), vector={}, payload=_record_payload(new)
        )
        with server_errors(self.address):
            await self._client.upsert(
                self.collection,
                points=[point],
                wait=True,
                ordering=models.WriteOrdering.STRONG,
                update_filter=models.Filter(must=[match_any("revision", [old.revision])]),
            )
        return new if (await self.read(new.book)).revision == new.revision else None

    async def delete(self, record: BookRecord) -> None:
        """Delete the record unless another process has written it since."""
        await self._delete(
            models.Filter(
                must=[
                    match_any("kind", [BOOK]),
                    match_any("book", [record.book]),
                    match_any("revision", [record.revision]),
                ]
            )
        )

    async def write_frequencies(self, book: BookId, key: str, found: Frequencies) -> None:
        payload = {
            "kind": FREQUENCIES,
            "book": book,
            "generation": key,
            "frequencies": found.to_text(),
        }
        point = models.PointStruct(id=_point_id(FREQUENCIES, key), vector={}, payload=payload)
        with server_errors(self.address):
            await self._client.upsert(self.collection, points=[point], wait=True)

    async def read_frequencies(self, keys: Sequence[str]) -> dict[str, Frequencies]:
        """Document frequencies by generation. IndexUnreadable if one is missing or damaged."""
        found: dict[str, Frequencies] = {}
        for start in range(0, len(keys), PAGE):
            asked = keys[start : start + PAGE]
            with server_errors(self.address):
                records = await self._client.retrieve(
                    self.collection,
                    [_point_id(FREQUENCIES, key) for key in asked],
                    with_payload=["generation", "frequencies"],
                )
            for record in records:
                payload = record.payload or {}
                where = f"{self.address} {payload.get('generation')}"
                found[str(payload.get("generation"))] = Frequencies.from_text(
                    payload.get("frequencies"), where
                )
        return found

    async def delete_frequencies(self, which: models.Filter) -> None:
        """Delete those of the generations that match, by the fields `book` and `generation`."""
        await self._delete(models.Filter(must=[which, match_any("kind", [FREQUENCIES])]))

    async def _exists(self) -> bool:
        if not self._found:
            with server_errors(self.address):
                self._found = await self._client.collection_exists(self.collection)
        return self._found

    async def _delete(self, condition: models.Filter) -> None:
        with server_errors(self.address):
            await self._client.delete(
                self.collection,
                points_selector=models.FilterSelector(filter=condition),
                wait=True,
            )


def _point_id(kind: str, name: str) -> str:
    return str(uuid.UUID(bytes=blake2b(f"{kind}/{name}".encode(), digest_size=16).digest()))


def _record_payload(record: BookRecord) -> dict[str, object]:
    return {
        "kind": BOOK,
        "book": record.book,
        "revision": record.revision,
        "current": _generation_payload(record.current),
        "previous": _generation_payload(record.previous),
        "lease": record.lease.to_json() if record.lease else None,
    }


def _generation_payload(one: GenerationRecord | None) -> dict[str, object] | None:
    if one is None:
        return None
    return {
        "key": one.key,
        "number": one.number,
        "dimension": one.dimension,
        "manifest": one.manifest,
    }


def _is_record(payload: dict[str, object] | None) -> bool:
    return is_book_id(str((payload or {}).get("book")))


def _record(payload: dict[str, object] | None) -> BookRecord:
    data = payload or {}
    return BookRecord(
        BookId(str(data.get("book"))),
        str(data.get("revision")),
        _generation(data.get("current")),
        _generation(data.get("previous")),
        lease_from_json(data.get("lease")),
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
