"""Compares generations on a server with what was published.

The server does not notice that points were deleted, or that a file was zeroed while it was down: it
answers from what is left.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.payload import index_point
from app.adapters.qdrant.server_collections import (
    GENERATION_FIELD,
    PAGE,
    Collections,
    match_any,
)
from app.adapters.qdrant.server_points import CHECKSUM_FIELD, checksum, condition_of, scroll
from app.adapters.qdrant.server_records import GenerationRecord
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest

_SAMPLE = 8
"""Points of a generation that are read in a comparison."""

_SAMPLED = 64
"""Maximum number of generations of which a sample is read at a time."""


_Generations = Mapping[str, BookManifest]
"""By key; all of one dimension."""


class GenerationChecks:
    """Checks the generations of all books of one prefix."""

    def __init__(self, client: AsyncQdrantClient, collections: Collections, address: str) -> None:
        """No request is sent yet; `address` is used in messages."""
        self._client = client
        self._collections = collections
        self._address = address

    async def faults(
        self, which: Sequence[tuple[BookId, GenerationRecord]], *, full: bool = False
    ) -> dict[str, str]:
        """Return by generation key what is wrong, for the generations that are not intact.

        The server counts the points, and a random sample is read; with `full`, all are read.
        """
        by_dimension: dict[int, dict[str, BookManifest]] = defaultdict(dict)
        found = {}
        for book, one in which:
            try:
                manifest = one.read_manifest(f"{self._address} {book}")
            except IndexUnreadable as error:
                found[one.key] = str(error)
                continue
            by_dimension[manifest.dimension][one.key] = manifest
        where = {one.key: f"{self._address} {book} generation {one.number}" for book, one in which}
        for dimension, generations in by_dimension.items():
            faults = await self._compared(dimension, generations, full=full)
            found |= {
                key: f"{where[key]}: {fault}; ingest the book again"
                for key, fault in faults.items()
            }
        return found

    async def _compared(
        self, dimension: int, generations: _Generations, *, full: bool
    ) -> dict[str, str]:
        collection = self._collections.points(dimension)
        try:
            found = await self._misread(collection, generations)
            found |= await self._miscounted(collection, generations)
            if full:
                found |= await self._altered(collection, generations)
        except StorageError as error:  # such as a missing collection
            return dict.fromkeys(generations, str(error))
        return found

    async def _miscounted(self, collection: str, generations: _Generations) -> dict[str, str]:
        keys, counts = list(generations), dict[str, int]()
        for start in range(0, len(keys), PAGE):
            some = models.Filter(must=[match_any(GENERATION_FIELD, keys[start : start + PAGE])])
            answer = await self._client.facet(
                collection, GENERATION_FIELD, facet_filter=some, limit=PAGE, exact=True
            )
            counts |= {str(hit.value): hit.count for hit in answer.hits}
        return {
            key: f"it has {counts.get(key, 0)} of {one.chunks} chunks"
            for key, one in generations.items()
            if counts.get(key, 0) != one.chunks
        }

    async def _misread(self, collection: str, generations: _Generations) -> dict[str, str]:
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
        answers = await self._client.query_batch_points(collection, requests)
        return {
            key: "chunks read back differ from what was published"
            for key, answer in zip(keys, answers, strict=True)
            if not (answer.points and all(map(_is_intact, answer.points)))
        }

    async def _altered(self, collection: str, generations: _Generations) -> dict[str, str]:
        found = {}
        for key, one in generations.items():
            records = scroll(
                self._client, collection, condition_of({key: one.book}), True, vectors=True
            )
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
