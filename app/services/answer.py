"""Answer a question from the book: retrieve, decide, generate or extract, verify, cite."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol

from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    CitationFound,
    Finished,
    Source,
    Started,
    Statement,
    TextDelta,
    Usage,
)
from app.domain.answering.draft import Draft, coverage
from app.domain.answering.extractive import ExtractiveAnswer, extract
from app.domain.answering.followup import standalone_question
from app.domain.answering.languages import guess_language, refusal_text
from app.domain.answering.refusal import (
    GENERATOR_THRESHOLD,
    THRESHOLD,
    Calibration,
    answerability,
    calibration_for,
    evidence,
    is_calibrated,
)
from app.domain.answering.terms import Terms
from app.domain.answering.units import SplitSentences
from app.domain.answering.verification import CitationList, Quote, Verifier, by_paragraph
from app.domain.errors import ProviderAuthError, ProviderError, ProviderUnavailable, QuestionError
from app.domain.prompting import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter, SearchQuery, Turn
from app.services.ports import (
    GeneratedCitation,
    GeneratedEnd,
    GeneratedText,
    Generator,
    GeneratorEvent,
)
from app.services.retrieve import SearchResult
from app.services.term_ceilings import TermCeilings

JUDGED_HITS = 8
"""Hits that answerability is judged by, even if the answer is made from fewer."""
EARLIER_TURN = 0.5
"""Weight of a term that only the question before this one had."""
NEAREST_SECTIONS = 3
"""Links that a refusal gives."""

_log = logging.getLogger(__name__)


class Retriever(Protocol):
    """What this use case needs of `app.services.retrieve.Retrieve`."""

    async def search(self, query: SearchQuery) -> SearchResult: ...

    def context(self, hits: Sequence[Hit], token_budget: int) -> Sequence[ContextPassage]: ...


@dataclass(frozen=True, slots=True)
class AskRequest:
    question: str
    filter: SearchFilter = field(default_factory=SearchFilter)
    history: tuple[Turn, ...] = ()
    k: int = 8
    """Chunks that the answer is made from."""


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """The use case. Without a generator the answer is made of the book's own sentences.

    Below a threshold of answerability, 0 to 1, the answer is that the book does not say.
    """

    retrieve: Retriever
    generator: Generator | None
    split_sentences: SplitSentences
    ceilings: TermCeilings
    embedding_model: str
    """Decides what a cosine means."""
    context_tokens: int = 3_000
    """Token budget of the paragraphs that an answer is made from."""
    max_question_chars: int = 4_000
    refusal_threshold: float = THRESHOLD
    generator_threshold: float = GENERATOR_THRESHOLD

    async def answer(self, request: AskRequest) -> Answer:
        """Return the whole answer. Raises as `stream` does."""
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    return event.answer
        message = "the answer's stream ended without an end"
        raise RuntimeError(message)

    async def stream(self, request: AskRequest) -> AsyncGenerator[AnswerEvent, None]:
        """Yield Started, then TextDelta and CitationFound interleaved, then Finished.

        Raises QuestionError before the first event, what retrieval raises, ProviderAuthError when
        the generator's key is refused, and any ProviderError once the generator has begun to write.
        When it fails before, the answer is extractive: the mode in Started is a plan, the one in
        Finished the fact.
        """
        task = await self._consult(request)
        if not task.context or task.score < self._threshold():
            for event in task.refuse():
                yield event
        elif self.generator is None:
            for event in task.extract():
                yield event
        else:
            written = task.generate(self.generator, self.refusal_threshold)
            async with aclosing(written) as events:
                async for event in events:
                    yield event

    def _check(self, question: str) -> None:
        if not question.strip():
            message = "the question is empty"
            raise QuestionError(message)
        if len(question) > self.max_question_chars:
            message = (
                f"the question has {len(question):,} characters; "
                f"at most {self.max_question_chars:,} are allowed"
            )
            raise QuestionError(message)

    async def _consult(self, request: AskRequest) -> _Task:
        self._check(request.question)
        asked = standalone_question(request.question, request.history)
        hits = max(request.k, JUDGED_HITS)
        query = SearchQuery(asked, k=hits, filter=request.filter, history=request.history)
        found = await self.retrieve.search(query)
        language = found.hits[0].chunk.language if found.hits else "en"
        terms = cache(partial(self.ceilings.terms, language=language))
        ceilings = await self.ceilings.of(terms(asked), request.filter.books) if found.hits else {}
        own = terms(request.question)
        return _Task(
            request=request,
            found=found,
            context=self.retrieve.context(found.hits[: request.k], self.context_tokens),
            language=language,
            weights={
                term: ceiling if term in own else EARLIER_TURN * ceiling
                for term, ceiling in ceilings.items()
            },
            terms=terms,
            split_sentences=self.split_sentences,
            score=answerability(evidence(found.hits, ceilings), self._calibration),
        )

    @property
    def _calibration(self) -> Calibration:
        return calibration_for(self.embedding_model)

    def _threshold(self) -> float:
        if self.generator is None:
            return self.refusal_threshold
        return self.generator_threshold if is_calibrated(self.embedding_model) else 0.0


@dataclass(frozen=True, slots=True)
class _Task:
    """One question with what was found for it."""

    request: AskRequest
    found: SearchResult
    context: Sequence[ContextPassage]
    language: str
    """The language of the book, as of the best hit."""
    weights: Mapping[int, float]
    terms: Terms
    split_sentences: SplitSentences
    score: float

    def refuse(self) -> Iterator[AnswerEvent]:
        sections = nearest_sections(self.found.hits)
        yield Started(AnswerMode.REFUSED, sections)
        yield from self._refused(Usage())

    def _refused(self, usage: Usage) -> Iterator[AnswerEvent]:
        sections = nearest_sections(self.found.hits)
        text = refusal_text(self.request.question, len(sections))
        answer = Answer(
            answer=text,
            mode=AnswerMode.REFUSED,
            refused=True,
            sources=sections,
            degraded=self.found.degraded,
            usage=usage,
        )
        yield TextDelta(text)
        yield Finished(answer)

    def extract(self) -> Iterator[AnswerEvent]:
        """Answer in the book's own sentences, or refuse if none touches the question."""
        extracted = self._extracted()
        if not extracted.claims:
            yield from self.refuse()
            return
        yield Started(AnswerMode.EXTRACTIVE, sources(self.context))
        yield from self._quoted(extracted, self.found.degraded)

    async def generate(
        self, generator: Generator, extract_from: float
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Let the generator write; extract instead if it fails at once and the score suffices."""
        yield Started(AnswerMode.GENERATED, sources(self.context))
        draft = Draft(self._verifier())
        try:
            async with _writing(generator, self.request, self.context) as events:
                async for event in events:
                    if isinstance(event, GeneratedEnd):
                        for last in self._ended(draft, event):
                            yield last
                        return
                    for written in _written(draft, event):
                        yield written
            message = "the generator stopped before the end of its answer"
            raise ProviderUnavailable(message)
        except ProviderAuthError:
            raise  # a wrong key is the operator's to repair, not an outage to live with
        except ProviderError as error:
            extracted = self._extracted()
            if draft.text or self.score < extract_from or not extracted.claims:
                raise
            _log.warning("answer.generator_failed", extra={"error": error.code})
        for fallback in self._quoted(extracted, (*self.found.degraded, "generator")):
            yield fallback

    def _ended(self, draft: Draft, end: GeneratedEnd) -> Iterator[AnswerEvent]:
        yield from _shown(*draft.close())
        if draft.text.strip():
            yield Finished(self._generated(draft, end.usage))
        elif end.finish_reason == NO_ANSWER:
            yield from self._refused(end.usage)
        else:
            message = "the generator wrote nothing"
            raise ProviderUnavailable(message)

    def _generated(self, draft: Draft, usage: Usage) -> Answer:
        statements = draft.statements()
        return Answer(
            answer=draft.text,
            mode=AnswerMode.GENERATED,
            refused=False,
            citations=draft.citations,
            sources=sources(self.context),
            degraded=self.found.degraded,
            usage=usage,
            statements=statements,
            citation_precision=draft.precision,
            coverage=coverage(statements),
        )

    def _extracted(self) -> ExtractiveAnswer:
        return extract(
            self.request.question,
            self.context,
            self.weights,
            self.terms,
            self.split_sentences,
            self.language,
        )

    def _quoted(
        self, extracted: ExtractiveAnswer, degraded: tuple[str, ...]
    ) -> Iterator[AnswerEvent]:
        listed = CitationList(by_paragraph(self.context))
        written = 0
        for span, unit in extracted.claims:
            yield TextDelta(extracted.text[written : span[1]])
            written = span[1]
            citation = listed.add(span, Quote(self.context[unit.passage], unit.start, unit.end))
            if citation:
                yield CitationFound(citation)
        if written < len(extracted.text):
            yield TextDelta(extracted.text[written:])
        answer = Answer(
            answer=extracted.text,
            mode=AnswerMode.EXTRACTIVE,
            refused=False,
            citations=listed.citations,
            sources=sources(self.context),
            degraded=degraded,
            statements=tuple(Statement(start, end, True) for (start, end), _ in extracted.claims),
        )
        yield Finished(answer)

    def _verifier(self) -> Verifier:
        question = self.request.question
        return Verifier(
            by_paragraph(self.context),
            self.terms,
            self.split_sentences,
            question,
            self.language,
            translated=guess_language(question, self.language) != self.language,
        )


@asynccontextmanager
async def _writing(
    generator: Generator, request: AskRequest, context: Sequence[ContextPassage]
) -> AsyncIterator[AsyncIterator[GeneratorEvent]]:
    """Close the generator's stream however the answer ends: a reader who leaves stops it."""
    events = generator.generate(request.question, request.history, context)
    try:
        yield events
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _written(draft: Draft, event: GeneratedText | GeneratedCitation) -> Iterator[AnswerEvent]:
    if isinstance(event, GeneratedText):
        yield from _shown(*draft.write(event.text))
    else:
        yield from _shown("", draft.cite((event.start, event.end), event.paragraph_ids))


def _shown(text: str, citations: Sequence[Citation]) -> Iterator[AnswerEvent]:
    if text:
        yield TextDelta(text)
    for citation in citations:
        yield CitationFound(citation)


def sources(context: Sequence[ContextPassage]) -> tuple[Source, ...]:
    """The paragraphs of the context, each once, best first."""
    found: dict[str, Source] = {}
    for one in sorted(context, key=lambda one: -one.score):
        passage = one.passage
        source = Source(
            passage.paragraph_id, passage.url, one.section, passage.heading_path, one.score
        )
        found.setdefault(passage.paragraph_id, source)
    return tuple(found.values())


def nearest_sections(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """The first few sections that the hits stand in, best first."""
    found: dict[tuple[str, tuple[str, ...]], Source] = {}
    for hit in hits:
        chunk = hit.chunk
        source = Source(
            chunk.paragraph_id,
            chunk.deep_link_url,
            chunk.section,
            chunk.heading_path,
            hit.score,
        )
        found.setdefault((chunk.file, chunk.heading_path), source)
    return tuple(found.values())[:NEAREST_SECTIONS]
