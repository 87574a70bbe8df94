"""Comparing two measurements: the paired bootstrap, what matches, and `eval --compare`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from app.cli.eval_compare import Measurement, differences_of, read_measurement, require_same
from app.domain.errors import InputError
from app.domain.evaluation.measurement import Share
from app.domain.evaluation.paired_bootstrap import paired_bootstrap


def whole(values: Sequence[float]) -> list[Share]:
    return [(value, 1.0) for value in values]


def test_a_steady_gain_is_significant_and_noise_is_not() -> None:
    a = [0.0, 1.0] * 50
    gain = paired_bootstrap(whole([0.2] * 100), whole([0.3] * 100))
    assert (gain.a, gain.b) == pytest.approx((0.2, 0.3))
    assert (gain.difference, gain.low, gain.high) == pytest.approx((0.1, 0.1, 0.1))
    assert gain.significant
    noise = paired_bootstrap(whole(a), whole(list(reversed(a))))
    assert noise.low < 0 < noise.high
    assert not noise.significant


def test_the_interval_has_the_width_theory_says() -> None:
    """For differences of 0 and 1 in equal parts the standard error is 0.5 / sqrt(n)."""
    difference = paired_bootstrap(whole([0.0] * 400), whole([0.0, 1.0] * 200))
    assert difference.difference == pytest.approx(0.5)
    assert difference.high - difference.low == pytest.approx(2 * 1.96 * 0.025, rel=0.1)


def test_a_share_of_unequal_wholes_is_resampled_question_by_question() -> None:
    a: list[Share] = [(1, 2), (0, 3), (0, 0)] * 30
    b: list[Share] = [(2, 2), (1, 1), (0, 1)] * 30
    difference = paired_bootstrap(a, b)
    assert (difference.a, difference.b) == pytest.approx((1 / 5, 3 / 4))
    assert 0 < difference.low < difference.difference < difference.high


def test_it_is_repeatable_and_rejects_unpaired_input() -> None:
    a, b = whole([0.0, 1.0, 0.0, 1.0]), whole([1.0, 1.0, 0.0, 0.0])
    assert paired_bootstrap(a, b) == paired_bootstrap(a, b)
    with pytest.raises(ValueError, match="cannot pair 1 questions with 0"):
        paired_bootstrap(a[:1], [])
    with pytest.raises(ValueError, match="cannot pair 0"):
        paired_bootstrap([], [])


Rows: TypeAlias = Mapping[str, Mapping[str, float | Sequence[float]]]


def measured(rows: Rows, **changes: object) -> Measurement:
    run = {"of": "retrieval", "k": 5, "questions": "f00d", **changes}
    questions = [{"id": name, "measures": measures} for name, measures in rows.items()]
    return Measurement.model_validate({"run": run, "questions": questions})


ROWS: Rows = {"1": {"mrr": 1}, "2": {"mrr": 0.5, "precision": 0.1}}


def test_every_metric_that_both_have_is_compared_over_the_questions_that_have_it() -> None:
    b: Rows = {"2": {"mrr": 1, "precision": 0.3}, "1": {"mrr": 1, "new": 1}}
    compared = differences_of(measured(ROWS), measured(b).model_dump())
    assert {name: one.difference for name, one in compared.items()} == pytest.approx(
        {"mrr": 0.25, "precision": 0.2}
    )


def test_a_question_that_one_run_has_nothing_to_measure_of_still_counts_in_the_other() -> None:
    a: Rows = {"1": {"cited": (1, 2)}, "2": {"cited": (0, 2)}, "3": {}}
    b: Rows = {"1": {"cited": (1, 2)}, "2": {}, "3": {}}
    (difference,) = differences_of(measured(a), measured(b).model_dump()).values()
    assert (difference.a, difference.b) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({"of": "helpful"}, "12"),
        ({}, "1"),
        ({}, "13"),
        ({"questions": "beef"}, "12"),
        ({"k": 8}, "12"),
    ],
)
def test_runs_that_do_not_match_are_one_clear_error(
    changes: Mapping[str, str | int], ids: str
) -> None:
    run: dict[str, str | int] = {"of": "retrieval", "k": 5, "questions": "f00d", **changes}
    with pytest.raises(InputError, match=r"^a.json and this cannot be compared"):
        require_same(measured(ROWS), run, [*ids], "a.json and this")


def record(**changes: object) -> dict[str, object]:
    run = {"of": "retrieval", "questions": "f00d", "k": 5}
    row = {"id": "1", "ms": 2.5, "measures": {"mrr": 0.5, "citation_precision": [1, 2]}}
    return {"run": run, "questions": [row], **changes}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("[1]", "not a measurement"),
        ('{"n": 3}', "run: Field required"),
        (json.dumps(record(questions=3)), "questions: "),
        (
            json.dumps(record(questions=[{"id": "1", "measures": {"mrr": "x"}}])),
            "questions.0.measures.mrr",
        ),
        (
            json.dumps(record(questions=[{"id": "1", "measures": {"mrr": float("nan")}}])),
            "questions.0.measures.mrr",
        ),
        (
            json.dumps(record(questions=[{"id": "1", "measures": {"mrr": [1]}}])),
            "questions.0.measures.mrr",
        ),
    ],
)
def test_a_file_that_is_no_measurement_is_one_error(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=why) as caught:
        read_measurement(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
