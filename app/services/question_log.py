"""The owner's question log, opt-in and without personal data, and the report on it."""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from app.domain.answer import Answer, AnswerMode
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.characters import printable
from app.domain.errors import AnswerNotFound, BookNotFound, InputError, StorageError
from app.domain.indexed_book import BookList
from app.domain.languages import FUNCTION_WORDS, without_words
from app.domain.logged_answer import MAX_REASON_CHARS, Feedback, LoggedAnswer, logged_paragraphs
from app.domain.owner_report import OwnerReport, is_question, owner_report
from app.domain.personal_data import without_personal_data
from app.domain.retrieval.query import Vector
from app.services.ports import BookStore
from app.services.recording import Recording
from app.services.similarity import MODEL_LANGUAGE, SimilarityEncoder

_log = logging.getLogger(__name__)

SAME_MEANING = 0.7
"""Minimum cosine of a question and the first one of its cluster, both without function words. At
0.7 the clusters of `tests/data/student_questions.jsonl` hold paraphrases, at 0.65 other questions.
"""


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
            raise AnswerNotFound(f"no answer {feedback.answer_id!r} is in the log")
        known = {one.paragraph_id for one in found[0].paragraphs}
        if feedback.citation and feedback.citation.paragraph_id not in known:
            raise InputError(f"the answer has no paragraph {feedback.citation.paragraph_id[:80]!r}")
        if feedback.reason is not None:
            reason = printable(without_personal_data(feedback.reason))[:MAX_REASON_CHARS]
            feedback = replace(feedback, reason=reason)
        await self.store.give(feedback)

    async def written(self) -> None:
        """Wait until all answers so far are stored or have failed to be stored."""
        await asyncio.gather(*self._writing)

    async def _write(self, entry: LoggedAnswer) -> None:
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


@dataclass(frozen=True, slots=True)
class ReportQuestions:
    store: QuestionStore
    index: BookStore
    similarity: SimilarityEncoder

    async def run(self, book: str, since: datetime) -> OwnerReport:
        """Raises BookNotFound, StorageError."""
        answers = await self.store.find(Selected(book=book, since=since))
        known = await self.index.books()
        if not answers and book not in known:
            message = f"no book {book!r} in the index or the question log; see `textbook-rag books`"
            raise BookNotFound(message)
        language = known[BookId(book)].language if book in known else MODEL_LANGUAGE
        asked = [one for one in answers if is_question(one) and one.question.strip()]
        clusters = await self._clusters(asked, language)
        return owner_report(book, since, datetime.now(UTC), answers, clusters)

    async def _clusters(
        self, answers: Sequence[LoggedAnswer], language: str
    ) -> list[list[LoggedAnswer]]:
        """Divide the answers by the meaning of their questions, the most frequent ones first.

        Each question joins the cluster whose first question is nearest, or starts a new one (leader
        clustering; Hartigan 1975, chapter 3).
        """
        by_text: dict[str, list[LoggedAnswer]] = {}
        for one in answers:
            by_text.setdefault(" ".join(one.question.casefold().split()), []).append(one)
        texts = sorted(by_text, key=lambda text: -len(by_text[text]))
        said = [without_words(text, FUNCTION_WORDS.get(language, ())) or text for text in texts]
        vectors = await self.similarity.texts(said, language)
        leaders: list[Vector] = []
        clusters: list[list[LoggedAnswer]] = []
        for text, vector in zip(texts, vectors, strict=True):
            cosines = self.similarity.inner_products(vector, leaders)
            nearest = max(range(len(leaders)), key=cosines.__getitem__, default=None)
            if nearest is None or cosines[nearest] < SAME_MEANING:
                nearest = len(leaders)
                leaders.append(vector)
                clusters.append([])
            clusters[nearest] += by_text[text]
        return clusters
