"""Typed fakes that the tests of answering share: passages, a retriever, a generator."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from app.adapters.index_terms import IndexTerms
from app.adapters.sentences import split_sentences
from app.domain.answer import Usage
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.extractive import ExtractiveAnswer, extract
from app.domain.answering.question_analysis import QuestionAnalysis, analyse
from app.domain.answering.relevance import Relevance
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.generated_text.events import (
    GeneratedCitation,
    GeneratedEnd,
    GeneratedText,
    GeneratorEvent,
    TextDiscarded,
)
from app.domain.retrieval.query import ContextPassage, SearchQuery, Turn
from app.domain.retrieval.standalone import Standalone
from app.services.analyse_question import AnalysedQuery
from app.services.answer_question import AnswerQuestion
from app.services.answerability_scorer import AnswerabilityScorer
from app.services.chapter_requests import ConsultChapters
from app.services.consultation import ConsultBook
from app.services.feature_reranker import FeatureReranker
from app.services.page_locator import PageLocator
from app.services.ports import GenerationRequest, Generator, VectorIndex
from app.services.retrieve import RetrievalResult, Retrieve
from app.services.show_figures import ShowFigures
from app.services.vocabulary import BookVocabulary
from app.services.write_answer import WriteAnswer
from tests.made_chunks import made_chunk, made_passage
from tests.retrieval_fakes import (
    FakeEmbedder,
    FakeIndex,
    FakeTerms,
    retrieving,
    similarity_encoder,
)

_TERMS = IndexTerms()


def terms(text: str) -> frozenset[int]:
    """The terms of an English text, as the real index has them."""
    return frozenset(_TERMS.of_query(text, "en"))


passage = made_passage


def chunk(passages: Sequence[Passage], chunk_id: str = "c-1", language: str = "en") -> Chunk:
    spans = ((passages[0].start, passages[-1].end),)
    return made_chunk(*passages, chunk_id=chunk_id, chapter="Book", spans=spans, language=language)


def context_of(*passages: Passage, score: float = 1.0) -> list[ContextPassage]:
    return [
        ContextPassage(
            passage=one,
            chunk=chunk([one]),
            section=one.heading_path[-1],
            score=score,
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


@dataclass(frozen=True)
class SpyRetriever(Retrieve):
    """Searches for real, in memory, and remembers what it was asked."""

    asked: list[SearchQuery] = field(default_factory=list)
    texts: list[Standalone] = field(default_factory=list)

    @classmethod
    def of(cls, retrieve: Retrieve) -> SpyRetriever:
        return cls(**{one.name: getattr(retrieve, one.name) for one in fields(retrieve)})

    async def find(self, asked: AnalysedQuery) -> RetrievalResult:
        self.asked.append(asked.query)
        self.texts.append(asked.texts)
        return await super().find(asked)


@dataclass
class World:
    """An index in memory that holds one chunk with these passages, or none."""

    passages: tuple[Passage, ...]
    error: Exception | None = None
    """What embedding a question raises."""

    def __post_init__(self) -> None:
        chunks = [chunk(in_order(*self.passages))] if self.passages else []
        self.index = FakeIndex(chunks)
        self.sparse = FakeTerms()
        embedder = FakeEmbedder(error=self.error)
        self.retriever = SpyRetriever.of(retrieving(embedder, self.sparse, self.index))

    def answering(
        self,
        generator: Generator | None = None,
        *,
        refusal_threshold: float = 0.4,
        answer_threshold: float = 0.0,
    ) -> AnswerQuestion:
        answering = answering_over(
            self.index,
            self.retriever,
            self.sparse,
            refusal_threshold=refusal_threshold,
            answer_threshold=answer_threshold,
        )
        return answering.written_by(generator) if generator else answering


def answering_over(
    index: VectorIndex,
    retriever: SpyRetriever,
    sparse: FakeTerms,
    *,
    refusal_threshold: float = 0.4,
    answer_threshold: float = 0.0,
) -> AnswerQuestion:
    """The use case as bootstrap makes it, without a model."""
    lexical, bounds = retriever.analysis.lexical, retriever.analysis.bounds
    vectors = similarity_encoder()
    reranker = FeatureReranker(lexical.ordered_terms, vectors)
    vocabulary = BookVocabulary(index, lexical, bounds, lambda text: len(text.split()))
    scorer = AnswerabilityScorer(vectors, reranker.terms_of, vocabulary.is_common)
    consult = ConsultBook(
        retrieve=retriever,
        places=PageLocator(index),
        scorer=scorer,
        refusal_policy=RefusalPolicy(refusal_threshold, answer_threshold),
        vocabulary=vocabulary,
    )
    return AnswerQuestion(
        consult=consult,
        chapters=ConsultChapters(index, consult, split_sentences, lambda text: len(text.split())),
        write=WriteAnswer(split_sentences, scorer.similarity),
        figures=ShowFigures(index),
        count_tokens=lambda text: len(text.split()),
    )


def generation_request(
    question: str, history: Sequence[Turn] = (), context: Sequence[ContextPassage] = ()
) -> GenerationRequest:
    return GenerationRequest(question, history, context)


Step: TypeAlias = str | tuple[int, int, tuple[str, ...]] | TextDiscarded | Exception


@dataclass
class FakeGenerator:
    """Writes the given text pieces and citations; an exception among them is raised there."""

    steps: Sequence[Step]
    ends: bool = True
    finish_reason: str = "COMPLETE"
    truncated: bool = False
    closed: bool = False
    questions: list[str] = field(default_factory=list)
    contexts: list[Sequence[ContextPassage]] = field(default_factory=list)

    @property
    def model(self) -> str:
        return "fake-model"

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        self.questions.append(request.question)
        self.contexts.append(request.context)
        said = "".join(one for one in self.steps if isinstance(one, str))
        written = 0
        try:
            for step in self.steps:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, str):
                    written += len(step)
                    yield GeneratedText(step)
                elif isinstance(step, TextDiscarded):
                    said = said[written:]
                    yield step
                else:
                    start, end, paragraph_ids = step
                    yield GeneratedCitation(start, said[start:end], paragraph_ids)
            if self.ends:
                yield GeneratedEnd(Usage(10, 5), self.finish_reason, truncated=self.truncated)
        finally:
            self.closed = True


def analysed(question: str, bounds: Mapping[int, float]) -> QuestionAnalysis:
    """An English question, analysed with these upper bounds of its terms."""
    return analyse(question, "en", terms, bounds)


def extracted(
    question: str, *passages: Passage, readings: Sequence[float] = ()
) -> ExtractiveAnswer:
    """The extractive answer with equal term weights; `readings` of the paragraphs, else 0."""
    context = context_of(*in_order(*passages))
    bounds = dict.fromkeys(terms(question), 1.0)
    analysis = analysed(question, bounds)
    given = dict(enumerate(readings))
    return extract(Relevance(analysis.features, context, split_sentences, readings=given))


def marked(found: ExtractiveAnswer) -> list[str]:
    """The marked texts of the passages, in order."""
    return [one.text[start:end] for one in found.passages for start, end in one.marks]
