"""Writes the answer from the context: a model's text, or quotations from the book, or a refusal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import chain

from app.domain.answer import (
    TRUNCATED,
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    CitationFound,
    Confidence,
    Finished,
    Source,
    Started,
    Statement,
    TextDelta,
    Usage,
)
from app.domain.answering.cited_answer import CitedAnswerBuilder, coverage
from app.domain.answering.exercises import Solutions
from app.domain.answering.extractive import ExtractiveAnswer, paragraphs_to_read
from app.domain.answering.notices import (
    HINT,
    READ_FIRST,
    UNCERTAIN,
    do_not_mention,
    in_language,
    other_language,
    refusal_text,
)
from app.domain.answering.relevance import Relevance
from app.domain.answering.units import SplitSentences
from app.domain.answering.verification import CitationList, Quote, Verifier, by_paragraph
from app.domain.errors import BudgetSpent, ProviderError, ProviderUnavailable
from app.domain.generated_text.events import GeneratedEnd, GeneratedText
from app.domain.generated_text.splitter import UNIT_CHARS
from app.domain.prompts import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Hit
from app.domain.terms import words
from app.services.consultation import Consultation
from app.services.extractive_answers import ExtractAnswer
from app.services.ports import Generator
from app.services.provider_failures import degraded_by
from app.services.recording import failed_step, stage

_log = logging.getLogger(__name__)

NEAREST_SECTIONS = 3
"""Number of sections listed in a refusal."""
PARAGRAPHS_TO_READ = 5
"""Number of paragraphs to read before an exercise."""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The use case."""

    extract: ExtractAnswer
    model: Generator | None = None
    """Writes the answers; without one, they are extractive."""

    async def events(self, read: Consultation) -> AsyncGenerator[AnswerEvent, None]:
        """Yield the events of the answer. Raises ProviderError."""
        solutions = read.request.solutions
        # A model must not solve an exercise of which only a hint is to be shown.
        hint = read.exercise and solutions is Solutions.HINT
        hides = read.exercise and solutions is Solutions.HIDE
        if self.model and not (read.refused or read.verbatim or hint or hides):
            async with aclosing(self._generated(self.model, read)) as events:
                async for event in events:
                    yield event
            return
        for event in self._to_read_first(read) if hides else await self._extracted(read):
            yield event

    async def _extracted(self, read: Consultation) -> Iterator[AnswerEvent]:
        if read.refused:
            return refuse(read)
        with stage("generation"):
            found = await self.extract.of(read)
        if not found.claims:
            return refuse(read)
        started = Started(AnswerMode.EXTRACTIVE, sources(read.context), read.confidence)
        return chain([started], quoted(found, read))

    async def _generated(
        self, model: Generator, read: Consultation
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Verify the model's text as it comes; text that the book does not support is not shown.

        If nothing of it can be shown, quotations or a refusal replace it.
        """
        # A model takes seconds to its first token, so the sources are sent before.
        yield Started(AnswerMode.GENERATED, sources(read.context), read.confidence)
        builder = CitedAnswerBuilder(verifier_of(read, self.extract.split_sentences))
        end: GeneratedEnd | ProviderError
        try:
            async with aclosing(model.generate(read.generation)) as events:
                while True:
                    with stage("generation"):
                        event = await anext(events, None)
                    if event is None or isinstance(event, GeneratedEnd):
                        break
                    for part in _parts(event) if isinstance(event, GeneratedText) else (event,):
                        with stage("verification"):
                            shown = builder.take(part)
                        for one in shown:
                            yield one
                        await asyncio.sleep(0)
            end = event or ProviderUnavailable("the model stopped before the end of its answer")
        except ProviderError as error:
            end = error
        with stage("verification"):
            rest: Sequence[AnswerEvent] = builder.close()
        for last in (*rest, *await self._ending(read, builder, end)):
            yield last

    async def _ending(
        self, read: Consultation, builder: CitedAnswerBuilder, end: GeneratedEnd | ProviderError
    ) -> Sequence[AnswerEvent]:
        """Return the last events of a model's answer."""
        refused = isinstance(end, GeneratedEnd) and end.finish_reason == NO_ANSWER
        if isinstance(end, GeneratedEnd) and builder.empty and not refused:
            end = ProviderUnavailable("the model wrote nothing")
        usage = end.usage if isinstance(end, GeneratedEnd) else Usage()
        if builder.text.strip():
            return [Finished(_written(_degraded(read, builder, end), builder, usage))]
        low = read.scored is Confidence.NOT_IN_BOOK and not read.exercise
        outage = isinstance(end, ProviderError) and not isinstance(end, BudgetSpent) and end
        if outage and low:
            raise outage  # never reported as "not in the book"
        if refused or builder.recited:
            low = builder.recited or read.scored is not Confidence.ANSWERED
            read = replace(read, confidence=Confidence.UNCERTAIN)
        else:
            read = _degraded(read, builder, end)
        instead = ExtractiveAnswer("", ()) if low else await self.extract.of(read)
        if instead.claims:
            return [*quoted(instead, read, usage)]
        if outage:
            raise outage
        return [*refuse(read, usage)]

    def _to_read_first(self, read: Consultation) -> Iterator[AnswerEvent]:
        """Answer an exercise with a list of the paragraphs to read before it."""
        text = in_language(READ_FIRST, read.analysis.asked_in)
        relevance = Relevance(read.analysis.features, read.context, self.extract.split_sentences)
        first = tuple(map(source_of, paragraphs_to_read(relevance)[:PARAGRAPHS_TO_READ]))
        yield Started(AnswerMode.EXTRACTIVE, first)
        yield TextDelta(text)
        yield Finished(
            Answer(
                answer=text,
                mode=AnswerMode.EXTRACTIVE,
                sources=first,
                degraded=read.found.degraded,
                exercise=read.exercise,
            )
        )


def verifier_of(read: Consultation, split_sentences: SplitSentences) -> Verifier:
    analysis, language = read.analysis, read.analysis.features.language
    selection = read.request.selection
    selected = words(selection.text) if selection else ()
    return Verifier(
        by_paragraph(read.context),
        analysis.features.terms,
        split_sentences,
        analysis.words.union(selected),
        language,
        translated=analysis.asked_in != language,
    )


def _parts(event: GeneratedText) -> Iterator[GeneratedText]:
    """Cut a long text, so that other requests are served between its parts."""
    for at in range(0, len(event.text), UNIT_CHARS):
        yield replace(event, text=event.text[at : at + UNIT_CHARS])


def _degraded(
    read: Consultation, builder: CitedAnswerBuilder, end: GeneratedEnd | ProviderError
) -> Consultation:
    """Return `read` with what was wrong with the model's text, if anything, in `degraded`."""
    if isinstance(end, ProviderError):
        step = degraded_by(_log, "answer.generator_failed", "generator", end)
    elif builder.unsupported or not builder.text.strip():
        step = "unsupported"
        failed_step(step, step, "the book supports too little of the text")
    elif end.truncated or builder.truncated:
        step = TRUNCATED
    else:
        return read
    degraded = tuple(dict.fromkeys((*read.found.degraded, step)))
    return replace(read, found=replace(read.found, degraded=degraded))


def _written(read: Consultation, builder: CitedAnswerBuilder, usage: Usage) -> Answer:
    # The model's citations are stronger evidence than the score.
    answer = replace(
        _answer(read, AnswerMode.GENERATED, builder.text, builder.citations, builder.statements),
        usage=usage,
        citation_precision=builder.precision,
    )
    return replace(answer, confidence=Confidence.ANSWERED) if builder.citations else answer


def _answer(
    read: Consultation,
    mode: AnswerMode,
    text: str,
    citations: tuple[Citation, ...],
    statements: tuple[Statement, ...],
) -> Answer:
    return Answer(
        answer=text,
        mode=mode,
        confidence=read.confidence,
        citations=citations,
        sources=sources(read.context),
        degraded=read.found.degraded,
        statements=statements,
        coverage=coverage(statements),
        exercise=read.exercise,
    )


def quoted(
    found: ExtractiveAnswer, read: Consultation, usage: Usage | None = None
) -> Iterator[AnswerEvent]:
    """Yield an extractive answer after its first event: quotations, each with its citation.

    Link policy and prompt guard do not apply to the book's own words.
    """
    notice = _notice(read)
    text, at = notice + found.text, 0
    cited = CitationList(by_paragraph(read.context))
    statements = []
    for (start, end), unit in found.claims:
        span = start + len(notice), end + len(notice)
        yield TextDelta(text[at : span[1]])
        at = span[1]
        statements.append(Statement(*span, supported=True))
        quote = Quote(read.context[unit.passage], unit.start, unit.end)
        if citation := cited.add(span, quote):
            yield CitationFound(citation)
    if at < len(text):
        yield TextDelta(text[at:])
    answer = _answer(read, AnswerMode.EXTRACTIVE, text, cited.citations, tuple(statements))
    yield Finished(replace(answer, passages=found.passages, usage=usage or Usage()))


def _notice(read: Consultation) -> str:
    """Return the notice above the quotations of a hint or an uncertain answer; else ""."""
    analysis = read.analysis
    if read.exercise and read.request.solutions is Solutions.HINT:
        return in_language(HINT, analysis.asked_in) + "\n\n"
    if read.confidence is not Confidence.UNCERTAIN:
        return ""
    hint = other_language(analysis.asked_in, analysis.features.language)
    notice = in_language(UNCERTAIN, analysis.asked_in)
    return " ".join(filter(None, (notice, do_not_mention(read.unmentioned), hint))) + "\n\n"


def refuse(read: Consultation, usage: Usage | None = None) -> Iterator[AnswerEvent]:
    """Yield a refusal; after a model's reply, whose `usage` is given, without the Started event."""
    sections = nearest_sections(read.found.hits)
    asked_in = read.analysis.asked_in
    text = refusal_text(asked_in, len(sections))
    if usage is None:
        yield Started(AnswerMode.REFUSED, sections, Confidence.NOT_IN_BOOK)
        hint = other_language(asked_in, read.analysis.features.language)
        text = f"{text} {hint}".rstrip()
    yield TextDelta(text)
    yield Finished(
        Answer(
            answer=text,
            mode=AnswerMode.REFUSED,
            confidence=Confidence.NOT_IN_BOOK,
            sources=sections,
            degraded=read.found.degraded,
            usage=usage or Usage(),
        )
    )


def sources(context: Sequence[ContextPassage]) -> tuple[Source, ...]:
    """Return the paragraphs of the context, each once, best first."""
    found: dict[str, Source] = {}
    for one in sorted(context, key=lambda one: -one.score):
        found.setdefault(one.passage.paragraph_id, source_of(one))
    return tuple(found.values())


def source_of(one: ContextPassage) -> Source:
    passage = one.passage
    return Source(passage.paragraph_id, passage.url, one.section, passage.heading_path, one.score)


def nearest_sections(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """Return the sections of the best hits, best first."""
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
