"""What one question was measured to be, and the means of many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import fmean

from app.domain.evaluation.gold_question import Question


@dataclass(frozen=True, slots=True)
class Measured:
    question: Question
    metrics: Mapping[str, float | None]
    """Every metric of the measure; None if it does not apply to the question."""
    milliseconds: float = 0.0
    """Time of the search, or of the answer."""
    answerability: float | None = None
    """Answerability score, 0 to 1; None if it was not asked for."""
    details: Mapping[str, str | float | bool | None] = field(default_factory=dict)
    """What else its row in JSON shows; those that are true are counted in the summary."""

    @property
    def applicable(self) -> dict[str, float]:
        return {name: value for name, value in self.metrics.items() if value is not None}


def summary(rows: Sequence[Measured]) -> dict[str, float]:
    """Return counts, times and the mean of each metric over the questions that it applies to.

    A metric that applies to no question is 0.
    """
    known = [row.applicable for row in rows]
    metrics = dict.fromkeys(name for row in rows for name in row.metrics)
    means = {name: [one[name] for one in known if name in one] or [0.0] for name in metrics}
    details = [(name, value) for row in rows for name, value in row.details.items()]
    flags = dict.fromkeys(name for name, value in details if isinstance(value, bool))
    times = [row.milliseconds for row in rows]
    return {
        "n": sum(map(bool, known)),
        "answerable": sum(row.question.answerable for row in rows),
        **{name: round(fmean(values), 4) for name, values in means.items()},
        "p50_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
        **{name: sum(row.details.get(name) is True for row in rows) for name in flags},
    }


def by_kind(rows: Sequence[Measured]) -> Mapping[str, Sequence[Measured]]:
    """Return the rows of each kind of question, by kind."""
    kinds = sorted({row.question.kind for row in rows})
    return {kind: [row for row in rows if row.question.kind == kind] for kind in kinds}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile; `share` is 0 to 1. 0 for no values."""
    if not values:
        return 0.0
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]
