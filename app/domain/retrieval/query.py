"""Search queries and results."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.fast_dataclass import fast_dataclass

Vector: TypeAlias = "array[float]"
"""A dense vector: float32 values, typecode "f"."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights: `indices` are unsigned 32-bit term ids, ascending, without repeats."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Restricts the chunks searched. Fields are combined by AND; an empty tuple allows all."""

    books: tuple[BookId, ...] = ()
    files: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    """Page keys, see `app.domain.links.page_key`."""
    kinds: tuple[BlockKind, ...] = ()
    """Chunks with a passage of one of these kinds."""
    paragraph_ids: tuple[str, ...] = ()
    """Chunks with one of these paragraphs or a part of it."""
    max_position: int | None = None
    """Only documents up to this position in the reading order."""


@fast_dataclass(frozen=True, slots=True)
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


@fast_dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk. `score` is the fused or reranked score, 0 to 1."""

    chunk: Chunk
    score: float
    dense_score: float | None = None
    sparse_score: float | None = None


@fast_dataclass(frozen=True, slots=True)
class ContextPassage:
    """A paragraph in the assembled context, where each source character occurs at most once."""

    passage: Passage
    chunk: Chunk
    """A chunk with it; all are of the same book, file and chapter."""
    section: str
    score: float
    """Best score of the hits it comes from."""
    tokens: int

    @property
    def book(self) -> BookId:
        return self.chunk.book

    @property
    def file(self) -> str:
        return self.chunk.file


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation."""

    role: str
    """"user" or "assistant"."""
    content: str


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question with its search options."""

    question: str
    k: int = 5
    filter: SearchFilter = field(default_factory=SearchFilter)
    history: Sequence[Turn] = ()
    rewrite: bool = True
    """Whether a model may rewrite a follow-up as a standalone question."""
