"""Both answerability thresholds, fitted on questions in readers' words; see `answerability.py`.

The refusal threshold refuses at most `REFUSED` of the answerable questions. The answer threshold is
where both targets have the same slack: near-topic unanswerable questions marked as answered
(`ANSWERED`), and answerable ones not marked as answered (`BELOW`), each as a share of its limit.
Tested on each book with thresholds fitted on the others, with 95 % intervals (Wilson).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from app.domain.answering.answerability import ANSWER_THRESHOLD, REFUSAL_THRESHOLD

REFUSED, BELOW, ANSWERED = 0.02, 0.15, 0.25
"""Maximum shares: answerable refused, answerable not answered, near-topic answered."""


@dataclass(frozen=True, slots=True)
class Scored:
    book: str
    answerable: bool
    score: float


def fitted(sample: Sequence[Scored]) -> tuple[float, float]:
    """The refusal threshold and the answer threshold."""
    own = np.array([one.score for one in sample if one.answerable])
    near = np.array([one.score for one in sample if not one.answerable])
    steps = np.arange(0.01, 1.0, 0.01)
    refusal = max((at for at in steps if (own < at).mean() <= REFUSED), default=0.0)
    answer = min(
        steps, key=lambda at: max((own < at).mean() / BELOW, (near >= at).mean() / ANSWERED)
    )
    return round(float(refusal), 2), round(float(answer), 2)


def thresholds(sample: Sequence[Scored]) -> None:
    print("\nthresholds fitted on the other books, and what they do on each\n")
    columns = ("answerable refused", "answerable not answered", "near-topic answered")
    print("| book | thresholds |", " | ".join(columns), "|")
    print("|---|---|---:|---:|---:|")
    every: list[tuple[Scored, float, float]] = []
    for book in sorted({one.book for one in sample}):
        refusal, answer = fitted([one for one in sample if one.book != book])
        mine = [(one, refusal, answer) for one in sample if one.book == book]
        every += mine
        print(f"| {book} | {refusal} / {answer} |", " | ".join(_shares(mine)), "|")
    print("| all, each with those of the others | |", " | ".join(_shares(every)), "|")
    for name, pair in (
        ("fitted on all", fitted(sample)),
        ("in use", (REFUSAL_THRESHOLD, ANSWER_THRESHOLD)),
    ):
        cells = _shares([(one, *pair) for one in sample])
        print(f"| {name} | {pair[0]} / {pair[1]} |", " | ".join(cells), "|")


def _shares(judged: Sequence[tuple[Scored, float, float]]) -> list[str]:
    own = [(one.score, refusal, answer) for one, refusal, answer in judged if one.answerable]
    near = [(one.score, answer) for one, _, answer in judged if not one.answerable]
    return [
        _with_interval([score < refusal for score, refusal, _ in own]),
        _with_interval([score < answer for score, _, answer in own]),
        _with_interval([score >= answer for score, answer in near]),
    ]


def _with_interval(hits: Sequence[bool]) -> str:
    """The share of true values, its 95 % interval and the number; "-" if there are none."""
    n, z = len(hits), 1.96
    if not n:
        return "-"
    share = sum(hits) / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return f"{share:.1%} ({low:.1%} to {high:.1%}) of {n}"
