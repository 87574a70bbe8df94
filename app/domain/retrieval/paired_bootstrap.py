"""Do two measurements on the same questions differ? A paired bootstrap, metric by metric."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from operator import itemgetter
from typing import TypeAlias

from app.domain.errors import InputError
from app.domain.retrieval.metrics import percentile

RESAMPLES = 2_000
CONFIDENCE = 0.95

Share: TypeAlias = tuple[float, float]
"""(part, whole): a metric is the sum of the parts over the sum of the wholes."""


_NOTHING: Share = (0.0, 0.0)
"""What a question without a part in a metric adds: a refusal has no citations to be right."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of `eval` gave for each question."""

    name: str
    """For messages: the file it was read from."""
    of: str
    """"retrieval", "answers" or "helpful"."""
    k: int
    questions: str
    """Fingerprint of the question set."""
    rows: Mapping[str, Mapping[str, Share]]
    """By question id, then by metric; a metric that a question has no part in is left out."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of two runs; `mean` is b - a, with its confidence interval."""

    a: float
    b: float
    mean: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return self.low > 0 or self.high < 0


def compare_runs(a: Measured, b: Measured) -> Mapping[str, Difference]:
    """Return the difference of every metric that both have. InputError when they do not match."""
    _require_match(a, b)
    in_b = _names(b)
    return {name: _compared(a, b, name) for name in _names(a) if name in in_b}


def _compared(a: Measured, b: Measured, name: str) -> Difference:
    pairs = [(row.get(name), b.rows[one].get(name)) for one, row in a.rows.items()]
    measured = [pair for pair in pairs if any(pair)]
    return paired_bootstrap(
        [before or _NOTHING for before, _ in measured],
        [after or _NOTHING for _, after in measured],
    )


def _names(run: Measured) -> Mapping[str, None]:
    return dict.fromkeys(name for row in run.rows.values() for name in row)


def _require_match(a: Measured, b: Measured) -> None:
    if a.of != b.of:
        raise _mismatch(a, b, f"one measured {a.of}, the other {b.of}")
    if a.rows.keys() != b.rows.keys():
        only = sorted(a.rows.keys() ^ b.rows.keys())
        where = a.name if only[0] in a.rows else b.name
        counts = f"{len(a.rows):,} and {len(b.rows):,} questions"
        reason = f"{counts}, of which {len(only):,} are in one alone, as {only[0]!r} in {where}"
        raise _mismatch(a, b, reason)
    if a.questions != b.questions:
        raise _mismatch(a, b, "the same ids stand for other questions or other gold passages")
    if a.k != b.k:
        raise _mismatch(a, b, f"k is {a.k} in one and {b.k} in the other")


def _mismatch(a: Measured, b: Measured, reason: str) -> InputError:
    message = f"{a.name} and {b.name} cannot be compared: {reason}; measure both alike"
    return InputError(message)


def paired_bootstrap(
    a: Sequence[Share],
    b: Sequence[Share],
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Difference:
    """Interval of the difference by resampling questions (Efron's percentile method).

    `a[i]` and `b[i]` are two systems' shares on the same question; the same input gives the same
    interval. Raises ValueError when the lengths differ or there is nothing to compare.
    """
    if not a or len(a) != len(b):
        message = f"cannot pair {len(a)} questions with {len(b)}"
        raise ValueError(message)
    draw = random.Random(seed)  # noqa: S311 - statistics, not secrets
    steady = all(one[1] == other[1] == 1 for one, other in zip(a, b, strict=True))
    means = sorted(_steady(a, b, draw, resamples) if steady else _any(a, b, draw, resamples))
    before, after = _ratio(a), _ratio(b)
    tail = (1 - confidence) / 2
    return Difference(
        before, after, after - before, percentile(means, tail), percentile(means, 1 - tail)
    )


def _steady(
    a: Sequence[Share], b: Sequence[Share], draw: random.Random, resamples: int
) -> list[float]:
    """Where each question counts the same, its difference is all there is to draw."""
    differences = [after[0] - before[0] for before, after in zip(a, b, strict=True)]
    n = len(differences)
    if len(set(differences)) == 1:
        return [differences[0]]
    return [fsum(draw.choices(differences, k=n)) / n for _ in range(resamples)]


def _any(
    a: Sequence[Share], b: Sequence[Share], draw: random.Random, resamples: int
) -> list[float]:
    pairs = list(zip(a, b, strict=True))
    drawn = (draw.choices(pairs, k=len(pairs)) for _ in range(resamples))
    return [_ratio([two[1] for two in one]) - _ratio([two[0] for two in one]) for one in drawn]


def _ratio(shares: Sequence[Share]) -> float:
    """Sum of the parts over that of the wholes; of nothing, 0."""
    whole = fsum(map(itemgetter(1), shares))
    return fsum(map(itemgetter(0), shares)) / whole if whole else 0.0
