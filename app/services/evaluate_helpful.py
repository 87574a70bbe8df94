"""Measure whether answers help those who asked, on questions with key facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.helpfulness import (
    Helpfulness,
    finds_gold,
    has_facts,
    outcome_of,
    shown_text,
    summary,
)
from app.domain.evaluation.metrics import Retrieved
from app.services.answer import AnswerQuestion
from app.services.evaluate import STANDARD_DEPTH, ask_request
from app.services.evaluate_answers import cites_gold


@dataclass(frozen=True, slots=True)
class HelpfulEvaluation:
    results: tuple[Helpfulness, ...]

    def summary(self) -> Mapping[str, float]:
        """Means over the questions that a metric applies to; see `helpfulness.summary`."""
        return summary(self.results)

    def by_kind(self) -> Mapping[str, Mapping[str, float]]:
        kinds = sorted({one.question.kind for one in self.results})
        return {
            kind: summary([one for one in self.results if one.question.kind == kind])
            for kind in kinds
        }


@dataclass(frozen=True, slots=True)
class EvaluateHelpful:
    """The use case."""

    answer: AnswerQuestion

    async def run(
        self,
        questions: Sequence[Question],
        book: BookId | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> HelpfulEvaluation:
        """Ask every question in turn, of its own book or of `book`; `advance(1)` after each.

        Raises InputError when an answerable question has no key facts, and what `AnswerQuestion`
        raises.
        """
        for question in questions:
            if question.answerable and not question.key_facts:
                message = f"question {question.id!r} is answerable, but has no key_facts"
                raise InputError(message)
        results = []
        for question in questions:
            results.append(await self._measured(question, book or question.book))
            advance(1)
        return HelpfulEvaluation(tuple(results))

    async def _measured(self, question: Question, book: BookId | None) -> Helpfulness:
        request = ask_request(question, book)
        # Searched apart from the answer, which does not tell its hits.
        found = (await self.answer.consult.read(request)).found
        ranking = [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in found.hits]
        answer = await self.answer.answer(request)
        shown = shown_text(answer)
        return Helpfulness(
            question=question,
            outcome=outcome_of(answer),
            words=len(shown.split()),
            facts_shown=bool(shown) and has_facts(shown, question.key_facts),
            found=finds_gold(question, ranking[:STANDARD_DEPTH]),
            cited=any(cites_gold(question, one) for one in answer.citations),
            degraded=bool(answer.degraded),
        )
