"""Evaluates answers to questions with known answers: citations, refusals, key facts shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from app.domain.answer import Answer, AnswerMode, Citation, Confidence
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.request import ANSWER_CHUNKS
from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.evaluation.calibration import RefusalCurve, refusal_curve
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.helpfulness import (
    Helpfulness,
    finds_gold,
    outcome_of,
    shown_text,
)
from app.domain.evaluation.paired_bootstrap import Share
from app.domain.evaluation.retrieval_metrics import Retrieved, score_ranking
from app.domain.word_count import word_count
from app.services.answer_question import AnswerQuestion
from app.services.evaluate import STANDARD_DEPTH, ask_request, by_kind
from app.services.phases import Advance, ignore


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """`cited` counts all citations and `right` the correct ones, one for each claim."""

    question: Question
    mode: AnswerMode
    confidence: Confidence
    cited: int
    right: int
    degraded: bool
    answerability: float | None
    """Answerability score, 0 to 1; None if all questions of the set are answerable."""

    @property
    def refused(self) -> bool:
        return self.confidence is Confidence.NOT_IN_BOOK

    @property
    def uncertain(self) -> bool:
        return self.confidence is Confidence.UNCERTAIN

    def shares(self) -> Mapping[str, Share]:
        """Return the question's (part, whole) of each metric that applies to it."""
        answerable = self.question.answerable
        shares = {
            "citation_precision": (self.right, self.cited * answerable),
            "answer_coverage": (int(self.right > 0), int(answerable)),
            "refusal_precision": (int(self.refused and not answerable), int(self.refused)),
            "refusal_recall": (int(self.refused and not answerable), int(not answerable)),
            "answerable_refused": (int(self.refused and answerable), int(answerable)),
            "answerable_uncertain": (int(self.uncertain and answerable), int(answerable)),
            "unanswerable_answered": (
                int(not (answerable or self.refused or self.uncertain)),
                int(not answerable),
            ),
        }
        return {name: share for name, share in shares.items() if share[1]}


@dataclass(frozen=True, slots=True)
class AnswerEvaluation:
    results: tuple[AnsweredQuestion, ...]
    policy: RefusalPolicy
    """The thresholds in use."""
    k: int = ANSWER_CHUNKS

    def summary(self) -> Mapping[str, float]:
        """Return the metrics, 0 to 1; 0 if a metric applies to no question.

        A citation is right if its paragraph finds a gold span (see `retrieval_metrics`). Citation
        precision: share of right citations in answers to answerable questions. Answer coverage:
        share of answerable questions with a right citation. A refusal is right if the question is
        unanswerable.
        """
        shares = [one.shares() for one in self.results]
        quality = ("citation_precision", "answer_coverage", "refusal_precision", "refusal_recall")
        mistakes = ("answerable_refused", "answerable_uncertain", "unanswerable_answered")
        return {
            "n": len(self.results),
            "answerable": sum(one.question.answerable for one in self.results),
            **{name: _share(name, shares) for name in quality},
            "refused": sum(one.refused for one in self.results),
            "degraded": sum(one.degraded for one in self.results),
            **{name: _share(name, shares) for name in mistakes},
        }

    def by_kind(self) -> Mapping[str, Mapping[str, float]]:
        return by_kind(self.results, lambda some: replace(self, results=some).summary())

    def refusal(self) -> RefusalCurve | None:
        """Return the refusals by threshold; None unless there are questions of both kinds."""
        judged = [(one.question.answerable, one.answerability) for one in self.results]
        return refusal_curve(judged, self.policy)


async def evaluate_answers(
    answering: AnswerQuestion,
    questions: Sequence[Question],
    book: BookId | None = None,
    k: int = ANSWER_CHUNKS,
    advance: Advance = ignore,
) -> AnswerEvaluation:
    """Answer each question; call `advance(1)` after each. `book` None asks all books.

    Raises what `AnswerQuestion` raises.
    """
    # The score costs another search, so it is skipped if no question is unanswerable.
    judging = not all(one.answerable for one in questions)
    results = []
    for question in questions:
        request = replace(ask_request(question, book), k=k)
        score = await answering.answerability(request) if judging else None
        results.append(_judged(question, await answering.answer(request), score))
        advance(1)
    return AnswerEvaluation(tuple(results), answering.refusal_policy, k)


def _judged(question: Question, answer: Answer, answerability: float | None) -> AnsweredQuestion:
    return AnsweredQuestion(
        question=question,
        mode=answer.mode,
        confidence=answer.confidence,
        cited=len(answer.citations),
        right=sum(cites_gold(question, one) for one in answer.citations),
        degraded=bool(answer.degraded),
        answerability=answerability,
    )


def cites_gold(question: Question, citation: Citation) -> bool:
    """Whether the cited paragraph finds a gold span; False for an unanswerable question."""
    paragraph = Retrieved(citation.file, citation.spans)
    return question.answerable and score_ranking(question, [paragraph], 1).first_hit > 0


def _share(name: str, shares: Sequence[Mapping[str, Share]]) -> float:
    parts, wholes = zip(*(one.get(name, (0, 0)) for one in shares), strict=True)
    return round(sum(parts) / sum(wholes), 4) if sum(wholes) else 0.0


HasFacts: TypeAlias = Callable[[str, Sequence[str]], bool]
"""Returns whether a text matches every one of the patterns."""


async def measure_helpfulness(
    answering: AnswerQuestion,
    questions: Sequence[Question],
    has_facts: HasFacts,
    book: BookId | None = None,
    advance: Advance = ignore,
) -> list[Helpfulness]:
    """Answer each question from its own book, or from `book`; call `advance(1)` after each.

    Raises InputError if an answerable question has no key facts, and what `AnswerQuestion` raises.
    """
    for question in questions:
        if question.answerable and not question.key_facts:
            message = f"question {question.id!r} is answerable, but has no key_facts"
            raise InputError(message)
    results = []
    for question in questions:
        results.append(await _measured(answering, question, has_facts, book or question.book))
        advance(1)
    return results


async def _measured(
    answering: AnswerQuestion, question: Question, has_facts: HasFacts, book: BookId | None
) -> Helpfulness:
    request = ask_request(question, book)
    # A separate search, because the answer does not contain its hits.
    found = (await answering.consult.read(request)).found
    ranking = [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in found.hits]
    answer = await answering.answer(request)
    shown = shown_text(answer)
    return Helpfulness(
        question=question,
        outcome=outcome_of(answer),
        words=word_count(shown),
        facts_shown=bool(shown) and has_facts(shown, question.key_facts),
        found=finds_gold(question, ranking[:STANDARD_DEPTH]),
        cited=any(cites_gold(question, one) for one in answer.citations),
        degraded=bool(answer.degraded),
    )
