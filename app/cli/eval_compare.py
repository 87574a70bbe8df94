"""`eval --compare`: the differences to an earlier output of `eval --json`, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import BaseModel, FiniteFloat, NonNegativeFloat, ValidationError

from app.cli.output import markdown_table
from app.domain.errors import InputError
from app.domain.evaluation.measurement import share
from app.domain.evaluation.paired_bootstrap import Difference, paired_bootstrap
from app.services.safe_paths import read_text


class _Run(BaseModel):
    of: str
    questions: str
    k: int


class _Row(BaseModel):
    id: str
    measures: Mapping[str, FiniteFloat | tuple[FiniteFloat, NonNegativeFloat]]


class Measurement(BaseModel):
    """What `--compare` reads of an output of `eval --json`."""

    run: _Run
    questions: list[_Row]


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


def require_same(
    before: Measurement, run: Mapping[str, str | int], ids: Sequence[str], names: str
) -> None:
    """InputError unless `run` measures the same of the same questions as `before`."""
    now = _Run.model_validate(run)
    if before.run != now or {row.id for row in before.questions} != {*ids}:
        message = (
            f"{names} cannot be compared: they have other questions, gold or k, or measure "
            f"something else ({before.run} and {now}); repeat both with the same settings"
        )
        raise InputError(message)


def differences_of(a: Measurement, measured: Mapping[str, object]) -> Mapping[str, Difference]:
    """Return the difference of each metric of both; `measured` is what `eval --json` prints.

    A metric is compared over the questions that it applies to in one or both.
    """
    before = {row.id: row.measures for row in a.questions}
    now = {row.id: row.measures for row in Measurement.model_validate(measured).questions}
    names = dict.fromkeys(name for measures in before.values() for name in measures)
    known = {name for measures in now.values() for name in measures}
    differences = {}
    for name in filter(known.__contains__, names):
        ids = [one for one in before if name in before[one] or name in now[one]]
        differences[name] = paired_bootstrap(
            *([share(rows[one].get(name, (0.0, 0.0))) for one in ids] for rows in (before, now))
        )
    return differences


def difference_json(one: Difference) -> Mapping[str, float | bool]:
    rounded = {name: round(value, 4) for name, value in asdict(one).items()}
    return {**rounded, "significant": one.significant}


def differences_table(differences: Mapping[str, Difference]) -> str:
    rows = [
        [
            name,
            *(f"{value:.4f}" for value in (one.a, one.b)),
            *(f"{value:+.4f}" for value in (one.difference, one.low, one.high)),
            "yes" if one.significant else "no",
        ]
        for name, one in differences.items()
    ]
    return markdown_table(["metric", "before", "now", "change", "low", "high", "differs"], rows)
