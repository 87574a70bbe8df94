"""Whether an answer helped: its outcome, the text shown, the gold among the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.domain.answer import Answer, Confidence
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.retrieval_metrics import Retrieved, score_ranking

OUTCOMES = {
    Confidence.ANSWERED: "answered",
    Confidence.UNCERTAIN: "uncertain",
    Confidence.NOT_IN_BOOK: "refused",
}
"""Outcome of an answer, as metrics name it."""


def failure(
    question: Question, answer: Answer, facts_shown: bool | None, found: bool | None
) -> str | None:
    """Return why a question was not helped, the first reason that applies.

    None if it was, or if facts or hits were not measured.
    """
    if not question.answerable:
        answered = answer.confidence is Confidence.ANSWERED
        return "unanswerable, but shown as an answer" if answered else None
    if answer.refused:
        return "answerable, but refused"
    if facts_shown is not False or found is None:
        return None
    return "gold found, but a key fact is not shown" if found else "gold not among the hits"


def shown_text(answer: Answer) -> str:
    """The passages, or the answer's text if it has no passages; "" in a refusal."""
    if answer.refused:
        return ""
    return "\n\n".join(passage.text for passage in answer.passages) or answer.answer


def finds_gold(question: Question, ranking: Sequence[Retrieved]) -> bool:
    """Whether the ranking finds a gold span, or all of them if the question `needs_all_gold`.

    False for an unanswerable question.
    """
    if not question.answerable:
        return False
    if question.needs_all_gold:
        each = (replace(question, gold=(gold,)) for gold in question.gold)
        return all(score_ranking(one, ranking, 1).first_hit for one in each)
    return score_ranking(question, ranking, 1).first_hit > 0
