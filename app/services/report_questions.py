"""Makes the owner's report on a book from the question log."""

from __future__ import annotations

from collections.abc import Sequence
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
"""Minimum cosine of a question and the first one of its cluster, both without function words. At
0.7 the clusters of `tests/data/student_questions.jsonl` hold paraphrases, at 0.65 other questions.
"""


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
