"""Paired bootstrap: tests, by metric, whether two runs on the same questions differ."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from operator import itemgetter
from typing import TypeAlias

from app.domain.errors import InputError
from app.domain.percentile import percentile

RESAMPLES = 2_000
CONFIDENCE = 0.95

Share: TypeAlias = tuple[float, float]
"""(part, whole) of one question: a metric is the sum of parts divided by the sum of wholes."""

_NO_SHARE: Share = (0.0, 0.0)
"""Share of a question that a metric does not apply to: a refusal has no citations."""


@dataclass(frozen=True, slots=True)
class EvalRun:
    """Results of one run of `eval`, by question."""

    name: str
    """File it was read from, for messages."""
    of: str
    """"retrieval", "answers" or "helpful"."""
    k: int
    questions: str
    """Fingerprint of the question set."""
    rows: Mapping[str, Mapping[str, Share]]
    """Question id -> metric -> share; metrics that do not apply are left out."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of two runs; `mean` is b - a, `low` to `high` its confidence interval."""

    a: float
    b: float
    mean: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return self.low > 0 or self.high < 0


def compare_runs(a: EvalRun, b: EvalRun) -> Mapping[str, Difference]:
    """Return the difference of each metric in both runs. InputError if the runs do not match."""
    _require_match(a, b)
    in_b = _metric_names(b)
    return {name: _difference_of(a, b, name) for name in _metric_names(a) if name in in_b}


def _difference_of(a: EvalRun, b: EvalRun, name: str) -> Difference:
    pairs = [(row.get(name), b.rows[one].get(name)) for one, row in a.rows.items()]
    measured = [pair for pair in pairs if any(pair)]
    return paired_bootstrap(
        [before or _NO_SHARE for before, _ in measured],
        [after or _NO_SHARE for _, after in measured],
    )


def _metric_names(run: EvalRun) -> Mapping[str, None]:
    return dict.fromkeys(name for row in run.rows.values() for name in row)


def _require_match(a: EvalRun, b: EvalRun) -> None:
    if a.of != b.of:
        raise _mismatch(a, b, f"one measured {a.of}, the other {b.of}")
    if a.rows.keys() != b.rows.keys():
        only = sorted(a.rows.keys() ^ b.rows.keys())
        where = a.name if only[0] in a.rows else b.name
        counts = f"{len(a.rows):,} and {len(b.rows):,} questions"
        reason = f"{counts}; {len(only):,} are in one run only, such as {only[0]!r} in {where}"
        raise _mismatch(a, b, reason)
    if a.questions != b.questions:
        raise _mismatch(a, b, "the same ids have different questions or gold passages")
    if a.k != b.k:
        raise _mismatch(a, b, f"k is {a.k} in one and {b.k} in the other")


def _mismatch(a: EvalRun, b: EvalRun, reason: str) -> InputError:
    what = f"{a.name} and {b.name} cannot be compared: {reason}"
    return InputError(f"{what}; repeat both runs with the same settings")


def paired_bootstrap(a: Sequence[Share], b: Sequence[Share]) -> Difference:
    """Return the difference with its interval by resampling questions (Efron's percentile method).

    `a[i]` and `b[i]` are shares of the same question. The seed is fixed, so the same input gives
    the same interval. ValueError if the lengths differ or are 0.
    """
    if not a or len(a) != len(b):
        message = f"cannot pair {len(a)} questions with {len(b)}"
        raise ValueError(message)
    draw = random.Random(0)  # noqa: S311 - statistics, not secrets
    equal_weights = all(one[1] == other[1] == 1 for one, other in zip(a, b, strict=True))
    resampled = _resampled_means if equal_weights else _resampled_ratios
    means = sorted(resampled(a, b, draw))
    before, after = _ratio(a), _ratio(b)
    tail = (1 - CONFIDENCE) / 2
    return Difference(
        before, after, after - before, percentile(means, tail), percentile(means, 1 - tail)
    )


def _resampled_means(a: Sequence[Share], b: Sequence[Share], draw: random.Random) -> list[float]:
    """Resample differences only: all questions have the same weight."""
    differences = [after[0] - before[0] for before, after in zip(a, b, strict=True)]
    n = len(differences)
    if len(set(differences)) == 1:
        return [differences[0]]
    return [fsum(draw.choices(differences, k=n)) / n for _ in range(RESAMPLES)]


def _resampled_ratios(a: Sequence[Share], b: Sequence[Share], draw: random.Random) -> list[float]:
    pairs = list(zip(a, b, strict=True))
    drawn = (draw.choices(pairs, k=len(pairs)) for _ in range(RESAMPLES))
    return [_ratio([two[1] for two in one]) - _ratio([two[0] for two in one]) for one in drawn]


def _ratio(shares: Sequence[Share]) -> float:
    """Return sum(parts) / sum(wholes); 0 if there are no wholes."""
    whole = fsum(map(itemgetter(1), shares))
    return fsum(map(itemgetter(0), shares)) / whole if whole else 0.0
