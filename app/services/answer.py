"""Answer a question from the book: consult, refuse or write, verify, link, suggest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    CitationFound,
    Confidence,
    Finished,
    Source,
    Started,
    TextDelta,
    Usage,
)
from app.domain.answering.cited_answer import CitedAnswerBuilder, coverage
from app.domain.answering.exercises import Solutions, read_first
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.extractive import to_read
from app.domain.answering.history import recent
from app.domain.answering.intents import requested
from app.domain.answering.languages import other_language, refusal_text, uncertainty_notice
from app.domain.answering.refusal import RefusalPolicy
from app.domain.answering.request import AskRequest
from app.domain.answering.small_talk import small_talk_reply
from app.domain.answering.units import SplitSentences
from app.domain.answering.verification import Quote, Verifier, by_paragraph
from app.domain.errors import ProviderUnavailable, QuestionError
from app.domain.prompting import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Hit
from app.services.chapters import Clarification, ConsultChapters
from app.services.consultation import Consultation, ConsultBook
from app.services.fallback_generator import FallbackGenerator
from app.services.follow_ups import SuggestFollowUps
from app.services.ports import (
    GeneratedCitation,
    GeneratedEnd,
    GeneratedQuote,
    GeneratedText,
    Generator,
    GeneratorReplaced,
)
from app.services.quote_links import LinkQuotes

SEARCHES_AT_ONCE = 24
"""Questions that are searched for at a time; the others wait for their turn. Else all of a crowd's
calls to a provider would be made first, and then time out while the processor is at work."""
NEAREST_SECTIONS = 3
"""Links that a refusal gives."""
READ_FIRST = 5
"""Paragraphs to read before an exercise."""


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """The use case: one line of steps, whoever writes."""

    consult: ConsultBook
    chapters: ConsultChapters
    generator: Generator
    """Writes the answers: the extractive one, or a model (`written_by`)."""
    extractive: Generator
    """Writes the hints to an exercise, which no model is to solve."""
    split_sentences: SplitSentences
    links: LinkQuotes
    suggest: SuggestFollowUps
    count_tokens: Callable[[str], int]
    history_tokens: int = 1_000
    """Token budget of the conversation so far; its latest turns are kept."""
    max_question_chars: int = 4_000
    _turns: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(SEARCHES_AT_ONCE), compare=False, repr=False
    )

    def written_by(self, model: Generator) -> AnswerQuestion:
        """The same use case with a model that writes, and quotations where the model fails."""
        refusal = replace(self.consult.refusal, model=True)
        return replace(
            self,
            generator=FallbackGenerator(model, self.extractive, refusal),
            consult=replace(self.consult, refusal=refusal),
        )

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

        Raises QuestionError before the first event, what retrieval raises, and any ProviderError
        once the generator has begun to write. The mode in Started is a plan, the one in Finished
        the fact.
        """
        self._check(request.question)
        if reply := small_talk_reply(request.question):
            for event in _reply(reply, AnswerMode.SMALL_TALK):
                yield event
            return
        history = recent(request.history, self.history_tokens, self.count_tokens)
        async with self._turns:
            read = await self._consult(replace(request, history=history))
        if isinstance(read, Clarification):
            for event in _reply(read.text, AnswerMode.CLARIFICATION, read.sources):
                yield event
            return
        async with aclosing(self._events(read)) as events:
            async for event in events:
                yield await self._with_follow_ups(await self.links.event(event), read)

    async def _consult(self, request: AskRequest) -> Consultation | Clarification:
        """What the book has for the question, or for the part of it that the question names."""
        intent = None if request.selection else requested(request.question)
        found = await self.chapters.read(intent, request) if intent else None
        if found is None or isinstance(found, AskRequest):
            return await self.consult.read(found or request)
        return found

    async def answerability(self, request: AskRequest) -> float:
        """What the thresholds are compared with, 0 to 1. Raises as `stream` does."""
        self._check(request.question)
        return (await self.consult.read(request)).score

    @property
    def refusal(self) -> RefusalPolicy:
        return self.consult.refusal

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

    async def _events(self, read: Consultation) -> AsyncGenerator[AnswerEvent, None]:
        solutions = read.request.solutions
        if read.refused:
            for event in _refusal(read):
                yield event
        elif read.exercise and solutions is Solutions.HIDE:
            for event in self._to_read_first(read):
                yield event
        else:
            hint = read.exercise and solutions is Solutions.HINT
            quotes = hint or read.verbatim
            written = self._written(self.extractive if quotes else self.generator, read)
            async with aclosing(written) as events:
                async for event in events:
                    yield event

    async def _written(
        self, generator: Generator, read: Consultation
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Let the generator write; verify what it cites as it comes."""
        request = read.generation
        builder = CitedAnswerBuilder(self._verifier(read, request.question))
        mode, degraded = generator.mode, read.found.degraded
        consulted = sources(read.context)
        # A model takes seconds to begin: its reader sees the sources first. Quotations are there at
        # once, so that their start says what becomes of them.
        started = mode is AnswerMode.GENERATED
        if started:
            yield Started(mode, consulted, read.confidence)
        async with aclosing(generator.generate(request)) as events:
            async for event in events:
                if isinstance(event, GeneratedEnd):
                    for shown in _deltas(*builder.close()):
                        yield shown
                    if builder.unsupported:
                        degraded = (*degraded, "unsupported")
                    if builder.unsupported and not builder.text and not builder.recited:
                        break
                    for last in self._ended(read, builder, event, mode, degraded, started=started):
                        yield last
                    return
                if not started:
                    started = True
                    yield Started(mode, consulted, read.confidence)
                if isinstance(event, GeneratorReplaced):
                    mode = event.mode
                    if event.declined:
                        read = replace(read, confidence=Confidence.UNCERTAIN)
                    else:
                        degraded = (*degraded, "generator")
                    continue
                for shown in _shown(builder, event, read):
                    yield shown
            else:
                message = "the generator stopped before the end of its answer"
                raise ProviderUnavailable(message)
        async with aclosing(self._passages_instead(read, degraded, event.usage)) as passages:
            async for shown in passages:
                yield shown

    async def _passages_instead(
        self, read: Consultation, degraded: tuple[str, ...], usage: Usage
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Quote the book, which does not support what a model wrote; refuse what would be refused
        without one. Nothing was shown so far. `usage` is the model's.
        """
        if not read.exercise and read.score < self.refusal_threshold:
            for last in _refused(read, usage):
                yield last
            return
        request = read.generation
        builder = CitedAnswerBuilder(self._verifier(read, request.question))
        async with aclosing(self.extractive.generate(request)) as events:
            async for event in events:
                if isinstance(event, GeneratedEnd):
                    end, mode = replace(event, usage=usage), self.extractive.mode
                    for last in self._ended(read, builder, end, mode, degraded, started=True):
                        yield last
                    return
                if not isinstance(event, GeneratorReplaced):
                    for shown in _shown(builder, event, read.context):
                        yield shown

    def _ended(
        self,
        read: Consultation,
        builder: CitedAnswerBuilder,
        end: GeneratedEnd,
        mode: AnswerMode,
        degraded: tuple[str, ...],
        *,
        started: bool,
    ) -> Iterator[AnswerEvent]:
        if builder.text.strip():
            statements = builder.statements()
            answer = Answer(
                answer=builder.text,
                mode=mode,
                confidence=_confidence(read, mode, builder.citations),
                citations=builder.citations,
                passages=end.passages,
                sources=sources(read.context),
                degraded=degraded,
                usage=end.usage,
                statements=statements,
                citation_precision=builder.precision,
                coverage=coverage(statements),
                exercise=read.exercise,
            )
            yield Finished(answer)
        elif not started:
            yield from _refusal(read)
        elif end.finish_reason == NO_ANSWER or builder.recited:
            yield from _refused(read, end.usage)
        else:
            message = "the generator wrote nothing"
            raise ProviderUnavailable(message)

    def _to_read_first(self, read: Consultation) -> Iterator[AnswerEvent]:
        """Name the paragraphs to read before the exercise, and no more."""
        analysis = read.analysis
        text = read_first(analysis.asked_in)
        given = ExtractionInput(
            analysis.question,
            read.context,
            analysis.weights,
            analysis.terms,
            self.split_sentences,
            analysis.language,
        )
        first = tuple(map(_source, to_read(given)[:READ_FIRST]))
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

    async def _with_follow_ups(self, event: AnswerEvent, read: Consultation) -> AnswerEvent:
        """The event; the end of an answer with questions that go on from it."""
        if not isinstance(event, Finished) or event.answer.refused:
            return event
        cited = {(one.book, one.file) for one in event.answer.citations}
        near = sorted(read.hits, key=lambda hit: (hit.chunk.book, hit.chunk.file) not in cited)
        async with self._turns:
            questions = await self.suggest.after(read.analysis, near, read.scope)
        return Finished(replace(event.answer, follow_ups=questions))

    def _verifier(self, read: Consultation, question: str) -> Verifier:
        analysis, language = read.analysis, read.analysis.language
        return Verifier(
            by_paragraph(read.context),
            analysis.terms,
            self.split_sentences,
            question,
            language,
            translated=analysis.asked_in != language,
        )


def _shown(
    builder: CitedAnswerBuilder,
    event: GeneratedText | GeneratedCitation | GeneratedQuote,
    read: Consultation,
) -> Iterator[AnswerEvent]:
    if isinstance(event, GeneratedText):
        yield from _deltas(*builder.write(event.text, in_place=event.citations_in_place))
    elif isinstance(event, GeneratedCitation):
        yield from _deltas(*builder.cite((event.start, event.end), event.paragraph_ids))
    else:
        quote = Quote(read.context[event.passage], event.start, event.end)
        before = event.before if builder.text else _notice(read) + event.before
        yield from _deltas(*builder.quote(before, event.text, quote))
        if event.after:
            yield TextDelta(builder.end_quotes(event.after))


def _notice(read: Consultation) -> str:
    """The paragraph above quotations that may not answer; "" above those that do."""
    if read.confidence is not Confidence.UNCERTAIN:
        return ""
    asked_in = read.analysis.asked_in
    hint = other_language(asked_in, read.analysis.language)
    return f"{uncertainty_notice(asked_in)} {hint}".rstrip() + "\n\n"


def _confidence(read: Consultation, mode: AnswerMode, citations: Sequence[Citation]) -> Confidence:
    """That of the score, unless a model has read the passages and cites them."""
    written = mode is AnswerMode.GENERATED and citations
    return Confidence.ANSWERED if written else read.confidence


def _deltas(text: str, citations: Sequence[Citation]) -> Iterator[AnswerEvent]:
    if text:
        yield TextDelta(text)
    for citation in citations:
        yield CitationFound(citation)


def _reply(text: str, mode: AnswerMode, sources: tuple[Source, ...] = ()) -> Iterator[AnswerEvent]:
    yield Started(mode, sources)
    yield TextDelta(text)
    yield Finished(Answer(answer=text, mode=mode, sources=sources))


def _refusal(read: Consultation) -> Iterator[AnswerEvent]:
    sections = nearest_sections(read.found.hits)
    yield Started(AnswerMode.REFUSED, sections, Confidence.NOT_IN_BOOK)
    hint = other_language(read.analysis.asked_in, read.analysis.language)
    yield from _refused(read, Usage(), hint)


def _refused(read: Consultation, usage: Usage, hint: str = "") -> Iterator[AnswerEvent]:
    sections = nearest_sections(read.found.hits)
    plain = refusal_text(read.analysis.asked_in, len(sections))
    text = f"{plain} {hint}".rstrip()
    yield TextDelta(text)
    yield Finished(
        Answer(
            answer=text,
            mode=AnswerMode.REFUSED,
            confidence=Confidence.NOT_IN_BOOK,
            sources=sections,
            degraded=read.found.degraded,
            usage=usage,
        )
    )


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
