"""Protocols of the index, the models and the stores of an ingest, implemented by the adapters.

Every method raises only errors of `app.domain.errors`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.cost import Tariff
from app.domain.generated_text.model_text import GeneratorEvent
from app.domain.indexed_book import BookList, BookManifest, Damage, IndexPoint, Snapshot
from app.domain.ledger import Entry, Ledger
from app.domain.retrieval.query import (
    Candidates,
    ContextPassage,
    SearchFilter,
    SparseVector,
    Turn,
    Vector,
)

EmbedInContext: TypeAlias = Callable[[Sequence[str]], Awaitable[list[Vector]]]
"""Returns one vector for each text, embedded together as one document, for late chunking."""


class Embedder(Protocol):
    """Embeds questions and texts. Vectors of one `space` and `dimension` are comparable."""

    @property
    def space(self) -> str:
        """The name of the vector space: the model's, or that of several models that share one."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def tariff(self) -> Tariff: ...

    @property
    def multilingual(self) -> bool:
        """Whether questions and texts of all languages are near each other."""
        ...

    @property
    def embed_in_context(self) -> EmbedInContext | None:
        """None for a model without token vectors: it cannot be used with late chunking."""
        ...

    async def embed_query(self, text: str) -> Vector: ...

    def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        """Yield the vectors of the texts in order, batch by batch.

        Every text gets its vector, or an error is raised.
        """
        ...


class EmbeddingCache(Protocol):
    """Vectors by (model, dimension, exact text); they survive crashes and new generations.

    If a vector depends on more than its text, the key names everything it depends on instead of the
    text.
    """

    async def get(self, model: str, dimension: int, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors in the order of `texts`; None for one that is missing."""
        ...

    async def put(
        self, model: str, dimension: int, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> None: ...


class LedgerStore(Protocol):
    """The ledgers of paragraph ids, one for each book."""

    async def load(self, book: BookId) -> Ledger:
        """Return an empty ledger for a book that has none."""
        ...

    async def locate(self, book: BookId, paragraph_id: str) -> tuple[Entry, Entry | None] | None:
        """Look up one id or alias without reading the whole ledger; None if it is unknown."""
        ...

    async def save(self, book: BookId, ledger: Ledger) -> None:
        """Replace the book's ledger in one transaction."""
        ...

    async def faults(self, book: BookId) -> list[str]:
        """Return the faults of the stored ledger, one line each; none for a book that has none."""
        ...


class GenerationWriter(Protocol):
    """A new generation of one book, invisible to readers until `publish`."""

    async def write(self, points: Sequence[IndexPoint]) -> None: ...

    async def publish(self, manifest: BookManifest) -> BookManifest:
        """Compare the number of points with the manifest and switch readers in one step."""
        ...

    async def abandon(self) -> None:
        """Delete the generation. Does nothing after `publish`."""
        ...


class VectorIndex(Protocol):
    """Chunks with a dense and a sparse vector each, in published generations of books.

    Operations on several books leave out those that cannot be read, which `damaged` then names.
    They raise StorageError if none of the books can be read.
    """

    async def books(self) -> BookList:
        """Return the readable books: the same object until one of them changes."""
        ...

    async def damaged(self) -> Mapping[BookId, Damage]:
        """Return the damaged books known so far."""
        ...

    async def search(
        self, dense: Vector | None, sparse: SparseVector | None, limit: int, filter: SearchFilter
    ) -> Candidates:
        """Return the best `limit` chunks for each given vector; no payload is read."""
        ...

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId]) -> list[float]:
        """Return for each term alone the best BM25 score of a chunk of these books, or of all.

        0 for a term that is in no chunk.
        """
        ...

    async def fetch(self, wanted: Mapping[BookId, Sequence[str]]) -> list[Chunk]:
        """Return chunks of several books by their ids, in the order asked; unknown ids are left
        out.

        Chunks of the previous generation are found too, for questions that searched before a
        switch.
        """
        ...

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        """Return all chunks that match the filter, by book, then by chunk id.

        BookNotFound if the filter names a book that is not indexed.
        """
        ...


class BookStore(VectorIndex, Protocol):
    """The index for the operator's commands and for ingests."""

    async def snapshot(self, book: BookId) -> Snapshot:
        """Return the current generation to read. Raises BookNotFound, StorageError."""
        ...

    async def begin(self, book: BookId, dimension: int) -> GenerationWriter:
        """Start a generation. IndexBusy if another process is writing this book."""
        ...

    async def remove(self, book: BookId) -> None:
        """Remove all generations of the book. BookNotFound if there is none."""
        ...

    async def check(self) -> None:
        """Check every book and record the damage. StorageError if the index is unavailable."""
        ...

    async def faults(self, book: BookId, *, previous: bool = False) -> list[str]:
        """Return the faults of the current or the previous generation, one line each.

        All that is stored is compared with what was published. BookNotFound if there is no such
        book.
        """
        ...

    async def rollback(self, book: BookId) -> BookManifest:
        """Switch readers to the previous generation; a second rollback switches back.

        BookNotFound if there is no such book, InputError if it has only one generation, IndexBusy
        while it is being written.
        """
        ...


class RelevanceModel(Protocol):
    """Scores how relevant texts are to a question."""

    def reads(self, asked_in: str, language: str) -> bool:
        """Whether the model understands questions in `asked_in` about books in `language`."""
        ...

    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return the relevance of each text, 0 to 1; None if there was no time to read it.

        They are read in this order. Raises ProviderError.
        """
        ...


class Reranker(RelevanceModel, Protocol):
    @property
    def calibrated(self) -> bool:
        """Whether one threshold of the relevance holds for all questions."""
        ...

    @property
    def reads_paragraphs(self) -> bool:
        """Whether it is given paragraphs instead of chunks."""
        ...


class QuestionRewriter(Protocol):
    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        """Return the question, rewritten to be understood without the history.

        Raises ProviderError.
        """
        ...


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """What an answer is written from."""

    question: str
    """The question; text that the reader selected is quoted in it."""
    history: Sequence[Turn]
    context: Sequence[ContextPassage]
    """The paragraphs in reading order."""


class Generator(Protocol):
    """Writes an answer from paragraphs given as documents."""

    @property
    def model(self) -> str: ...

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield text and citations in any order, then exactly one GeneratedEnd.

        If the context has no answer, there is no text and `finish_reason` is NO_ANSWER.
        Closing it ends the generation. Raises ProviderError.
        """
        ...
