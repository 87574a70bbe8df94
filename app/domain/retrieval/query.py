"""What a search asks for and what an index gives back."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind

Vector: TypeAlias = "array[float]"
"""A dense vector: float32 values, typecode "f"."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights: `indices` are unsigned 32-bit term ids, ascending, without repeats."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


class SearchMode(StrEnum):
    DENSE = "dense"
    SPARSE = "sparse"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which chunks may answer; an empty tuple means no restriction. Fields are combined by AND."""

    books: tuple[BookId, ...] = ()
    files: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()
    content_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    """By their keys, see `app.domain.links.page_key`."""
    kinds: tuple[BlockKind, ...] = ()
    """Chunks that hold a passage of one of these."""
    paragraph_ids: tuple[str, ...] = ()
    """Chunks that hold one of these paragraphs, or a part of it."""
    max_position: int | None = None
    """Nothing from documents after this place in the reading order."""


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


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found. `score` is the fused (or reranked) one, 0 to 1."""

    chunk: Chunk
    score: float
    dense_score: float | None = None
    sparse_score: float | None = None


@dataclass(frozen=True, slots=True)
class ContextPassage:
    """A paragraph in the assembled context: each source character at most once."""

    passage: Passage
    book: BookId
    file: str
    chapter: str
    section: str
    score: float
    """The best score of the hits that brought it."""
    chunk_ids: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation so far."""

    role: str
    """"user" or "assistant"."""
    content: str


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question as the use cases take it."""

    question: str
    k: int = 5
    mode: SearchMode = SearchMode.HYBRID
    filter: SearchFilter = field(default_factory=SearchFilter)
    history: Sequence[Turn] = ()
    rewrite: bool = True
    """Whether a model may be asked to make the question one that stands alone."""
    rerank: bool = True
    page_url: str = ""
    """The page the reader is on: preferred, but never to the exclusion of a better answer."""
