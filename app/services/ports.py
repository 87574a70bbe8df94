"""Protocols for what leaves the process; owned by the use cases, implemented by adapters.

Every method may raise the errors of `app.domain.errors`, and no other on purpose.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.ledger import Ledger, Located
from app.domain.retrieval.query import (
    Candidates,
    SearchFilter,
    SparseVector,
    Turn,
    Vector,
)


class Embedder(Protocol):
    """Texts to vectors. `model` and `dimension` identify the vector space."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in order; any number of texts (the adapter batches)."""
        ...

    def embed_batches(self, texts: Sequence[str]) -> AsyncIterator[tuple[int, list[Vector]]]:
        """Yield (position of the batch's first text, its vectors) as batches finish.

        Every text gets its vector or an error is raised; batches may come in any order, so that
        the caller can keep each at once.
        """
        ...

    async def embed_query(self, text: str) -> Vector: ...


class ContextEmbedder(Embedder, Protocol):
    """An embedder that gives a vector for each token, and so one of a text within others."""

    async def embed_in_context(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in order, made within all of them as one document."""
        ...


class EmbeddingCache(Protocol):
    """Vectors by (model, dimension, exact text); survives crashes and other generations.

    Where more than a text decides a vector, a key that holds all of it stands for the text.
    """

    async def get(self, model: str, dimension: int, texts: Sequence[str]) -> list[Vector | None]:
        """In the order of `texts`; None where the cache has none."""
        ...

    async def faults(self) -> list[str]:
        """What is wrong with the store, a line each; nothing when there is none yet."""
        ...

    async def missing(self, model: str, dimension: int, texts: Sequence[str]) -> list[str]:
        """The distinct texts that the cache has no vector of, in their order."""
        ...

    async def put(
        self, model: str, dimension: int, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> None: ...


class LedgerStore(Protocol):
    """The ledgers of paragraph ids, one a book."""

    async def load(self, book: BookId) -> Ledger:
        """Return an empty ledger for a book that has none."""
        ...

    async def locate(self, book: BookId, paragraph_id: str) -> Located | None:
        """One id or alias, without reading the rest; None if it was never known."""
        ...

    async def save(self, book: BookId, ledger: Ledger) -> None:
        """Replace the book's ledger in one transaction."""
        ...

    async def revision(self, book: BookId) -> str:
        """Changes when the stored ledger does; "" for a book that has none."""
        ...

    async def faults(self, book: BookId) -> list[str]:
        """What is wrong with the stored ledger, a line each; nothing for a book that has none."""
        ...


class LastRunStore(Protocol):
    """What the last ingest of each book saw and said: only ever a short cut, so it may be lost."""

    async def recall(self, book: BookId) -> str:
        """Return "" when nothing is remembered."""
        ...

    async def remember(self, book: BookId, text: str) -> None:
        """Failing to is not an error."""
        ...


class SparseEncoder(Protocol):
    """Text to BM25 term weights; the index multiplies in the inverse document frequency."""

    def encode_document(self, text: str, language: str) -> SparseVector: ...

    def encode_query(self, text: str, language: str) -> SparseVector: ...

    def terms(self, text: str, language: str) -> list[int]:
        """The ids that `encode_document` counts, in the text's order, repeats kept."""
        ...


@dataclass(frozen=True, slots=True)
class BookManifest:
    """What an index knows of a book's generation."""

    book: BookId
    title: str
    book_version: str
    model: str
    dimension: int
    strategy: str
    site: str
    base_url: str
    language: str
    fingerprint: str
    """Hash of all that decides the chunks and vectors: the same means nothing to do."""
    chunks: int
    tokens: int
    files: int
    created_at: str
    """ISO 8601, UTC."""
    generation: int = 0
    """Given by the index at publication; counts up from 1."""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with a book's index."""

    reason: str
    """For the operator: it may name files."""
    answers: bool = False
    """Whether the generation before answers instead; else the book is left out of everything."""


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """A chunk as it is stored."""

    chunk: Chunk
    dense: Vector
    sparse: SparseVector


class GenerationWriter(Protocol):
    """A new generation of one book, invisible to readers until `publish`."""

    async def write(self, points: Sequence[IndexPoint]) -> None: ...

    async def publish(self, manifest: BookManifest) -> BookManifest:
        """Check the count against the manifest and switch readers over in one step."""
        ...

    async def abandon(self) -> None:
        """Leave nothing behind. Safe to call after `publish`, which it does not undo."""
        ...


class VectorIndex(Protocol):
    """Chunks with a dense and a sparse vector each, in published generations of books.

    What asks several books, or any, leaves out those that cannot be read, which `damaged` names
    then; it raises StorageError when none of them can be.
    """

    async def books(self) -> list[BookManifest]:
        """The generation that answers of each book that can be read, by book id."""
        ...

    async def damaged(self) -> Mapping[BookId, Damage]:
        """The books that are known to be damaged by what was asked so far."""
        ...

    async def begin(self, book: BookId, dimension: int) -> GenerationWriter:
        """Start a generation. IndexBusy when another process is writing this book."""
        ...

    async def chunks(self, book: BookId) -> Mapping[str, tuple[str, ...]]:
        """Of the current generation: chunk id to its paragraph ids. BookNotFound if none."""
        ...

    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        """The best `limit` chunks by each vector that is given; no payload is read."""
        ...

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
        """The best BM25 score that a chunk of these books, or of any, has by each term alone.

        0 for a term that no chunk has.
        """
        ...

    async def fetch(self, book: BookId, chunk_ids: Sequence[str]) -> list[Chunk]:
        """In the order of `chunk_ids`; ids that are not in the index are left out.

        Chunks of the generation before are found too: a question whose search came before a
        switch gets its chunks after it.
        """
        ...

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        """All chunks that the filter leaves, by book, then by chunk id.

        BookNotFound if the filter names a book that there is none of.
        """
        ...

    async def next_chapter(self, book: BookId, chapter: str, position: int) -> int | None:
        """The first position after this one that is of another chapter; None if none follows."""
        ...

    async def find_paragraph(self, paragraph_id: str, book: BookId | None = None) -> Passage | None:
        """The passage with this id, in this book or in any."""
        ...

    async def remove(self, book: BookId) -> None:
        """All generations of the book. BookNotFound if there is none."""
        ...

    async def check(self) -> None:
        """Look at every book, for `damaged`. StorageError if the index cannot answer now."""
        ...


class BookStore(VectorIndex, Protocol):
    """The index as those who keep the books in it see it."""

    async def manifest(self, book: BookId) -> BookManifest | None:
        """Of the current generation. IndexUnreadable if of another version, or damaged."""
        ...

    async def faults(self, book: BookId, *, before: bool = False) -> list[str]:
        """What is wrong with the current generation, or the one before, a line each.

        For the operator. Everything that can be read is compared with what was published.
        BookNotFound if none.
        """
        ...

    async def repair(self, book: BookId) -> BookManifest:
        """Switch readers to the newest generation without faults.

        StorageError when there is none, BookNotFound, IndexBusy while the book is being written.
        """
        ...

    async def rollback(self, book: BookId) -> BookManifest:
        """Switch readers to the generation before; a second rollback switches forth again.

        BookNotFound if there is no such book, InputError if it has only one generation, IndexBusy
        while it is being written.
        """
        ...

    def points(self, book: BookId) -> AsyncIterator[list[IndexPoint]]:
        """All of the current generation in pages, ascending by chunk id. BookNotFound if none.

        Dense vectors come as the store keeps them: scaled to length 1.
        """
        ...


class Reranker(Protocol):
    async def rerank(
        self, question: str, texts: Sequence[str], top_n: int
    ) -> list[tuple[int, float]]:
        """(position in `texts`, relevance 0 to 1) by descending relevance."""
        ...


class QuestionRewriter(Protocol):
    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        """The question as someone would ask it who has not read the history. ProviderError."""
        ...
