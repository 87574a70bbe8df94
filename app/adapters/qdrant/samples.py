"""Checks of a new generation before it is published: its count, and a sample of its points."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.domain.retrieval.query import Candidates, ScoredId, Vector
from app.services.ports import IndexPoint

_SIZE = 8
LIMIT = 10
"""Hits of each search; they must include the chunk itself or a duplicate."""

_DUPLICATE_SCORE = 0.999
"""Minimum dense score of the chunk itself or a duplicate."""


def check_count(book: BookId, found: int, expected: int) -> None:
    """StorageError unless the new generation has as many chunks as the book."""
    if found != expected:
        message = (
            f"book {book!r}: {found} chunks are in the new index, but the book has "
            f"{expected}: not published"
        )
        raise StorageError(message)


@dataclass(slots=True)
class Samples:
    """A uniform random sample of all written points (reservoir sampling, Vitter 1985)."""

    points: list[IndexPoint] = field(default_factory=list)
    _offered: int = 0
    _random: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311

    def offer(self, points: Sequence[IndexPoint]) -> None:
        for point in points:
            self._offered += 1
            if len(self.points) < _SIZE:
                self.points.append(point)
            elif (place := self._random.randrange(self._offered)) < _SIZE:
                self.points[place] = point

    @property
    def ids(self) -> list[str]:
        return [point.chunk.chunk_id for point in self.points]

    def check_stored(self, where: str, stored: Mapping[str, IndexPoint]) -> None:
        """StorageError unless each sample reads back as it was written."""
        for point in self.points:
            got = stored.get(point.chunk.chunk_id)
            if got is None or got.chunk != point.chunk or not _parallel(point.dense, got.dense):
                message = f"{where}: a chunk read back differs from what was written: not published"
                raise StorageError(message)

    def check_found(self, where: str, found: Sequence[Candidates]) -> None:
        """StorageError if a search for its own vectors misses more than half of the samples.

        `found` has the hits of each sample. Some may be missed: in large books the dense search is
        approximate.
        """
        missed = sum(
            not (_found(point, hits.dense, dense=True) and _found(point, hits.sparse, dense=False))
            for point, hits in zip(self.points, found, strict=True)
        )
        if missed * 2 > len(self.points):
            message = (
                f"{where}: {missed} of {len(self.points)} chunks are not found by their own text: "
                "not published"
            )
            raise StorageError(message)


def _found(point: IndexPoint, hits: Sequence[ScoredId], *, dense: bool) -> bool:
    if not (any(point.dense) if dense else point.sparse.indices):
        return True  # it has no vector to search with
    if any(hit.chunk_id == point.chunk.chunk_id for hit in hits):
        return True
    return bool(hits) and (hits[0].score >= _DUPLICATE_SCORE if dense else len(hits) == LIMIT)


def _parallel(a: Vector, b: Vector) -> bool:
    """Whether the vectors have the same direction: the store normalises them to length 1."""
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    if not lengths:
        return not any(a) and not any(b)
    return len(a) == len(b) and sum(map(float.__mul__, a, b)) / lengths > 1 - 1e-5
