"""Compares generations on a server with what was published.

The server does not notice that points were deleted, or that a file was zeroed while it was down: it
answers from what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from qdrant_client import models

from app.adapters.qdrant.payload import index_point
from app.adapters.qdrant.server_points import CHECKSUM_FIELD, checksum, condition_of
from app.adapters.qdrant.server_records import GenerationRecord
from app.adapters.qdrant.server_store import GENERATION_FIELD, PAGE, ServerStore, match_any
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest


async def missing_points(
    store: ServerStore, which: Sequence[tuple[BookId, GenerationRecord]]
) -> dict[str, str]:
    """Count the points; return by generation key what is wrong, for those that lack some."""
    found: dict[str, str] = {}
    by_dimension: dict[int, dict[str, BookManifest]] = defaultdict(dict)
    for book, one in which:
        try:
            manifest = one.read_manifest(f"{store.address} {book}")
            by_dimension[manifest.dimension][one.key] = manifest
        except IndexUnreadable as error:
            found[one.key] = str(error)
    for dimension, generations in by_dimension.items():
        try:
            counts = await _counts(store, store.points(dimension), list(generations))
        except StorageError as error:  # such as a missing collection
            found |= dict.fromkeys(generations, str(error))
            continue
        for key, manifest in generations.items():
            if (count := counts.get(key, 0)) != manifest.chunks:
                found[key] = _fault(store, manifest, f"it has {count} of {manifest.chunks} chunks")
    return found


async def damage(store: ServerStore, book: BookId, generation: GenerationRecord) -> str:
    """Read every point of a generation; return what is wrong, or ""."""
    try:
        manifest = generation.read_manifest(f"{store.address} {book}")
        condition = condition_of({generation.key: book})
        records = store.scroll(store.points(manifest.dimension), condition, vectors=True)
        intact = sum([_is_intact(record) async for record in records])
    except StorageError as error:
        return str(error)
    if intact == manifest.chunks:
        return ""
    return _fault(store, manifest, f"it has {intact} of {manifest.chunks} chunks as published")


def _fault(store: ServerStore, manifest: BookManifest, fault: str) -> str:
    where = f"{store.address} {manifest.book} generation {manifest.generation}"
    return f"{where}: {fault}; ingest the book again"


async def _counts(store: ServerStore, collection: str, keys: Sequence[str]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for start in range(0, len(keys), PAGE):
        some = models.Filter(must=[match_any(GENERATION_FIELD, keys[start : start + PAGE])])
        answer = await store.client.facet(
            collection, GENERATION_FIELD, facet_filter=some, limit=PAGE, exact=True
        )
        counts |= {str(hit.value): hit.count for hit in answer.hits}
    return counts


def _is_intact(record: models.Record) -> bool:
    """Whether the point has the checksum that is in its payload."""
    payload = record.payload or {}
    try:
        return bool(payload[CHECKSUM_FIELD] == checksum(index_point(payload, record.vector)))
    except (IndexUnreadable, AttributeError, KeyError, TypeError):
        return False
