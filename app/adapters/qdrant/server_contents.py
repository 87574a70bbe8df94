"""Compares generations on a server with the records of their contents.

The server does not notice that points were deleted, or that a file was zeroed while it was down: it
answers from what is left.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.contents import Contents, ContentsCounter, checksum
from app.adapters.qdrant.payload import index_point
from app.adapters.qdrant.server_points import CHECKSUM_FIELD, Scope, condition_of, scroll
from app.adapters.qdrant.server_records import GenerationRecord, Records
from app.adapters.qdrant.server_schema import GENERATION_FIELD, PAGE, SEARCHES, Schema, match_any
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, StorageError
from app.domain.indexed_book import IndexPoint

SAMPLE = 8
"""Points of a generation that are read in a comparison."""


class StoredGenerations:
    """The generations of all books in the collections of one prefix."""

    def __init__(self, client: AsyncQdrantClient, schema: Schema, records: Records) -> None:
        """No request is sent yet."""
        self._client = client
        self._schema = schema
        self._records = records

    async def faults(
        self, which: Sequence[tuple[BookId, GenerationRecord]], *, full: bool = False
    ) -> dict[str, str]:
        """Return by generation key what is wrong, for the generations that are not intact.

        The server counts the points, and a random sample is read; with `full`, all are read.
        """
        scopes: dict[int, dict[str, BookId]] = defaultdict(dict)
        expected = await self._records.read_contents([one.key for _, one in which])
        found = {}
        for book, one in which:
            if one.key in expected:
                scopes[one.dimension][one.key] = book
            else:
                found[one.key] = "the record of its chunks is missing or damaged"
        for dimension, scope in scopes.items():
            collection = self._schema.points(dimension)
            try:
                found |= await self._miscounted(collection, scope, expected)
                found |= await self._misread(collection, scope)
                if full:
                    found |= await self._altered(collection, scope, expected)
            except StorageError as error:  # such as a missing collection
                found |= dict.fromkeys(scope, str(error))
        return found

    async def _miscounted(
        self, collection: str, scope: Scope, expected: Mapping[str, Contents]
    ) -> dict[str, str]:
        counts = await self._counts(collection, scope, GENERATION_FIELD, list(scope))
        return {
            key: await self._missing(collection, {key: book}, expected[key])
            for key, book in scope.items()
            if counts.get(key, 0) != expected[key].chunks
        }

    async def _missing(self, collection: str, scope: Scope, expected: Contents) -> str:
        """Name the first file that lacks chunks."""
        files = expected.files
        counts = await self._counts(collection, scope, "file", list(files))
        lacking = [file for file in files if counts.get(file, 0) < files[file]]
        if not lacking:
            return f"it has more than its {expected.chunks} chunks"
        more = f", and {len(lacking) - 1} more files lack some" if len(lacking) > 1 else ""
        file = min(lacking)
        return f"{file} has {counts.get(file, 0)} of {files[file]} chunks{more}"

    async def _counts(
        self, collection: str, scope: Scope, name: str, values: Sequence[str]
    ) -> dict[str, int]:
        """Count the points of the generations by these values of a payload field."""
        counts: dict[str, int] = {}
        for start in range(0, len(values), PAGE):
            some = values[start : start + PAGE]
            must = [condition_of(scope), match_any(name, some)]
            answer = await self._client.facet(
                collection, name, facet_filter=models.Filter(must=must), limit=PAGE, exact=True
            )
            counts |= {str(hit.value): hit.count for hit in answer.hits}
        return counts

    async def _misread(self, collection: str, scope: Scope) -> dict[str, str]:
        """Read a sample of each generation; of many generations, a random choice."""
        keys = random.sample(list(scope), min(len(scope), SEARCHES))
        requests = [
            models.QueryRequest(
                query=models.SampleQuery(sample=models.Sample.RANDOM),
                filter=condition_of({key: scope[key]}),
                limit=SAMPLE,
                with_payload=True,
                with_vector=True,
            )
            for key in keys
        ]
        answers = await self._client.query_batch_points(collection, requests)
        return {
            key: "chunks read back differ from what was published"
            for key, answer in zip(keys, answers, strict=True)
            if not (answer.points and all(map(_intact, answer.points)))
        }

    async def _altered(
        self, collection: str, scope: Scope, expected: Mapping[str, Contents]
    ) -> dict[str, str]:
        found = {}
        for key, book in scope.items():
            counter, altered = ContentsCounter(), 0
            condition = condition_of({key: book})
            async for record in scroll(self._client, collection, condition, True, vectors=True):
                if point := _intact(record):
                    counter.add(point)
                else:
                    altered += 1
            if counter.result() != expected[key]:
                found[key] = (
                    f"{altered} of {expected[key].chunks} chunks differ from what was published"
                )
        return found


def _intact(record: models.Record | models.ScoredPoint) -> IndexPoint | None:
    """Return the point if it has its checksum; else None."""
    try:
        point = index_point(record.payload, record.vector)
    except (IndexUnreadable, AttributeError, KeyError, TypeError):
        return None
    return point if (record.payload or {}).get(CHECKSUM_FIELD) == checksum(point) else None
