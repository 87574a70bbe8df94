"""Filters of a search, its results, and the fusion of dense and sparse ones into one ranking."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind

Vector: TypeAlias = "array[float]"
"""A dense vector: float32 values, typecode "f"."""


DENSE_WEIGHT = 0.3
"""For the static local model; results on the development sets are flat from 0.2 to 0.4."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights: `indices` are unsigned 32-bit term ids, ascending, without repeats."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


def blend(question: SparseVector, background: Iterable[tuple[SparseVector, float]]) -> SparseVector:
    """Add background terms, each with its highest weight; the question's own terms keep theirs."""
    weights: dict[int, float] = {}
    for vector, weight in background:
        for term, value in zip(vector.indices, vector.values, strict=True):
            weights[term] = max(weights.get(term, 0.0), weight * value)
    weights.update(zip(question.indices, question.values, strict=True))
    terms = sorted(weights)
    return SparseVector(tuple(terms), tuple(weights[term] for term in terms))


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Restricts the chunks searched. Fields are combined by AND; an empty tuple allows all."""

    books: tuple[BookId, ...] = ()
    files: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    """Page keys, see `app.domain.urls.page_key`."""
    kinds: tuple[BlockKind, ...] = ()
    """Chunks with a passage of one of these kinds."""
    paragraph_ids: tuple[str, ...] = ()
    """Chunks with one of these paragraphs or a part of it."""
    max_position: int | None = None
    """Only documents up to this position in the reading order."""


@dataclass(frozen=True, slots=True)
class ScoredId:
    book: BookId
    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """The two result lists of one search, each by descending score; either may be empty."""

    dense: tuple[ScoredId, ...] = ()
    """Cosine similarity, -1 to 1."""
    sparse: tuple[ScoredId, ...] = ()
    """BM25 score, 0 upwards."""

    @classmethod
    def best(cls, found: Sequence[Candidates], limit: int) -> Candidates:
        """Merge results; keep the best `limit` hits of each list, ties by book and chunk id."""

        def ranked(hits: Iterable[ScoredId]) -> tuple[ScoredId, ...]:
            return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.book, hit.chunk_id))[:limit])

        return cls(
            ranked(hit for one in found for hit in one.dense),
            ranked(hit for one in found for hit in one.sparse),
        )


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its fused score and its raw score in each list, None if absent."""

    book: BookId
    chunk_id: str
    score: float
    dense: float | None
    sparse: float | None


def fuse(candidates: Candidates) -> list[Fused]:
    """Return the union of both lists by descending fused score.

        w * minmax(dense) + (1 - w) * sparse / max(sparse)

    Scores are from 0 to 1 and ties are broken by (book, chunk_id), so the order is deterministic.
    If one list is empty, the other one has all the weight.
    """
    dense = {(one.book, one.chunk_id): one.score for one in candidates.dense}
    sparse = {(one.book, one.chunk_id): one.score for one in candidates.sparse}
    dense_weight = DENSE_WEIGHT if dense and sparse else float(bool(dense))
    low, top = min(dense.values(), default=0.0), max(sparse.values(), default=0.0)
    width = max(dense.values(), default=0.0) - low
    fused = []
    for key in dense | sparse:
        by_dense, by_sparse = dense.get(key), sparse.get(key)
        score = 0.0
        if by_dense is not None:
            score += dense_weight * ((by_dense - low) / width if width else 1.0)
        if by_sparse is not None and top > 0:
            score += (1 - dense_weight) * max(0.0, by_sparse / top)
        fused.append(Fused(*key, score, by_dense, by_sparse))
    return sorted(fused, key=lambda found: (-found.score, found.book, found.chunk_id))


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk. `score` is the fused or reranked score, 0 to 1."""

    chunk: Chunk
    score: float
    dense_score: float | None = None
    sparse_score: float | None = None


@dataclass(frozen=True, slots=True)
class ContextPassage:
    """A paragraph in the assembled context, where each source character occurs at most once."""

    passage: Passage
    chunk: Chunk
    """A chunk with it; all are of the same book, file and chapter."""
    score: float
    """Best score of the hits it comes from."""
    tokens: int

    @property
    def section(self) -> str:
        return self.passage.heading_path[-1] if self.passage.heading_path else self.chunk.section

    @property
    def book(self) -> BookId:
        return self.chunk.book

    @property
    def file(self) -> str:
        return self.chunk.file


@dataclass(frozen=True, slots=True)
class Turn:
    role: Literal["user", "assistant"]
    content: str
