"""Whether two measurements of the same questions differ.

    textbook-rag eval QUESTIONS.jsonl --json > before.json     # and later > now.json
    python scripts/bench/compare.py before.json now.json

Prints each metric of both with the 95 % interval of its change, by a paired bootstrap: the
questions that have the metric in both are resampled 2,000 times (Efron's percentile method).
"""

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from app.domain.evaluation.measurement import percentile

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

    def interval(self, scale: float = 1, digits: int = 3) -> str:
        shown = (f"{scale * one:+.{digits}f}" for one in (self.difference, self.low, self.high))
        return "{} ({} to {})".format(*shown)


def paired_bootstrap(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Compare two runs: `a[i]` and `b[i]` are of the same question, and there is at least one.

    The seed is fixed, so the same input gives the same interval.
    """
    draw = random.Random(0)
    changes = [after - before for before, after in zip(a, b, strict=True)]
    means = [fmean(draw.choices(changes, k=len(changes))) for _ in range(RESAMPLES)]
    tail = (1 - CONFIDENCE) / 2
    low, high = percentile(means, tail), percentile(means, 1 - tail)
    return Difference(fmean(a), fmean(b), fmean(changes), low, high)


def read(path: Path) -> tuple[object, Mapping[str, Mapping[str, float]]]:
    """Return what was measured, and the metrics of each question by its id."""
    found = json.loads(path.read_text("utf-8"))
    run = [found["run"][name] for name in ("of", "questions", "k")]
    return run, {one["id"]: one["measures"] for one in found["questions"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("now", type=Path)
    options = parser.parse_args()
    (run, before), (other, now) = read(options.before), read(options.now)
    if run != other:
        sys.exit(f"not the same questions, k or kind of measurement: {run} and {other}")
    print("| metric | n | before | now | change |")
    print("|---|---:|---:|---:|---|")
    for metric in dict.fromkeys(name for row in before.values() for name in row):
        both = [one for one in before if metric in before[one] and metric in now[one]]
        if both:
            one = paired_bootstrap(
                *([rows[each][metric] for each in both] for rows in (before, now))
            )
            print(f"| {metric} | {len(both)} | {one.a:.4f} | {one.b:.4f} | {one.interval(1, 4)} |")


if __name__ == "__main__":
    main()
