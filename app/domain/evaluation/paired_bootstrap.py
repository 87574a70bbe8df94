"""Paired bootstrap: tests whether a metric of two runs on the same questions differs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.evaluation.measurement import Share, ratio
from app.domain.percentile import percentile

RESAMPLES = 2_000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of two runs; `difference` is b - a, `low` to `high` its confidence interval."""

    a: float
    b: float
    difference: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return self.low > 0 or self.high < 0


def paired_bootstrap(a: Sequence[Share], b: Sequence[Share]) -> Difference:
    """Return the difference with its interval by resampling questions (Efron's percentile method).

    `a[i]` and `b[i]` are shares of the same question. The seed is fixed, so the same input gives
    the same interval. ValueError if the lengths differ or are 0.
    """
    if not a or len(a) != len(b):
        message = f"cannot pair {len(a)} questions with {len(b)}"
        raise ValueError(message)
    draw = random.Random(0)  # noqa: S311 - statistics, not secrets
    pairs = list(zip(a, b, strict=True))
    drawn = (draw.choices(pairs, k=len(pairs)) for _ in range(RESAMPLES))
    differences = [
        ratio([after for _, after in one]) - ratio([before for before, _ in one]) for one in drawn
    ]
    tail = (1 - CONFIDENCE) / 2
    low, high = percentile(differences, tail), percentile(differences, 1 - tail)
    return Difference(ratio(a), ratio(b), ratio(b) - ratio(a), low, high)
