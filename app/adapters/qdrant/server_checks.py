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
from app.adapters.qdrant.server_records import StoredGeneration
from app.adapters.qdrant.server_store import GENERATION_FIELD, ServerStore, match_any
from app.domain.errors import IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest


async def missing_points(
    store: ServerStore, generations: Sequence[StoredGeneration]
) -> dict[str, str]:
    """Count the points; return the faults of the generations that lack some, by key."""
    found: dict[str, str] = {}
    by_dimension: dict[int, list[StoredGeneration]] = defaultdict(list)
    for one in generations:
        by_dimension[one.manifest.dimension].append(one)
    for dimension, some in by_dimension.items():
        try:
            counts = await _counts(store, store.points(dimension), [one.key for one in some])
        except StorageError as error:  # such as a missing collection
            found |= {one.key: str(error) for one in some}
            continue
        for one in some:
            count, chunks = counts.get(one.key, 0), one.manifest.chunks
            if count != chunks:
                found[one.key] = _fault(store, one.manifest, f"it has {count} of {chunks} chunks")
    return found


async def damage(store: ServerStore, generation: StoredGeneration) -> str:
    """Read every point of a generation; return what is wrong, or ""."""
    manifest = generation.manifest
    condition = condition_of({generation.key: manifest.book})
    try:
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
    some = models.Filter(must=[match_any(GENERATION_FIELD, keys)])
    answer = await store.client.facet(
        collection, GENERATION_FIELD, facet_filter=some, limit=len(keys), exact=True
    )
    return {str(hit.value): hit.count for hit in answer.hits}


def _is_intact(record: models.Record) -> bool:
    """Whether the point has the checksum that is in its payload."""
    payload = record.payload or {}
    try:
        return bool(payload[CHECKSUM_FIELD] == checksum(index_point(payload, record.vector)))
    except (IndexUnreadable, AttributeError, KeyError, TypeError):
        return False
