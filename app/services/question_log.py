"""The owner's question log: opt-in, without personal data, written in the background."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from app.domain.answer import Answer, AnswerMode
from app.domain.answering.request import AskRequest
from app.domain.characters import printable
from app.domain.errors import AnswerNotFound, InputError, StorageError
from app.domain.indexed_book import BookList
from app.domain.logged_answer import (
    MAX_REASON_CHARS,
    Feedback,
    LoggedAnswer,
    logged_paragraphs,
)
from app.domain.personal_data import without_personal_data
from app.services.recording import Recording

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Selected:
    """A selection of answers; fields that are None or empty select all."""

    book: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    containing: str = ""
    """Text that the question contains, ignoring case."""
    ids: tuple[str, ...] = ()


class QuestionStore(Protocol):
    """Logged answers, shared by processes. Raises StorageError."""

    async def add(self, answers: Sequence[LoggedAnswer]) -> None: ...

    async def find(self, selected: Selected) -> list[LoggedAnswer]:
        """Return the answers in the order of their questions."""
        ...

    async def give(self, feedback: Feedback) -> None:
        """Store feedback on a logged answer; it replaces earlier feedback of the same kind."""
        ...

    async def delete(self, selected: Selected) -> int:
        """Delete answers with all feedback on them; return their number."""
        ...


@dataclass(slots=True)
class QuestionLog:
    """Writes answers in tasks of their own, so that no reader waits for the store."""

    store: QuestionStore
    keep_days: int
    """Days until answers are deleted."""
    _writing: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def add(
        self, request: AskRequest, answer: Answer, record: Recording, books: BookList
    ) -> Answer:
        """Log the answer; return it with its `answer_id`. `books` are all of the index."""
        answer = replace(answer, answer_id=secrets.token_hex(8))
        small_talk = answer.mode is AnswerMode.SMALL_TALK
        entry = LoggedAnswer(
            id=answer.answer_id,
            asked_at=datetime.now(UTC),
            book=_book_of(request, answer, books),
            # Text that is not a question may be a name or a greeting: it is not stored.
            question="" if small_talk else printable(without_personal_data(request.question)),
            mode=answer.mode,
            confidence=answer.confidence,
            degraded=answer.degraded,
            usd=record.usd,
            citations=logged_paragraphs((*answer.citations, *answer.passages)),
            sources=logged_paragraphs(answer.sources),
        )
        task = asyncio.create_task(self._write(entry))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return answer

    async def give(self, feedback: Feedback, books: Sequence[str] = ()) -> None:
        """Store a reader's feedback.

        AnswerNotFound unless the answer is logged and of one of these books (empty: of any).
        InputError for a paragraph that the answer does not have.
        """
        await self.written()
        found = await self.store.find(Selected(ids=(feedback.answer_id,)))
        if not found or (books and found[0].book not in books):
            message = f"no answer {feedback.answer_id!r} is in the log"
            raise AnswerNotFound(message)
        known = {one.paragraph_id for one in found[0].paragraphs}
        if feedback.mark and feedback.mark.paragraph_id not in known:
            message = f"the answer has no paragraph {feedback.mark.paragraph_id!r}"
            raise InputError(message)
        if feedback.reason is not None:
            reason = printable(without_personal_data(feedback.reason))[:MAX_REASON_CHARS]
            feedback = replace(feedback, reason=reason)
        await self.store.give(feedback)

    async def written(self) -> None:
        """Wait until all answers so far are stored or have failed to be stored."""
        await asyncio.gather(*self._writing)

    async def _write(self, entry: LoggedAnswer) -> None:
        """Store an answer and delete old ones."""
        try:
            await self.store.add([entry])
            oldest = entry.asked_at - timedelta(days=self.keep_days)
            await self.store.delete(Selected(before=oldest))
        except StorageError as error:
            _log.error("question_log.failed", extra={"reason": str(error)})


def _book_of(request: AskRequest, answer: Answer, books: BookList) -> str:
    """The cited book, else the only book asked, else the book of the best source or the page."""
    if answer.citations:
        return answer.citations[0].book
    asked = request.filter.books or tuple(books)
    if len(asked) == 1:
        return asked[0]
    url = answer.sources[0].url if answer.sources else request.page_url
    nearest = [one for one in books.named() if one.base_url and url.startswith(one.base_url)]
    return max(nearest, key=lambda one: len(one.base_url)).book if nearest else ""
