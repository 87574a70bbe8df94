"""Answers a question from the book: consult, refuse or generate, verify, link, suggest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    Confidence,
    Finished,
    Source,
    Started,
    TextDelta,
    Usage,
)
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.cited_answer import CitedAnswerBuilder
from app.domain.answering.conversation import about_the_book, resumed
from app.domain.answering.exercises import Solutions
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.extractive import paragraphs_to_read
from app.domain.answering.follow_ups import MAX_SUGGESTIONS, suggestions
from app.domain.answering.notices import READ_FIRST, in_language
from app.domain.answering.part_requests import Intent, intent_of
from app.domain.answering.request import AskRequest, Scope, recent, require_length
from app.domain.answering.small_talk import small_talk_reply
from app.domain.answering.units import SplitSentences
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.errors import (
    EMPTY_QUESTION,
    ProviderUnavailable,
    QuestionError,
)
from app.domain.generated_text.splitter import UNIT_CHARS
from app.domain.indexed_book import BookList
from app.domain.terms import words
from app.services.book_scope import BookScope, scope_of
from app.services.chapter_requests import Clarification, ConsultChapters
from app.services.consultation import Consultation, ConsultBook
from app.services.generators import (
    FallbackGenerator,
    GeneratedEnd,
    GeneratedText,
    Generator,
    GeneratorEvent,
)
from app.services.question_log import QuestionLog
from app.services.quote_links import LinkQuotes
from app.services.recording import Recording, current, stage
from app.services.show_figures import ShowFigures
from app.services.written_answer import WrittenAnswer, finish_refusal, refuse, source_of

_logger = logging.getLogger(__name__)

HISTORY_TOKENS = 1_000
"""Token budget of the conversation, a third of the context's: the latest turns are kept."""
PARAGRAPHS_TO_READ = 5
"""Number of paragraphs to read before an exercise."""


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """The use case: the steps of an answer, the same for all generators."""

    consult: ConsultBook
    chapters: ConsultChapters
    generator: Generator
    """Writes the answers: the extractive generator, or a model (see `written_by`)."""
    extractive: Generator
    """Writes hints for exercises, which a model must not solve."""
    split_sentences: SplitSentences
    links: LinkQuotes
    figures: ShowFigures
    count_tokens: Callable[[str], int]
    question_log: QuestionLog | None = None
    """The owner's log of readers' questions; None if it is off."""

    def written_by(self, model: Generator) -> AnswerQuestion:
        """Return a copy in which a model writes the answers, with quotations as its fallback."""
        policy = replace(self.consult.refusal_policy, model=True)
        return replace(
            self,
            generator=FallbackGenerator(model, self.extractive),
            consult=replace(self.consult, refusal_policy=policy),
        )

    async def answer(self, request: AskRequest) -> Answer:
        """Return the whole answer. Raises as `stream` does."""
        return await whole_answer(self.stream(request))

    async def stream(self, request: AskRequest) -> AsyncGenerator[AnswerEvent, None]:
        """Yield Started, then TextDelta and CitationFound interleaved, then Finished.

        Raises QuestionError before the first event, the errors of retrieval, and a ProviderError
        if the generator fails and no passage can replace its answer. The mode in Started is
        planned, the one in Finished is final.
        """
        record = current()
        self._check(request.question)
        scope = await scope_of(self.consult.places.index, request.filter, request.page_url)
        async with aclosing(self._stream(request, scope)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    yield self._recorded(request, event, record, scope.every)
                    continue
                if record.first_text_ms is None and isinstance(event, TextDelta):
                    record.first_text_ms = record.ms
                yield event

    def _recorded(
        self, request: AskRequest, event: Finished, record: Recording, books: BookList
    ) -> Finished:
        """Log the answer; a reader's gets the id of its entry in the question log."""
        if self.question_log and request.reader:
            event = Finished(self.question_log.add(request, event.answer, record, books))
        record.answer = event.answer
        self._log(request, event.answer, record)
        return event

    def _log(self, request: AskRequest, answer: Answer, record: Recording) -> None:
        if not _logger.isEnabledFor(logging.INFO):
            return
        fields: dict[str, object] = {
            "books": request.filter.books,
            "mode": answer.mode,
            "confidence": answer.confidence,
            "degraded": answer.degraded,
            **record.fields(),
        }
        _logger.info("answer.finished", extra=fields)

    async def _stream(
        self, request: AskRequest, scope: BookScope
    ) -> AsyncGenerator[AnswerEvent, None]:
        if reply := small_talk_reply(words(request.question)):
            for event in _reply(reply, AnswerMode.SMALL_TALK):
                yield event
            return
        history = about_the_book(request.history)
        request = replace(
            request,
            question=resumed(request.question, request.history),
            history=recent(history, HISTORY_TOKENS, self.count_tokens),
        )
        asked = request.intent or intent_of(words(request.question))
        intent = None if request.selection else asked
        read = await self._consult(request, intent, scope)
        if isinstance(read, Clarification):
            for event in _reply(read.text, AnswerMode.CLARIFICATION, read.sources):
                yield event
            return
        linked: dict[Citation, Citation] = {}
        async with aclosing(self._answered(read)) as events:
            async for event in events:
                with stage("links"):
                    shown = await self.links.event(event, linked, read.scope.books)
                    if isinstance(shown, Finished):
                        shown = Finished(await self.figures.of(shown.answer, read))
                yield _completed(shown, read)

    async def _consult(
        self, request: AskRequest, intent: Intent | None, scope: BookScope
    ) -> Consultation | Clarification:
        """Return the context for the question, or the part of the book that it requests.

        If the reader's edition does not answer the question, the default edition is consulted.
        """
        found = await self._consult_books(
            request, intent, await self.consult.located(request, scope)
        )
        refused = isinstance(found, Consultation) and found.refused
        default = scope.in_default_editions()
        if default is None or not refused or request.scope not in (None, Scope.BOOK):
            return found
        instead = await self._consult_books(replace(request, page_url=""), intent, default)
        return found if isinstance(instead, Consultation) and instead.refused else instead

    async def _consult_books(
        self, request: AskRequest, intent: Intent | None, scope: BookScope
    ) -> Consultation | Clarification:
        found = await self.chapters.read(intent, request, scope) if intent else None
        if isinstance(found, AskRequest):
            return await self.consult.read(found, scope.within(found.filter))
        return found or await self.consult.read(request, scope)

    async def answerability(self, request: AskRequest) -> float:
        """Return the answerability score, 0 to 1. Raises as `stream` does."""
        self._check(request.question)
        return (await self.consult.read(request)).score

    @property
    def refusal_policy(self) -> RefusalPolicy:
        """The policy of the score in use."""
        policy, reranker = self.consult.refusal_policy, self.consult.retrieve.reranker
        return policy.of_relevance() if reranker and reranker.calibrated else policy

    def _check(self, question: str) -> None:
        if not question.strip():
            raise QuestionError(EMPTY_QUESTION)
        require_length(question)

    def _answered(self, read: Consultation) -> AsyncGenerator[AnswerEvent, None]:
        """Return the events of the answer."""
        solutions = read.request.solutions
        if read.refused:
            return _each(refuse(read))
        if read.exercise and solutions is Solutions.HIDE:
            return _each(self._to_read_first(read))
        quotes = read.verbatim or (read.exercise and solutions is Solutions.HINT)
        return self._written(self.extractive if quotes else self.generator, read)

    async def _written(
        self, generator: Generator, read: Consultation
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Run the generator and verify its citations as they come.

        Unsupported text is never shown: quotations from the book replace it.
        """
        writing = self._writing(read, generator, read.found.degraded)
        async with aclosing(_events(generator, writing)) as events:
            async for event in events:
                yield event
        if not writing.unsupported:
            return
        usage = writing.usage or Usage()
        if not read.exercise and read.scored is Confidence.NOT_IN_BOOK:
            if "generator" in writing.degraded:
                message = "the generator failed before it wrote what the book supports"
                raise ProviderUnavailable(message)
            for event in finish_refusal(read, usage):
                yield event
            return
        instead = self._writing(read, self.extractive, writing.degraded)
        instead.started, instead.usage = True, usage
        async with aclosing(_events(self.extractive, instead)) as events:
            async for event in events:
                yield event

    def _writing(
        self, read: Consultation, generator: Generator, degraded: tuple[str, ...]
    ) -> WrittenAnswer:
        builder = partial(CitedAnswerBuilder, self._verifier(read))
        return WrittenAnswer(read, builder, generator.mode, degraded)

    def _to_read_first(self, read: Consultation) -> Iterator[AnswerEvent]:
        """Answer an exercise with a list of the paragraphs to read before it."""
        text = in_language(READ_FIRST, read.analysis.asked_in)
        given = ExtractionInput(read.analysis.features, read.context, self.split_sentences)
        first = tuple(map(source_of, paragraphs_to_read(given)[:PARAGRAPHS_TO_READ]))
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

    def _verifier(self, read: Consultation) -> Verifier:
        analysis, language = read.analysis, read.analysis.features.language
        selection = read.request.selection
        selected = words(selection.text) if selection else ()
        return Verifier(
            by_paragraph(read.context),
            analysis.features.terms,
            self.split_sentences,
            analysis.words.union(selected),
            language,
            translated=analysis.asked_in != language,
        )


async def _each(events: Iterator[AnswerEvent]) -> AsyncGenerator[AnswerEvent, None]:
    for event in events:
        yield event


async def _events(
    generator: Generator, writing: WrittenAnswer
) -> AsyncGenerator[AnswerEvent, None]:
    # A model takes seconds to its first token, so the sources are sent before. Quotations are
    # available at once, so the Started event is sent with the first one.
    if writing.mode is AnswerMode.GENERATED:
        for first in writing.start():
            yield first
    async with aclosing(generator.generate(writing.read.generation)) as events:
        while True:
            with stage("generation"):
                event = await anext(events, None)
            if event is None:
                break
            for part in _parts(event):
                with stage("verification"):
                    verified = list(writing.take(part))
                for shown in verified:
                    yield shown
                await asyncio.sleep(0)
            if isinstance(event, GeneratedEnd):
                return
    message = "the generator stopped before the end of its answer"
    raise ProviderUnavailable(message)


def _parts(event: GeneratorEvent) -> Iterator[GeneratorEvent]:
    """Cut a long text, so that other requests are served between its parts."""
    if not isinstance(event, GeneratedText):
        yield event
        return
    for at in range(0, len(event.text), UNIT_CHARS):
        yield replace(event, text=event.text[at : at + UNIT_CHARS])


def _completed(event: AnswerEvent, read: Consultation) -> AnswerEvent:
    """Add the corrected question to the last event, and follow-up questions to an answer."""
    if not isinstance(event, Finished):
        return event
    event = Finished(replace(event.answer, searched_for=read.searched_for))
    if event.answer.refused:
        return event
    asked = read.analysis
    cited = {(one.book, one.file) for one in event.answer.citations}
    near = sorted(read.hits, key=lambda hit: (hit.chunk.book, hit.chunk.file) not in cited)
    with stage("follow_ups"):
        found = suggestions(asked.own_terms, near, asked.features.terms, asked.asked_in)
        return Finished(replace(event.answer, follow_ups=tuple(islice(found, MAX_SUGGESTIONS))))


def _reply(text: str, mode: AnswerMode, sources: tuple[Source, ...] = ()) -> Iterator[AnswerEvent]:
    yield Started(mode, sources)
    yield TextDelta(text)
    yield Finished(Answer(answer=text, mode=mode, sources=sources))


async def whole_answer(events: AsyncGenerator[AnswerEvent, None]) -> Answer:
    """Return the answer that the events end with."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Finished):
                return event.answer
    message = "the answer's stream ended without a Finished event"
    raise RuntimeError(message)
