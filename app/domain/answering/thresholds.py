"""Calibrates the thresholds of answerability: who is refused or left uncertain below each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.domain.answering.refusal import RefusalPolicy

REFUSED_TOLERATED = 0.02
"""Of the questions that can be answered, how many a suggested refusal threshold may refuse."""
BELOW_TOLERATED = 0.15
"""The same below a suggested answer threshold: refused or uncertain."""
STEPS = 20
"""The curve has a point every 1 / STEPS."""


@dataclass(frozen=True, slots=True)
class RefusalPoint:
    """Shares of the questions below `threshold`, from 0 to 1; they count as refused.

    Below an answer threshold they are uncertain or refused.
    """

    threshold: float
    precision: float
    """Of the refused questions, those that cannot be answered; 0 when none is refused."""
    recall: float
    """Of the questions that cannot be answered, those that are refused."""
    answerable_refused: float
    """Of the questions that can be answered, those that are refused."""


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    answerable: int
    unanswerable: int
    auroc: float
    """Chance that an answerable question scores above an unanswerable one, ties counted half."""
    current: RefusalPoint
    suggested: RefusalPoint
    """The refusal threshold with the greatest recall among those that refuse at most
    `REFUSED_TOLERATED` of what can be answered; half-way between the scores it parts."""
    current_answer: RefusalPoint
    suggested_answer: RefusalPoint
    """The answer threshold by the same rule with `BELOW_TOLERATED`."""
    points: tuple[RefusalPoint, ...]


def refusal_curve(
    judged: Sequence[tuple[bool, float | None]], current: RefusalPolicy
) -> RefusalCurve | None:
    """The curve over (answerable, score); None if answerable or unanswerable scores are missing."""
    own = sorted(score for answerable, score in judged if answerable and score is not None)
    foreign = sorted(score for answerable, score in judged if not answerable and score is not None)
    if not own or not foreign:
        return None

    def at(threshold: float) -> RefusalPoint:
        wrong, right = bisect_left(own, threshold), bisect_left(foreign, threshold)
        return RefusalPoint(
            threshold,
            precision=right / (right + wrong) if right + wrong else 0.0,
            recall=right / len(foreign),
            answerable_refused=wrong / len(own),
        )

    candidates = [*map(at, _between(sorted({*own, *foreign})))]

    def suggested(tolerated: float) -> RefusalPoint:
        return max(
            (one for one in candidates if one.answerable_refused <= tolerated),
            key=lambda one: (one.recall, -one.answerable_refused, -one.threshold),
        )

    return RefusalCurve(
        answerable=len(own),
        unanswerable=len(foreign),
        auroc=_auroc(own, foreign),
        current=at(current.refusal_threshold),
        suggested=suggested(REFUSED_TOLERATED),
        current_answer=at(current.answer_threshold),
        suggested_answer=suggested(BELOW_TOLERATED),
        points=tuple(at(step / STEPS) for step in range(STEPS + 1)),
    )


def _between(scores: Sequence[float]) -> list[float]:
    """Nothing refused, then a threshold between each two scores, then above the last."""
    return [0.0, *(round((low + high) / 2, 4) for low, high in pairwise(scores)), 1.0]


def _auroc(own: Sequence[float], foreign: Sequence[float]) -> float:
    """Mann and Whitney's U over all pairs; both sorted."""
    below = sum(bisect_left(foreign, score) for score in own)
    at_most = sum(bisect_right(foreign, score) for score in own)
    return (below + at_most) / 2 / (len(own) * len(foreign))
