"""Compares generations on a server with what was published.

The server does not notice that points were deleted, or that a file was zeroed while it was down: it
answers from what is left.
"""

from __future__ import annotations

import random
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

_SAMPLE = 8
"""Points of a generation that are read in a comparison."""

_SAMPLED = 64
"""Maximum number of generations of which a sample is read at a time."""

_Generations = Mapping[str, BookManifest]
"""By key; all of one dimension."""


async def faults(
    store: ServerStore, which: Sequence[tuple[BookId, GenerationRecord]], *, full: bool = False
) -> dict[str, str]:
    """Return by generation key what is wrong, for the generations that are not intact.

    The server counts the points, and a random sample is read; with `full`, all are read.
    """
    found: dict[str, str] = {}
    by_dimension: dict[int, dict[str, BookManifest]] = defaultdict(dict)
    for book, one in which:
        try:
            manifest = one.read_manifest(f"{store.address} {book}")
            by_dimension[manifest.dimension][one.key] = manifest
        except IndexUnreadable as error:
            found[one.key] = str(error)
    for dimension, generations in by_dimension.items():
        for key, fault in (await _compared(store, dimension, generations, full=full)).items():
            manifest = generations[key]
            where = f"{store.address} {manifest.book} generation {manifest.generation}"
            found[key] = f"{where}: {fault}; ingest the book again"
    return found


async def _compared(
    store: ServerStore, dimension: int, generations: _Generations, *, full: bool
) -> dict[str, str]:
    collection = store.points(dimension)
    try:
        found = await _misread(store, collection, generations)
        found |= await _miscounted(store, collection, generations)
        if full:
            found |= await _altered(store, collection, generations)
    except StorageError as error:  # such as a missing collection
        return dict.fromkeys(generations, str(error))
    return found


async def _miscounted(
    store: ServerStore, collection: str, generations: _Generations
) -> dict[str, str]:
    keys, counts = list(generations), dict[str, int]()
    for start in range(0, len(keys), PAGE):
        some = models.Filter(must=[match_any(GENERATION_FIELD, keys[start : start + PAGE])])
        answer = await store.client.facet(
            collection, GENERATION_FIELD, facet_filter=some, limit=PAGE, exact=True
        )
        counts |= {str(hit.value): hit.count for hit in answer.hits}
    return {
        key: f"it has {counts.get(key, 0)} of {one.chunks} chunks"
        for key, one in generations.items()
        if counts.get(key, 0) != one.chunks
    }


async def _misread(
    store: ServerStore, collection: str, generations: _Generations
) -> dict[str, str]:
    """Read a sample of each generation; of many generations, a random choice."""
    keys = random.sample(list(generations), min(len(generations), _SAMPLED))
    requests = [
        models.QueryRequest(
            query=models.SampleQuery(sample=models.Sample.RANDOM),
            filter=condition_of({key: generations[key].book}),
            limit=_SAMPLE,
            with_payload=True,
            with_vector=True,
        )
        for key in keys
    ]
    answers = await store.client.query_batch_points(collection, requests)
    return {
        key: "chunks read back differ from what was published"
        for key, answer in zip(keys, answers, strict=True)
        if not (answer.points and all(map(_is_intact, answer.points)))
    }


async def _altered(
    store: ServerStore, collection: str, generations: _Generations
) -> dict[str, str]:
    found = {}
    for key, one in generations.items():
        records = store.scroll(collection, condition_of({key: one.book}), vectors=True)
        if altered := sum([not _is_intact(record) async for record in records]):
            found[key] = f"{altered} of {one.chunks} chunks differ from what was published"
    return found


def _is_intact(record: models.Record | models.ScoredPoint) -> bool:
    """Whether the point has the checksum that is in its payload."""
    payload = record.payload or {}
    try:
        return bool(payload[CHECKSUM_FIELD] == checksum(index_point(payload, record.vector)))
    except (IndexUnreadable, AttributeError, KeyError, TypeError):
        return False
