"""A book in memory: stand-ins for the ports, and the use cases as bootstrap makes them."""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.adapters.index_terms import IndexTerms
from app.adapters.local_embedder import inner_products
from app.adapters.sentences import split_sentences
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.extractive import ExtractiveAnswer, answer_of, best_passages
from app.domain.answering.passages import word_limit
from app.domain.answering.question_analysis import (
    QuestionAnalysis,
    asked_kinds,
    name_asked,
    term_weights,
)
from app.domain.answering.relevance import Relevance, candidates
from app.domain.answering.request import AskRequest
from app.domain.answering.units import SplitSentences, units_of
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.cost import Tariff
from app.domain.indexed_book import BookList, BookManifest, Damage
from app.domain.retrieval.query import (
    Candidates,
    ContextPassage,
    ScoredId,
    SearchFilter,
    SparseVector,
    Vector,
)
from app.domain.search_text import search_text
from app.domain.urls import page_key
from app.services.analyse_question import AnalysedQuery, AnalyseQuestion
from app.services.answer_question import AnswerQuestion
from app.services.chapter_requests import ConsultChapters
from app.services.consultation import ConsultBook
from app.services.lexical import LexicalEncoder, TermUpperBounds
from app.services.page_locator import PageLocator
from app.services.ports import Embedder, EmbedInContext, Generator, Reranker, VectorIndex
from app.services.retrieve import RetrievalResult, Retrieve
from app.services.show_figures import ShowFigures
from app.services.similarity import SimilarityEncoder
from app.services.vocabulary import BookVocabulary
from app.services.write_answer import WriteAnswer
from tests.cohere_double import embedding
from tests.made_chunks import count_words, made_chunk, made_manifest, made_passage

DIMENSION = 64
passage = made_passage


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


def chunk(passages: Sequence[Passage], chunk_id: str = "c-1", language: str = "en") -> Chunk:
    spans = ((passages[0].start, passages[-1].end),)
    return made_chunk(*passages, chunk_id=chunk_id, chapter="Book", spans=spans, language=language)


def context_of(*passages: Passage) -> list[ContextPassage]:
    return [
        ContextPassage(
            passage=one,
            chunk=chunk([one]),
            score=1.0,
            tokens=len(one.text.split()),
        )
        for one in passages
    ]


