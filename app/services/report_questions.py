"""Makes the owner's report on a book from the question log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound
from app.domain.languages import FUNCTION_WORDS, without_words
from app.domain.logged_answer import LoggedAnswer
from app.domain.owner_report import OwnerReport, is_question, owner_report
from app.domain.retrieval.query import Vector
from app.services.ports import BookStore
from app.services.question_log import QuestionStore, Selected
from app.services.similarity import MODEL_LANGUAGE, SimilarityEncoder

SAME_MEANING = 0.7
"""Minimum cosine of a question and the mean of its cluster, both without function words. At 0.7 the
clusters of `tests/data/student_questions.jsonl` hold paraphrases only, at 0.65 other questions."""


@dataclass(frozen=True, slots=True)
class ReportQuestions:
    store: QuestionStore
    index: BookStore
    similarity: SimilarityEncoder
    cluster: Callable[[Sequence[Vector], float], list[int]]
    """(vectors, minimum cosine) -> the number of each vector's cluster."""

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
        now = datetime.now(UTC)
        return await asyncio.to_thread(owner_report, book, since, now, answers, clusters)

    async def _clusters(
        self, answers: Sequence[LoggedAnswer], language: str
    ) -> list[list[LoggedAnswer]]:
        """Divide the answers by the meaning of their questions, the most frequent ones first."""
        by_text: dict[str, list[LoggedAnswer]] = {}
        for one in answers:
            by_text.setdefault(" ".join(one.question.casefold().split()), []).append(one)
        texts = sorted(by_text, key=lambda text: -len(by_text[text]))
        said = [without_words(text, FUNCTION_WORDS.get(language, ())) or text for text in texts]
        vectors = await self.similarity.texts(said, language)
        numbers = await asyncio.to_thread(self.cluster, vectors, SAME_MEANING)
        clusters: dict[int, list[LoggedAnswer]] = {}
        for text, number in zip(texts, numbers, strict=True):
            clusters.setdefault(number, []).extend(by_text[text])
        return list(clusters.values())
