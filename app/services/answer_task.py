"""One question with what was found for it: refuse, point to what to read, extract or generate."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

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
from app.domain.answering.consulted import Consulted
from app.domain.answering.draft import Draft, coverage
from app.domain.answering.exercises import read_first
from app.domain.answering.extractive import ExtractiveAnswer, extract, quotable, to_read, whole
from app.domain.answering.languages import other_language, refusal_text
from app.domain.answering.request import AskRequest
from app.domain.answering.scope import Scope
from app.domain.answering.verification import CitationList, Quote, Verifier, by_paragraph
from app.domain.errors import ProviderError, ProviderUnavailable
from app.domain.languages import guess_language
from app.domain.prompting import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter
from app.services.ports import (
    GeneratedCitation,
    GeneratedEnd,
    GeneratedText,
    Generator,
    GeneratorEvent,
)
from app.services.provider_failures import log_failure
from app.services.retrieve import SearchResult

NEAREST_SECTIONS = 3
"""Links that a refusal gives."""
READ_FIRST = 5
"""Paragraphs to read before an exercise."""

Likeness: TypeAlias = Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]
"""(question, texts) to the cosine of the question and each of the texts."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """One question with what was found for it."""

    request: AskRequest
    scope: SearchFilter
    """What may answer: the request's filter, narrowed by its scope."""
    found: SearchResult
    consulted: Consulted
    exercise: str
    """Id of the exercise of the book that is asked, or ""."""
    solution: frozenset[str]
    """Ids of the paragraphs that solve it, when they are to be shown."""
    likeness: Likeness
    score: float
    """How likely it is that the book answers, 0 to 1."""

    def refuse(self) -> Iterator[AnswerEvent]:
        sections = nearest_sections(self.found.hits)
        yield Started(AnswerMode.REFUSED, sections)
        yield from self._refused(
            Usage(), other_language(self.request.question, self.consulted.language)
        )

    def _refused(self, usage: Usage, hint: str = "") -> Iterator[AnswerEvent]:
        sections = nearest_sections(self.found.hits)
        language = self.consulted.language
        plain = refusal_text(self.request.question, len(sections), language)
        text = f"{plain} {hint}".rstrip()
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
        text = read_first(self.request.question, self.consulted.language)
        consulted = tuple(map(_source, to_read(self.consulted)[:READ_FIRST]))
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

    async def extract(self) -> Iterator[AnswerEvent]:
        """Answer in the book's own sentences, or refuse if none touches the question."""
        extracted = await self._extracted()
        return self._told(extracted) if extracted.claims else self.refuse()

    def _told(self, extracted: ExtractiveAnswer) -> Iterator[AnswerEvent]:
        yield Started(AnswerMode.EXTRACTIVE, sources(self.consulted.context))
        yield from self._quoted(extracted, self.found.degraded)

    async def generate(
        self, generator: Generator, extract_from: float
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Let the generator write; extract instead if it fails at once and the score suffices."""
        yield Started(AnswerMode.GENERATED, sources(self.consulted.context))
        draft = Draft(self._verifier())
        try:
            async with _writing(generator, self.request, self.consulted.context) as events:
                async for event in events:
                    if isinstance(event, GeneratedEnd):
                        for last in self._ended(draft, event):
                            yield last
                        return
                    for written in _written(draft, event):
                        yield written
            message = "the generator stopped before the end of its answer"
            raise ProviderUnavailable(message)
        except ProviderError as error:
            extracted = await self._extracted()
            if draft.text or self.score < extract_from or not extracted.claims:
                raise
            log_failure(_log, "answer.generator_failed", error)
        for fallback in self._quoted(extracted, (*self.found.degraded, "generator")):
            yield fallback

    def _ended(self, draft: Draft, end: GeneratedEnd) -> Iterator[AnswerEvent]:
        yield from _shown(*draft.close())
        if draft.text.strip():
            yield Finished(self._generated(draft, end.usage))
        elif end.finish_reason == NO_ANSWER or draft.recited:
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
            sources=sources(self.consulted.context),
            degraded=self.found.degraded,
            usage=usage,
            statements=statements,
            citation_precision=draft.precision,
            coverage=coverage(statements),
            exercise=self.exercise,
        )

    async def _extracted(self) -> ExtractiveAnswer:
        if self.solution:
            return whole(self.consulted.context, self.solution)
        selection = self.request.selection
        if self.request.scope is Scope.SELECTION:
            selection = None
        found = quotable(self.consulted, read=selection.text if selection else "")
        # What has no word of the question is not quoted for its likeness alone.
        asked = self.consulted.weights.keys()
        near = [at for at, unit in enumerate(found) if asked & self.consulted.terms(unit.text)]
        cosines = await self.likeness(self._standalone(), [found[at].text for at in near])
        likeness = dict(zip(near, cosines, strict=True))
        return extract(self.consulted, found, [likeness.get(at, 0.0) for at in range(len(found))])

    def _standalone(self) -> str:
        """The question as it was searched for; a selected text has its own place in the answer."""
        return self.request.question if self.request.selection else self.found.question

    def _quoted(
        self, extracted: ExtractiveAnswer, degraded: tuple[str, ...]
    ) -> Iterator[AnswerEvent]:
        listed = CitationList(by_paragraph(self.consulted.context))
        written = 0
        for span, unit in extracted.claims:
            yield TextDelta(extracted.text[written : span[1]])
            written = span[1]
            citation = listed.add(
                span, Quote(self.consulted.context[unit.passage], unit.start, unit.end)
            )
            if citation:
                yield CitationFound(citation)
        if written < len(extracted.text):
            yield TextDelta(extracted.text[written:])
        answer = Answer(
            answer=extracted.text,
            mode=AnswerMode.EXTRACTIVE,
            refused=False,
            citations=listed.citations,
            sources=sources(self.consulted.context),
            degraded=degraded,
            statements=tuple(Statement(start, end, True) for (start, end), _ in extracted.claims),
            exercise=self.exercise,
        )
        yield Finished(answer)

    def _verifier(self) -> Verifier:
        consulted = self.consulted
        language = consulted.language
        return Verifier(
            by_paragraph(consulted.context),
            consulted.terms,
            consulted.split_sentences,
            self.request.question_with_selection,
            language,
            translated=guess_language(consulted.question, language) != language,
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
        found.setdefault(one.passage.paragraph_id, _source(one))
    return tuple(found.values())


def _source(one: ContextPassage) -> Source:
    passage = one.passage
    return Source(passage.paragraph_id, passage.url, one.section, passage.heading_path, one.score)


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
