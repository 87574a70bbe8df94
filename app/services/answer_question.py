"""Answers a question from the book: consult, refuse or write, suggest."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import islice

from app.domain.answer import Answer, AnswerEvent, AnswerMode, Finished, TextDelta
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.follow_ups import MAX_SUGGESTIONS, suggestions
from app.domain.answering.intents import (
    SMALL_TALK,
    Intent,
    IntentKind,
    about_the_book,
    intent_of,
    resumed,
)
from app.domain.answering.request import AskRequest, Scope, recent, require_question
from app.domain.languages import notices
from app.domain.terms import words
from app.services.book_scope import BookScope, scope_of
from app.services.chapter_requests import ConsultChapters
from app.services.consultation import Consultation, ConsultBook
from app.services.question_log import QuestionLog
from app.services.recording import Recording, current, stage
from app.services.show_figures import ShowFigures
from app.services.write_answer import WriteAnswer

_log = logging.getLogger(__name__)

HISTORY_TOKENS = 1_000
"""Token budget of the conversation, a third of the context's: the latest turns are kept."""


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """The use case: the steps of an answer."""

    consult: ConsultBook
    chapters: ConsultChapters
    write: WriteAnswer
    figures: ShowFigures
    question_log: QuestionLog | None = None
    """The owner's log of readers' questions; None if it is off."""

    async def answer(self, request: AskRequest) -> Answer:
        """Return the whole answer. Raises as `stream` does."""
        return await whole_answer(self.stream(request))

    async def stream(self, request: AskRequest) -> AsyncGenerator[AnswerEvent, None]:
        """Yield Started, then TextDelta and CitationFound interleaved, then Finished.

        Raises QuestionError before the first event, the errors of retrieval, and a ProviderError
        if the model fails and no passage can replace its answer. The mode in Started is planned,
        the one in Finished is final.
        """
        record = current()
        require_question(request.question)
        scope = await scope_of(self.consult.places.index, request.filter, request.page_url)
        found = await self._read(request, scope)
        async with aclosing(self.write.events(found)) as events:
            async for event in events:
                if isinstance(event, TextDelta) and record.first_text_ms is None:
                    record.first_text_ms = record.ms
                if isinstance(event, Finished):
                    answer = await self._completed(event.answer, found)
                    yield Finished(self._recorded(request, answer, record, scope))
                else:
                    yield event

    def _recorded(
        self, request: AskRequest, answer: Answer, record: Recording, scope: BookScope
    ) -> Answer:
        """Record the answer. A reader's gets the id of its log entry."""
        if self.question_log and request.by_reader:
            answer = self.question_log.add(request, answer, record, scope.every)
        record.answer = answer
        fields: dict[str, object] = {
            "books": request.filter.books,
            "mode": answer.mode,
            "confidence": answer.confidence,
            "degraded": answer.degraded,
        }
        _log.info("answer.finished", extra=fields | record.fields())
        return answer

    async def _read(self, request: AskRequest, scope: BookScope) -> Consultation | Answer:
        """Return the context for the question, or the part of the book that it requests.

        Small talk and clarifying questions are answers already. If the reader's edition does not
        answer the question, the default edition is consulted.
        """
        typed = intent_of(words(request.question))
        if typed and typed.kind in SMALL_TALK:
            spoken = notices(typed.language)
            reply = spoken.greeting if typed.kind is IntentKind.GREETING else spoken.thanks
            return Answer(answer=reply, mode=AnswerMode.SMALL_TALK)
        question, scope = _in_named_book(request, scope)
        history = about_the_book(request.history)
        request = replace(
            request,
            question=question,
            history=recent(history, HISTORY_TOKENS, self.consult.retrieve.count_tokens),
        )
        asked = request.intent or intent_of(words(request.question))
        intent = None if request.selection else asked
        located = await self.consult.places.located(scope, request.page_url, request.scope)
        found = await self._consult(request, intent, located)
        default = scope.in_default_editions()
        if default and _refuses(found) and request.scope in (None, Scope.BOOK):
            instead = await self._consult(replace(request, page_url=""), intent, default)
            return found if _refuses(instead) else instead
        return found

    async def _consult(
        self, request: AskRequest, intent: Intent | None, scope: BookScope
    ) -> Consultation | Answer:
        found = await self.chapters.read(intent, request, scope) if intent else None
        if isinstance(found, AskRequest):
            return await self.consult.read(found, scope.within(found.filter))
        return found or await self.consult.read(request, scope)

    async def _completed(self, answer: Answer, found: Consultation | Answer) -> Answer:
        """Add figures, the corrected question and follow-up questions."""
        if isinstance(found, Answer):
            return answer
        with stage("figures"):
            answer = await self.figures.of(answer, found)
        answer = replace(answer, searched_for=found.searched_for)
        if answer.refused:
            return answer
        asked, cited = found.analysis, {(one.book, one.file) for one in answer.citations}
        hits = found.found.hits
        near = sorted(hits, key=lambda hit: (hit.chunk.book, hit.chunk.file) not in cited)
        with stage("follow_ups"):
            some = suggestions(asked.own_terms, near, asked.terms, asked.asked_in)
            questions = tuple(one.question for one in islice(some, MAX_SUGGESTIONS))
        return replace(answer, follow_ups=questions)

    @property
    def model(self) -> str:
        """Name of the model that writes the answers; "" if they are extractive."""
        return self.write.model.model if self.write.model else ""

    @property
    def refusal_policy(self) -> RefusalPolicy:
        """The policy of the score in use."""
        policy, reranker = self.consult.refusal_policy, self.consult.retrieve.reranker
        return policy.of_relevance() if reranker and reranker.calibrated else policy


def _in_named_book(request: AskRequest, scope: BookScope) -> tuple[str, BookScope]:
    """Return the request for a part of a book without the book's name, with the book as its scope.

    "Chapter 3 of economics" names it; so does the reply "economics" to "Which book do you mean?".
    """
    said = words(request.question)
    for one in scope.books.named():
        for name in (words(one.title), words(one.book)):
            if {*name} <= {*said}:
                others = " ".join(word for word in said if word not in name)
                asked = resumed(others, request.history)
                intent = intent_of(words(asked))
                if intent and isinstance(intent.chapter, int):
                    return asked, scope.within(replace(scope.filter, books=(one.book,)))
    return resumed(request.question, request.history), scope


def _refuses(found: Consultation | Answer) -> bool:
    return isinstance(found, Consultation) and not found.context


async def whole_answer(events: AsyncGenerator[AnswerEvent, None]) -> Answer:
    """Return the answer that the events end with."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Finished):
                return event.answer
    raise AssertionError("the answer's stream ended without a Finished event")
