"""Calibration of the answerability thresholds."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.domain.answering.answerability import RefusalPolicy

REFUSED_TOLERATED = 0.02
"""Maximum share of answerable questions below a suggested refusal threshold."""
BELOW_TOLERATED = 0.15
"""Maximum share of answerable questions below a suggested answer threshold."""


@dataclass(frozen=True, slots=True)
class RefusalPoint:
    """Shares of the questions below `threshold`, from 0 to 1; they count as refused.

    Below an answer threshold they are uncertain or refused.
    """

    threshold: float
    recall: float
    """Share of the unanswerable questions that are refused."""
    answerable_refused: float
    """Share of the answerable questions that are refused."""


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    auroc: float
    """Probability that an answerable question scores above an unanswerable one; ties count half."""
    current: RefusalPoint
    suggested: RefusalPoint
    """The refusal threshold with the highest recall that refuses at most `REFUSED_TOLERATED` of the
    answerable questions; half-way between two scores."""
    current_answer: RefusalPoint
    suggested_answer: RefusalPoint
    """The answer threshold by the same rule with `BELOW_TOLERATED`."""


def refusal_curve(
    judged: Sequence[tuple[bool, float | None]], current: RefusalPolicy
) -> RefusalCurve | None:
    """Return the curve of (answerable, score) pairs; None unless there are scores of both kinds."""
    scored = sorted((score, answerable) for answerable, score in judged if score is not None)
    positives = [score for score, answerable in scored if answerable]
    negatives = [score for score, answerable in scored if not answerable]
    if not positives or not negatives:
        return None

    def at(threshold: float) -> RefusalPoint:
        recall, refused = (bisect_left(one, threshold) / len(one) for one in (negatives, positives))
        return RefusalPoint(threshold, recall, refused)

    between = (round((a + b) / 2, 4) for a, b in pairwise(sorted({one for one, _ in scored})))
    candidates = [at(threshold) for threshold in (0.0, *between, 1.0)]

    def suggested(tolerated: float) -> RefusalPoint:
        return max(
            (one for one in candidates if one.answerable_refused <= tolerated),
            key=lambda one: (one.recall, -one.answerable_refused, -one.threshold),
        )

    return RefusalCurve(
        _auroc(positives, negatives),
        at(current.refusal_threshold),
        suggested(REFUSED_TOLERATED),
        at(current.answer_threshold),
        suggested(BELOW_TOLERATED),
    )


def _auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return the Mann-Whitney U divided by the number of pairs; both sequences are sorted."""
    below = sum(bisect_left(negatives, score) for score in positives)
    at_most = sum(bisect_right(negatives, score) for score in positives)
    return (below + at_most) / 2 / (len(positives) * len(negatives))
