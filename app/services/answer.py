"""Answer a question from the book: retrieve, decide, generate or extract, verify, cite."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
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
from app.domain.answering.definitions import (
    POOL,
    asks_definition,
    defined_terms,
    definitions_first,
)
from app.domain.answering.draft import Draft, coverage
from app.domain.answering.exercises import Solutions, asked_exercise, for_solving, read_first
from app.domain.answering.extractive import ExtractiveAnswer, extract
from app.domain.answering.followup import standalone_question
from app.domain.answering.languages import guess_language, refusal_text
from app.domain.answering.refusal import (
    GENERATOR_THRESHOLD,
    THRESHOLD,
    answerability,
    calibration_for,
    evidence,
    is_calibrated,
)
from app.domain.answering.scope import NEEDS_PAGE, Place, Scope, narrowed, page_preferred
from app.domain.answering.selection import Selection, selected_paragraph
from app.domain.answering.terms import Terms
from app.domain.answering.units import SplitSentences
from app.domain.answering.verification import CitationList, Quote, Verifier, by_paragraph
from app.domain.errors import ProviderAuthError, ProviderError, ProviderUnavailable, QuestionError
from app.domain.prompting import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter, SearchQuery, Turn
from app.services.follow_ups import SuggestFollowUps
from app.services.ports import (
    GeneratedCitation,
    GeneratedEnd,
    GeneratedText,
    Generator,
    GeneratorEvent,
)
from app.services.reading_places import ReadingPlaces
from app.services.retrieve import SearchResult
from app.services.term_ceilings import TermCeilings

ANSWER_CHUNKS = 8
"""Chunks that an answer is made from."""
JUDGED_HITS = 8
"""Hits that answerability is judged by, even if the answer is made from fewer."""
EARLIER_TURN = 0.5
"""Weight of a term that only the question before this one had, or the selected text."""
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
    k: int = ANSWER_CHUNKS
    """Chunks that the answer is made from."""
    page_url: str = ""
    """The page the reader is on, as URL or path: preferred a little unless `scope` says more."""
    scope: Scope | None = None
    selection: Selection | None = None
    solutions: Solutions = Solutions.HINT
    """What is told when the question is an exercise of the book."""

    @property
    def question_with_selection(self) -> str:
        return self.selection.question_text(self.question) if self.selection else self.question


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """The use case. Without a generator the answer is made of the book's own sentences.

    Below a threshold of answerability, 0 to 1, the answer is that the book does not say.
    """

    retrieve: Retriever
    generator: Generator | None
    split_sentences: SplitSentences
    ceilings: TermCeilings
    places: ReadingPlaces
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
        elif task.exercise and request.solutions is Solutions.HIDE:
            for event in task.point():
                yield event
        elif self.generator is None or (task.exercise and request.solutions is Solutions.HINT):
            for event in task.extract():
                yield await self._with_follow_ups(event, task)
        else:
            written = task.generate(self.generator, self.refusal_threshold)
            async with aclosing(written) as events:
                async for event in events:
                    yield await self._with_follow_ups(event, task)

    async def answerability(self, request: AskRequest) -> float:
        """What `refusal_threshold` is compared with, 0 to 1. Raises as `stream` does."""
        task = await self._consult(request)
        return task.score if task.context else 0.0

    async def _with_follow_ups(self, event: AnswerEvent, task: _Task) -> AnswerEvent:
        """The event; the end of an answer with questions that go on from it."""
        if not isinstance(event, Finished) or event.answer.refused:
            return event
        suggest = SuggestFollowUps(self.retrieve, self.ceilings)
        cited = {(one.book, one.file) for one in event.answer.citations}
        near = [hit for hit in task.found.hits if (hit.chunk.book, hit.chunk.file) in cited]
        asked = task.request.question
        questions = await suggest.after(asked, near, task.scope, task.language)
        return Finished(replace(event.answer, follow_ups=questions))

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
        place, scope = await self._place(request)
        asked = standalone_question(request.question, request.history)
        if request.selection:
            asked = request.selection.search_text(asked)
        found = await self._search(request, asked, scope)
        language = found.hits[0].chunk.language if found.hits else "en"
        terms = cache(partial(self.ceilings.terms, language=language))
        ceilings = await self.ceilings.of(terms(asked), scope.books) if found.hits else {}
        own = terms(request.question)
        preferred = page_preferred(found.hits, place) if place else found.hits
        ranked = definitions_first(preferred, defined_terms(request.question, terms), terms)
        hits = await self._with_selection(request, scope, ranked[: request.k])
        return _Task(
            request=request,
            scope=scope,
            found=found,
            context=for_solving(
                self.retrieve.context(hits, self.context_tokens), request.solutions
            ),
            exercise=asked_exercise(request.question, found.hits, terms),
            language=language,
            weights={
                term: ceiling if term in own else EARLIER_TURN * ceiling
                for term, ceiling in ceilings.items()
            },
            terms=terms,
            split_sentences=self.split_sentences,
            score=answerability(
                evidence(found.hits[:JUDGED_HITS], ceilings), calibration_for(self.embedding_model)
            ),
        )

    async def _place(self, request: AskRequest) -> tuple[Place | None, SearchFilter]:
        """Where the reader is, if that is known, and what may answer."""
        if request.scope is Scope.SELECTION and request.selection is None:
            message = "scope selection needs a selection"
            raise QuestionError(message)
        books = request.filter.books
        place = await self.places.page(request.page_url, books) if request.page_url else None
        if place:
            return place, narrowed(request.filter, request.scope, place)
        if request.scope in NEEDS_PAGE:
            message = (
                f"scope {request.scope!s} needs the address of an indexed page in page_url, "
                f"not {request.page_url[:200]!r}"
            )
            raise QuestionError(message)
        return None, request.filter

    async def _search(self, request: AskRequest, asked: str, scope: SearchFilter) -> SearchResult:
        pool = POOL if asks_definition(request.question) else JUDGED_HITS
        query = SearchQuery(asked, k=max(request.k, pool), filter=scope, history=request.history)
        return await self.retrieve.search(query)

    async def _with_selection(
        self, request: AskRequest, scope: SearchFilter, hits: Sequence[Hit]
    ) -> Sequence[Hit]:
        """The hits with the selected paragraph in front; that alone in scope "selection"."""
        selection = request.selection
        if selection is None:
            return hits
        named = await self.places.chunks_of(selection.paragraph_id, scope.books)
        front = selected_paragraph(selection, named, hits)
        return front if request.scope is Scope.SELECTION else [*front, *hits]

    def _threshold(self) -> float:
        if self.generator is None:
            return self.refusal_threshold
        return self.generator_threshold if is_calibrated(self.embedding_model) else 0.0


@dataclass(frozen=True, slots=True)
class _Task:
    """One question with what was found for it."""

    request: AskRequest
    scope: SearchFilter
    """What may answer: the request's filter, narrowed by its scope."""
    found: SearchResult
    context: Sequence[ContextPassage]
    exercise: str
    """Id of the exercise of the book that is asked, or ""."""
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

    def point(self) -> Iterator[AnswerEvent]:
        """Name the paragraphs to read before the exercise, and no more."""
        text = read_first(self.request.question)
        consulted = sources(self.context)
        yield Started(AnswerMode.EXTRACTIVE, consulted)
        yield TextDelta(text)
        yield Finished(
            Answer(
                answer=text,
                mode=AnswerMode.EXTRACTIVE,
                refused=False,
                sources=consulted,
                degraded=self.found.degraded,
                exercise=self.exercise,
            )
        )

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
            exercise=self.exercise,
        )

    def _extracted(self) -> ExtractiveAnswer:
        selection = self.request.selection
        if self.request.scope is Scope.SELECTION:
            selection = None
        return extract(
            self.request.question,
            self.context,
            self.weights,
            self.terms,
            self.split_sentences,
            self.language,
            read=selection.text if selection else "",
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
            exercise=self.exercise,
        )
        yield Finished(answer)

    def _verifier(self) -> Verifier:
        question = self.request.question
        return Verifier(
            by_paragraph(self.context),
            self.terms,
            self.split_sentences,
            self.request.question_with_selection,
            self.language,
            translated=guess_language(question, self.language) != self.language,
        )


@asynccontextmanager
async def _writing(
    generator: Generator, request: AskRequest, context: Sequence[ContextPassage]
) -> AsyncIterator[AsyncIterator[GeneratorEvent]]:
    """Close the generator's stream however the answer ends: a reader who leaves stops it."""
    events = generator.generate(request.question_with_selection, request.history, context)
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