def in_order(*passages: Passage) -> list[Passage]:
    """Give passages one place after another, as in a file; each keeps the length of its source."""
    placed: list[Passage] = []
    at = 0
    for one in passages:
        end = at + max(len(one.text), one.end - one.start)
        placed.append(replace(one, start=at, end=end))
        at = end + 2
    return placed


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
    tariff: Tariff = field(default_factory=Tariff)
    multilingual: bool = False
    embed_in_context: EmbedInContext | None = None

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        yield [_embed(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        if self.error is not None:
            raise self.error
        return _embed(text)


def _embed(text: str) -> Vector:
    return array("f", embedding(text, DIMENSION))


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
    """Every chunk scored by both dot products."""

    stored: Sequence[Chunk]
    manifests: Sequence[BookManifest] = field(default_factory=lambda: [made_manifest()])

    async def books(self) -> BookList:
        return BookList(self.manifests)

    async def damaged(self) -> Mapping[BookId, Damage]:
        return {}

    async def search(
        self, dense: Vector | None, sparse: SparseVector | None, limit: int, filter: SearchFilter
    ) -> Candidates:
        chunks = [one for one in self.stored if _leaves(filter, one)]
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

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        found = (one for one in self.stored if _leaves(filter, one))
        return sorted(found, key=lambda one: (one.book, one.chunk_id))


def _leaves(filter: SearchFilter, chunk: Chunk) -> bool:
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
    """Prefers texts that hold `word`, or raises `error`."""

    word: str = ""
    error: Exception | None = None
    calibrated: bool = False
    reads_paragraphs: bool = False

    def reads(self, asked_in: str, language: str) -> bool:
        return asked_in == language

    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float | None]:
        if self.error is not None:
            raise self.error
        return [float(self.word in text) for text in texts]


@dataclass(frozen=True)
class SpyRetriever(Retrieve):
    """Searches for real, in memory, and remembers what it was asked."""

    asked: list[AskRequest] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    async def find(self, asked: AnalysedQuery) -> RetrievalResult:
        self.asked.append(asked.request)
        self.texts.append(asked.texts.lexical)
        return await super().find(asked)


def similarity_encoder() -> SimilarityEncoder:
    return SimilarityEncoder(FakeEmbedder(), inner_products)


def retrieving(
    index: VectorIndex,
    embedder: Embedder | None = None,
    terms: FakeTerms | IndexTerms | None = None,
    reranker: Reranker | None = None,
    count_tokens: Callable[[str], int] = count_words,
) -> SpyRetriever:
    """The use case as bootstrap makes it, over these parts."""
    terms = terms or FakeTerms()
    lexical = LexicalEncoder(terms.of_document, terms.of_query)
    similarity = similarity_encoder()
    bounds = TermUpperBounds(index)
    vocabulary = BookVocabulary(index, lexical, bounds, count_tokens)
    return SpyRetriever(
        AnalyseQuestion(embedder or FakeEmbedder(), lexical, bounds, similarity, vocabulary),
        index,
        reranker,
        count_words,
    )


@dataclass
class World:
    """An index in memory that holds these chunks, or one with these passages, or none."""

    passages: tuple[Passage, ...] = ()
    error: Exception | None = None
    """What embedding a question raises."""
    chunks: Sequence[Chunk] = ()
    count_tokens: Callable[[str], int] = count_words

    def __post_init__(self) -> None:
        made = [chunk(in_order(*self.passages))] if self.passages else []
        self.index = FakeIndex(self.chunks or made)
        self.retriever = retrieving(
            self.index, FakeEmbedder(error=self.error), count_tokens=self.count_tokens
        )

    def answering(
        self,
        generator: Generator | None = None,
        *,
        refusal_threshold: float = 0.4,
        answer_threshold: float = 0.0,
    ) -> AnswerQuestion:
        """The use case as bootstrap makes it."""
        places, lexical = PageLocator(self.index), self.retriever.analysis.lexical
        consult = ConsultBook(
            retrieve=self.retriever,
            places=places,
            refusal_policy=RefusalPolicy(
                refusal_threshold, answer_threshold, model=generator is not None
            ),
        )
        similarity = self.retriever.analysis.similarity
        return AnswerQuestion(
            consult=consult,
            chapters=ConsultChapters(places, lexical, self.count_tokens, split_sentences, 3_000),
            write=WriteAnswer(split_sentences, similarity, model=generator),
            figures=ShowFigures(self.index),
        )


_TERMS = IndexTerms()


def terms(text: str) -> frozenset[int]:
    """The terms of an English text, as the real index has them."""
    return frozenset(_TERMS.of_query(text, "en"))


def asked(question: str) -> QuestionAnalysis:
    """An English question, analysed with terms that are equally rare."""
    searched = search_text(question, "en")
    own = terms(searched.text)
    return QuestionAnalysis(
        terms,
        "en",
        weights=term_weights(dict.fromkeys(terms(question), 1.0), own, own),
        definition=terms(name_asked(searched.words, terms, "en")),
        asked_kinds=asked_kinds(searched.said),
        words=frozenset(searched.said),
    )


def unit_texts(one: Passage, split: SplitSentences = split_sentences) -> list[str]:
    """The units of an English paragraph."""
    (source,) = context_of(one)
    return [unit.text for unit in units_of(source, split, "en")]


def extracted(
    question: str, *passages: Passage, readings: Sequence[float] = (), read: str = ""
) -> ExtractiveAnswer:
    """The extractive answer with equal term weights; `readings` of the paragraphs, else 0."""
    context = context_of(*in_order(*passages))
    features = asked(question)
    relevance = Relevance(features, readings=dict(enumerate(readings)))
    scored = relevance.scored(candidates(features, context, split_sentences))
    return answer_of(best_passages(scored, word_limit(len(features.weights)), read))
