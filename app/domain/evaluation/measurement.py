"""Questions with known answers, what each was measured to be; their means and thresholds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from math import ceil
from statistics import fmean

from app.domain.answering.answerability import RefusalPolicy
from app.domain.book_id import BookId
from app.domain.retrieval.query import Turn

REFUSED_TOLERATED = 0.02
"""Maximum share of answerable questions below a suggested refusal threshold."""
BELOW_TOLERATED = 0.15
"""Maximum share of answerable questions below a suggested answer threshold."""


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """`source[start:end]` of the file answers the question; code points."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    question: str
    kind: str
    answerable: bool
    """False: the book does not answer it; the right reply is a refusal."""
    gold: tuple[GoldSpan, ...] = ()
    gold_file: str = ""
    """The file with the answer; any file of a folder if it ends with "/"."""
    filter_file: str = ""
    """Search this file only."""
    history: tuple[Turn, ...] = ()
    book: BookId | None = None
    """The book that the question is about; None if the set does not name it."""
    key_facts: tuple[str, ...] = ()
    """Regular expressions; each one matches a text that answers the question."""
    gold_all: bool = False
    """Whether an answer needs all gold spans; otherwise any one is enough."""
    half: str = ""
    """"development" or "final" of a set that is split for tuning; else ""."""

    @property
    def alternatives(self) -> bool:
        """Whether each gold span is a whole answer, not a part of one."""
        return self.kind in {"term", "definition"} or self.kind.startswith("multi-turn")

    @property
    def gold_files(self) -> tuple[str, ...]:
        """The named gold files, without folders."""
        named = [gold.file for gold in self.gold] or [self.gold_file]
        return tuple(dict.fromkeys(file for file in named if not file.endswith("/") and file))


def fingerprint(questions: Sequence[Question]) -> str:
    """Return 16 hex digits that depend on the questions and their gold."""
    return sha256(repr(list(questions)).encode(errors="replace")).hexdigest()[:16]


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
    answerable: int
    unanswerable: int
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
        len(positives),
        len(negatives),
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
