"""Metrics of helpfulness: the key facts in the shown text, and the gold spans found and cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.answer import Answer, Confidence
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.paired_bootstrap import Share
from app.domain.evaluation.retrieval_metrics import Retrieved, score_ranking


class Outcome(StrEnum):
    ANSWERED = "answered"
    UNCERTAIN = "uncertain"
    """Passages are shown with a notice that they may not answer."""
    REFUSED = "refused"


class UnhelpfulReason(StrEnum):
    """Why a question was not answered; the first reason that applies."""

    REFUSED = "answerable, but refused"
    NOT_FOUND = "gold not among the hits"
    NOT_SHOWN = "gold found, but a key fact is not shown"
    ANSWERED = "unanswerable, but shown as an answer"


@dataclass(frozen=True, slots=True)
class Helpfulness:
    """One question's answer, measured."""

    question: Question
    outcome: Outcome
    words: int
    """Words of the shown text; 0 in a refusal."""
    facts_shown: bool
    """Whether the shown text has every key fact."""
    found: bool
    """Whether the first hits contain the gold; see `finds_gold`."""
    cited: bool
    """Whether a cited paragraph finds a gold span."""
    degraded: bool

    @property
    def failure(self) -> UnhelpfulReason | None:
        if not self.question.answerable:
            return UnhelpfulReason.ANSWERED if self.outcome is Outcome.ANSWERED else None
        if self.outcome is Outcome.REFUSED:
            return UnhelpfulReason.REFUSED
        if self.facts_shown:
            return None
        return UnhelpfulReason.NOT_SHOWN if self.found else UnhelpfulReason.NOT_FOUND

    def shares(self) -> Mapping[str, Share]:
        """The question's (part, whole) of each metric that applies to it."""
        if not self.question.answerable:
            return {f"unanswerable_{one}": (self.outcome is one, 1) for one in Outcome}
        words = {} if self.outcome is Outcome.REFUSED else {"words_shown": (self.words, 1)}
        return {
            "facts_shown": (self.facts_shown, 1),
            **words,
            "found": (self.found, 1),
            "cited_gold": (self.cited, 1),
            **{f"answerable_{one}": (self.outcome is one, 1) for one in Outcome},
        }


METRICS = (
    "facts_shown",
    "words_shown",
    "found",
    "cited_gold",
    *(f"answerable_{one}" for one in Outcome),
    *(f"unanswerable_{one}" for one in Outcome),
)
"""Metrics of `summary`, in its order."""


def summary(results: Sequence[Helpfulness]) -> Mapping[str, float]:
    """Counts, and the means of `METRICS`; a mean of nothing is 0."""
    shares = [one.shares() for one in results]
    means = {name: _mean([one[name] for one in shares if name in one]) for name in METRICS}
    return {
        "n": len(results),
        "answerable": sum(one.question.answerable for one in results),
        **means,
        "degraded": sum(one.degraded for one in results),
    }


def _mean(shares: Sequence[Share]) -> float:
    whole = sum(share[1] for share in shares)
    return round(sum(share[0] for share in shares) / whole, 4) if whole else 0.0


_OUTCOMES = {
    Confidence.ANSWERED: Outcome.ANSWERED,
    Confidence.UNCERTAIN: Outcome.UNCERTAIN,
    Confidence.NOT_IN_BOOK: Outcome.REFUSED,
}


def outcome_of(answer: Answer) -> Outcome:
    return _OUTCOMES[answer.confidence]


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
