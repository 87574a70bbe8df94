"""Small in-memory stand-ins for the ports that retrieval uses, and chunks to put in them."""

from __future__ import annotations

import asyncio
import zlib
from array import array
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

from app.adapters.index_terms import IndexTerms
from app.adapters.vectors import inner_products
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.indexed_book import BookList, BookManifest, Damage
from app.domain.languages import FUNCTION_WORDS
from app.domain.links import page_key
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector
from app.services.analyse_question import AnalyseQuestion
from app.services.feature_reranker import FeatureReranker
from app.services.lexical import LexicalEncoder
from app.services.ports import Embedder, Reranker, VectorIndex
from app.services.retrieve import Retrieve
from app.services.similarity import SimilarityEncoder
from app.services.term_upper_bounds import TermUpperBounds
from tests.made_chunks import made_chunk, made_manifest, made_passage

DIMENSION = 64
make_manifest = made_manifest


def make_chunk(text: str, *, file: str = "a.md", index: int = 0, book: str = "book") -> Chunk:
    """Return a chunk that is one paragraph: the first characters of its file."""
    passage = made_passage(
        text,
        f"p-{book}-{file}-{index}",
        start=index * 1000,
        url=f"https://example.org/{file}#p{index}",
        heading_path=("Page",),
    )
    return made_chunk(
        passage,
        chunk_id=f"{book}-{file}-{index}",
        book=BookId(book),
        chunk_index=index,
        file=file,
        heading_path=(),
    )


_STOP_WORDS = frozenset(["what", "is", "are", "a", "the", "and", "it"])


def _words(text: str) -> list[int]:
    words = (word.strip(".?!,") for word in text.lower().split())
    return [zlib.crc32(word.encode()) for word in words if word not in _STOP_WORDS]


def _terms(text: str) -> Counter[int]:
    return Counter(_words(text))


@dataclass
class FakeEmbedder:
    """Bag of hashed words, of length 1; raises `error` instead when it is set."""

    space: str = "fake"
    dimension: int = DIMENSION
    error: Exception | None = None

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [_embed(text) for text in texts]

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        yield [_embed(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        if self.error is not None:
            raise self.error
        return _embed(text)


def _embed(text: str) -> Vector:
    vector = array("f", bytes(4 * DIMENSION))
    for term, count in _terms(text).items():
        vector[term % DIMENSION] += count
    norm = sqrt(sum(value * value for value in vector)) or 1.0
    return array("f", (value / norm for value in vector))


@dataclass
class FakeTerms:
    """Words as they are; remembers which languages were asked for."""

    languages: list[str] = field(default_factory=list)

    def of_document(self, text: str, language: str) -> list[int]:
        return _words(text)

    def of_query(self, text: str, language: str) -> list[int]:
        self.languages.append(language)
        return _words(text)

    @property
    def lexical(self) -> LexicalEncoder:
        return LexicalEncoder(self.of_document, self.of_query)


@dataclass
class FakeIndex:
    """Every chunk scored by both dot products; filters on book and file."""

    stored: Sequence[Chunk]
    manifests: Sequence[BookManifest] = field(default_factory=lambda: [make_manifest()])

    async def books(self) -> BookList:
        return BookList(self.manifests)

    async def damaged(self) -> Mapping[BookId, Damage]:
        return {}

    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        chunks = [
            chunk
            for chunk in self.stored
            if (not filter.books or chunk.book in filter.books)
            and (not filter.files or chunk.file in filter.files)
        ]
        by_dense = [] if dense is None else [(_dot(dense, chunk), chunk) for chunk in chunks]
        by_sparse = [] if sparse is None else [(_overlap(sparse, chunk), chunk) for chunk in chunks]
        return Candidates(_top(by_dense, limit), _top([x for x in by_sparse if x[0] > 0], limit))

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
        chunks = [one for one in self.stored if not books or one.book in books]
        return [
            max((_overlap(SparseVector((term,), (1.0,)), one) for one in chunks), default=0.0)
            for term in terms
        ]

    async def fetch(self, wanted: Mapping[BookId, Sequence[str]]) -> list[Chunk]:
        by_id = {(one.book, one.chunk_id): one for one in self.stored}
        every = ((book, chunk_id) for book, ids in wanted.items() for chunk_id in ids)
        return [by_id[one] for one in every if one in by_id]

    async def chunks(self, book: BookId) -> Mapping[str, tuple[str, ...]]:
        return {one.chunk_id: one.paragraph_ids for one in self.stored if one.book == book}

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        def leaves(chunk: Chunk) -> bool:
            return (
                (not filter.books or chunk.book in filter.books)
                and (not filter.files or chunk.file in filter.files)
                and (not filter.pages or page_key(chunk.deep_link_url) in filter.pages)
                and (not filter.kinds or any(one.kind in filter.kinds for one in chunk.passages))
                and (
                    not filter.paragraph_ids
                    or not set(filter.paragraph_ids).isdisjoint(chunk.paragraph_ids)
                )
            )

        return sorted(
            (one for one in self.stored if leaves(one)), key=lambda one: (one.book, one.chunk_id)
        )


def _dot(vector: Vector, chunk: Chunk) -> float:
    return sum(a * b for a, b in zip(vector, _embed(chunk.text_content), strict=True))


def _overlap(query: SparseVector, chunk: Chunk) -> float:
    terms = _terms(chunk.text_content)
    weights = zip(query.indices, query.values, strict=True)
    return sum(weight * terms[term] for term, weight in weights)


def _top(scored: list[tuple[float, Chunk]], limit: int) -> tuple[ScoredId, ...]:
    best = sorted(scored, key=lambda pair: (-pair[0], pair[1].chunk_id))[:limit]
    return tuple(ScoredId(chunk.book, chunk.chunk_id, score) for score, chunk in best)


@dataclass
class FakeReranker:
    """Prefers texts that hold `word`; raises `error` or never answers when told so."""

    word: str = ""
    error: Exception | None = None
    hangs: bool = False
    calibrated: bool = False
    reads_paragraphs: bool = False

    def reads(self, asked_in: str, language: str) -> bool:
        return asked_in == language

    async def rerank(self, question: str, texts: Sequence[str]) -> list[tuple[int, float]]:
        if self.error is not None:
            raise self.error
        if self.hangs:
            await asyncio.Event().wait()
        scores = [(position, float(self.word in text)) for position, text in enumerate(texts)]
        return sorted(scores, key=lambda pair: -pair[1])


async def local_embedder() -> Embedder:
    return FakeEmbedder()


def similarity_encoder() -> SimilarityEncoder:
    return SimilarityEncoder(local_embedder, FUNCTION_WORDS, inner_products)


def retrieving(
    embedder: Embedder,
    terms: FakeTerms | IndexTerms,
    index: VectorIndex,
    reranker: Reranker | None = None,
    count_tokens: Callable[[str], int] = lambda text: len(text.split()),
    *,
    feature_reranker: bool = False,
) -> Retrieve:
    """The use case as bootstrap makes it, over these parts."""
    lexical = LexicalEncoder(terms.of_document, terms.of_query)
    similarity = similarity_encoder()
    return Retrieve(
        AnalyseQuestion(embedder, lexical, TermUpperBounds(index), similarity),
        index,
        reranker,
        count_tokens,
        FeatureReranker(lexical.ordered_terms, similarity) if feature_reranker else None,
    )
