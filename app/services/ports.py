"""Protocols of the index, the models and the stores of an ingest, implemented by the adapters.

Every method raises only errors of `app.domain.errors`.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.ledger import Ledger, Located
from app.domain.retrieval.query import (
    Candidates,
    SearchFilter,
    SparseVector,
    Turn,
    Vector,
)


class Embedder(Protocol):
    """Embeds questions and texts. Vectors of one `space` and `dimension` are comparable."""

    @property
    def space(self) -> str:
        """The name of the vector space: the model's, or that of several models that share one."""
        ...

    @property
    def dimension(self) -> int: ...

    async def embed_query(self, text: str) -> Vector: ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, in order; the adapter splits any number into batches."""
        ...

    def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[tuple[int, list[Vector]], None]:
        """Yield (position of the batch's first text, its vectors) as batches finish, in any order.

        Every text gets its vector, or an error is raised.
        """
        ...


class ContextEmbedder(Embedder, Protocol):
    """An embedder with a vector for each token, so that a text can be embedded in its document."""

    async def embed_in_context(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, embedded together as one document."""
        ...


class EmbeddingCache(Protocol):
    """Vectors by (model, dimension, exact text); they survive crashes and new generations.

    If a vector depends on more than its text, the key names everything it depends on instead of the
    text.
    """

    async def get(self, model: str, dimension: int, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors in the order of `texts`; None for one that is missing."""
        ...

    async def missing(self, model: str, dimension: int, texts: Sequence[str]) -> list[str]:
        """Return the distinct texts without an intact cached vector, in order."""
        ...

    async def put(
        self, model: str, dimension: int, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> None: ...


class LedgerStore(Protocol):
    """The ledgers of paragraph ids, one for each book."""

    async def load(self, book: BookId) -> Ledger:
        """Return an empty ledger for a book that has none."""
        ...

    async def locate(self, book: BookId, paragraph_id: str) -> Located | None:
        """Look up one id or alias without reading the whole ledger; None if it is unknown."""
        ...

    async def save(self, book: BookId, ledger: Ledger) -> None:
        """Replace the book's ledger in one transaction."""
        ...

    async def revision(self, book: BookId) -> str:
        """Return a value that changes with the stored ledger; "" for a book that has none."""
        ...

    async def faults(self, book: BookId) -> list[str]:
        """Return the faults of the stored ledger, one line each; none for a book that has none."""
        ...


class SparseEncoder(Protocol):
    """Encodes text as BM25 term weights; the index multiplies in the inverse document frequency."""

    def encode_document(self, text: str, language: str) -> SparseVector: ...

    def encode_query(self, text: str, language: str) -> SparseVector: ...

    def terms(self, text: str, language: str, *, query: bool = False) -> list[int]:
        """Return the ids that `encode_document` counts, in the order of the text, with repeats.

        With `query`, those that `encode_query` counts.
        """
        ...


@dataclass(frozen=True, slots=True)
class BookManifest:
    """Description of a generation of a book, stored in the index."""

    book: BookId
    title: str
    book_version: str
    model: str
    """The embedder's `space`."""
    dimension: int
    strategy: str
    site: str
    base_url: str
    language: str
    fingerprint: str
    """Hash of everything that determines chunks and vectors; if it is equal, an ingest changes
    nothing."""
    chunks: int
    tokens: int
    files: int
    created_at: str
    """ISO 8601, UTC."""
    generation: int = 0
    """Set by the index at publication; counts from 1."""
    size_bytes: int = 0
    """Size on this machine's disk; 0 for a book on a server."""
    version: str = ""
    """The edition's version as the site names it; "" in a book with one version."""
    locale: str = ""
    """The edition's locale; "" in a book with one locale."""


class BookList(Mapping[BookId, BookManifest]):
    """The readable books of an index, by id in ascending order. It never changes.

    An index returns the same list until one of its books changes. So the cost of a question about
    one book does not grow with the number of books.
    """

    def __init__(self, manifests: Iterable[BookManifest] = ()) -> None:
        self._known = {one.book: one for one in sorted(manifests, key=lambda one: one.book)}

    def __getitem__(self, book: BookId) -> BookManifest:
        return self._known[book]

    def __iter__(self) -> Iterator[BookId]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def named(self, books: Collection[BookId] = ()) -> Sequence[BookManifest]:
        """Return these books, or all, in the order of ids; missing ones are left out."""
        if not books:
            return self._all
        return [self._known[book] for book in sorted({*books}) if book in self._known]

    def only(self, books: Collection[BookId]) -> BookList:
        """Return the list of these books, without missing ones; this list if none is named."""
        return BookList(self.named(books)) if books else self

    @cached_property
    def generations(self) -> str:
        """A cache key that changes with each new generation of a book."""
        # A removed book starts again with generation 1, so the number alone is not enough.
        return "/".join(f"{one.book}@{one.fingerprint}.{one.generation}" for one in self._all)

    @cached_property
    def by_language(self) -> Mapping[str, tuple[BookId, ...]]:
        """The books of each language, starting with that of the first book."""
        languages = dict.fromkeys(one.language for one in self._all)
        return {
            language: tuple(one.book for one in self._all if one.language == language)
            for language in languages
        }

    @property
    def language(self) -> str:
        """The language of the first book."""
        return self._all[0].language

    @cached_property
    def defaults(self) -> Sequence[BookId]:
        """The default editions."""
        return [book for book in self._known if book == book.name]

    @cached_property
    def with_editions(self) -> Mapping[BookId, Sequence[BookManifest]]:
        """The editions, the default one among them, of each book that has several."""
        names = {one.name for one in self._known if one != one.name}
        return {name: [one for one in self._all if one.book.name == name] for name in sorted(names)}

    @cached_property
    def _all(self) -> Sequence[BookManifest]:
        return tuple(self._known.values())


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage of a book's index."""

    reason: str
    """For the operator; it may name files."""
    answers: bool = False
    """Whether the previous generation answers instead; otherwise the book is left out."""


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """A chunk as it is stored."""

    chunk: Chunk
    dense: Vector
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One published generation of a book; it stays readable when a newer one is published."""

    manifest: BookManifest
    pages: AsyncIterator[list[IndexPoint]]
    """All points in pages, in reading order; dense vectors as stored: scaled to length 1.

    On a server, pages lack points if the generation was replaced twice while it was read: compare
    their number with the manifest's.
    """


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

    async def chunks(self, book: BookId) -> Mapping[str, tuple[str, ...]]:
        """Return chunk id to paragraph ids for the current generation. BookNotFound if there is
        none.
        """
        ...

    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        """Return the best `limit` chunks for each given vector; no payload is read."""
        ...

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
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

    async def next_chapter(self, book: BookId, chapter: str, position: int) -> int | None:
        """Return the first later position in another chapter; None if there is none."""
        ...


class BookStore(VectorIndex, Protocol):
    """The index for the operator's commands and for ingests."""

    async def snapshot(self, book: BookId) -> Snapshot:
        """Return the current generation to read. Raises BookNotFound, StorageError."""
        ...

    async def begin(self, book: BookId, dimension: int, number: int = 1) -> GenerationWriter:
        """Start a generation. IndexBusy if another process is writing this book.

        Its number is `number`, or one more than the highest number of the book if that is higher.
        """
        ...

    async def remove(self, book: BookId) -> None:
        """Remove all generations of the book. BookNotFound if there is none."""
        ...

    async def check(self) -> None:
        """Check every book and record the damage. StorageError if the index is unavailable."""
        ...

    async def manifest(self, book: BookId) -> BookManifest | None:
        """Return the manifest of the current generation. IndexUnreadable if it is damaged or of
        another version.
        """
        ...

    async def faults(self, book: BookId, *, full: bool = False) -> list[str]:
        """Return the faults of the current generation, one line each.

        What is stored is compared with what was published. A server only counts the points and
        reads a sample of them, unless `full`. BookNotFound if there is no such book.
        """
        ...

    async def faults_before(self, book: BookId, *, full: bool = False) -> list[str] | None:
        """Return the faults of the previous generation; None if there is none."""
        ...

    async def repair(self, book: BookId) -> BookManifest:
        """Switch readers to the newest generation without faults.

        StorageError if there is none, BookNotFound if there is no such book, IndexBusy while it is
        being written.
        """
        ...

    async def rollback(self, book: BookId) -> BookManifest:
        """Switch readers to the previous generation; a second rollback switches back.

        BookNotFound if there is no such book, InputError if it has only one generation, IndexBusy
        while it is being written.
        """
        ...


class Reranker(Protocol):
    @property
    def calibrated(self) -> bool:
        """Whether one threshold of the relevance holds for all questions."""
        ...

    @property
    def reads_paragraphs(self) -> bool:
        """Whether it is given paragraphs instead of chunks."""
        ...

    def reads(self, asked_in: str, language: str) -> bool:
        """Whether the model understands questions in `asked_in` about books in `language`."""
        ...

    async def rerank(self, question: str, texts: Sequence[str]) -> list[tuple[int, float]]:
        """Return (position in `texts`, relevance 0 to 1) by descending relevance.

        Texts that were not read in time are left out. Raises ProviderError.
        """
        ...


class QuestionRewriter(Protocol):
    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        """Return the question, rewritten to be understood without the history.

        Raises ProviderError.
        """
        ...
