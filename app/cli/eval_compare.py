"""`eval --compare`: the differences of two outputs of `eval --json`, with their intervals."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from pydantic import BaseModel, FiniteFloat, NonNegativeFloat, ValidationError

from app.cli.output import markdown_table, print_json
from app.cli.printing import remark
from app.domain.errors import InputError
from app.domain.evaluation.measurement import Share, share
from app.domain.evaluation.paired_bootstrap import CONFIDENCE, Difference, paired_bootstrap
from app.services.safe_paths import read_text


class _Run(BaseModel):
    of: str
    questions: str
    k: int


class _Row(BaseModel):
    id: str
    measures: Mapping[str, FiniteFloat | tuple[FiniteFloat, NonNegativeFloat]]

    def share(self, metric: str) -> Share | None:
        return share(self.measures[metric]) if metric in self.measures else None


class Measurement(BaseModel):
    """What `--compare` reads of an output of `eval --json`."""

    run: _Run
    questions: list[_Row]

    @property
    def rows(self) -> Mapping[str, _Row]:
        return {row.id: row for row in self.questions}

    @property
    def metrics(self) -> Mapping[str, None]:
        return dict.fromkeys(name for row in self.questions for name in row.measures)


def compare_measurements(arguments: argparse.Namespace) -> None:
    if arguments.questions is not None:
        message = f"eval --compare takes only its two measurements: leave out {arguments.questions}"
        raise InputError(message)
    first, second = arguments.compare
    a, b = read_measurement(first), read_measurement(second)
    differences = differences_of(a, b, f"{first} and {second}")
    if arguments.json:
        found = {"questions": len(a.questions), "k": a.run.k, "confidence": CONFIDENCE}
        print_json({**found, "metrics": {name: _json(one) for name, one in differences.items()}})
    else:
        remark(f"{len(a.questions):,} questions; b - a with its {CONFIDENCE:.0%} interval")
        print(_table(differences))


def read_measurement(path: Path) -> Measurement:
    """Read the output of `eval --json`. InputError if the file is something else."""
    try:
        return Measurement.model_validate_json(read_text(path))
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        message = (
            f"{path}: not a measurement ({place}: {fault['msg']}): write one with "
            "`textbook-rag eval QUESTIONS.jsonl --json`"
        )
        raise InputError(message) from error


def differences_of(a: Measurement, b: Measurement, names: str) -> Mapping[str, Difference]:
    """Return the difference of each metric in both. InputError if the measurements do not match."""
    if a.run != b.run or a.rows.keys() != b.rows.keys():
        message = (
            f"{names} cannot be compared: they have other questions, gold or k, or measure "
            f"something else ({a.run} and {b.run}); repeat both with the same settings"
        )
        raise InputError(message)
    return {name: _difference(a, b, name) for name in a.metrics if name in b.metrics}


def _difference(a: Measurement, b: Measurement, metric: str) -> Difference:
    """Compare the questions that the metric applies to in one or both."""
    others = b.rows
    pairs = [(row.share(metric), others[name].share(metric)) for name, row in a.rows.items()]
    measured = [pair for pair in pairs if any(pair)]
    return paired_bootstrap(
        [before or (0.0, 0.0) for before, _ in measured],
        [after or (0.0, 0.0) for _, after in measured],
    )


def _json(one: Difference) -> Mapping[str, float | bool]:
    rounded = {name: round(value, 4) for name, value in asdict(one).items()}
    return {**rounded, "significant": one.significant}


def _table(differences: Mapping[str, Difference]) -> str:
    rows = [
        [
            name,
            *(f"{value:.4f}" for value in (one.a, one.b)),
            *(f"{value:+.4f}" for value in (one.difference, one.low, one.high)),
            "yes" if one.significant else "no",
        ]
        for name, one in differences.items()
    ]
    return markdown_table(["metric", "a", "b", "b - a", "low", "high", "differs"], rows)
