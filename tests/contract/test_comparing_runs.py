"""Comparing two measurements: the paired bootstrap, what matches, and `eval --compare`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.cli.eval_results import read_measurement
from app.domain.errors import InputError
from app.domain.evaluation.paired_bootstrap import EvalRun, Share, compare_runs, paired_bootstrap
from tests.command_line import runner


def whole(values: Sequence[float]) -> list[Share]:
    return [(value, 1.0) for value in values]


def test_a_steady_gain_is_significant_and_noise_is_not() -> None:
    a = [0.0, 1.0] * 50
    gain = paired_bootstrap(whole([0.2] * 100), whole([0.3] * 100))
    assert (gain.a, gain.b) == pytest.approx((0.2, 0.3))
    assert (gain.mean, gain.low, gain.high) == pytest.approx((0.1, 0.1, 0.1))
    assert gain.significant
    noise = paired_bootstrap(whole(a), whole(list(reversed(a))))
    assert noise.low < 0 < noise.high
    assert not noise.significant


def test_the_interval_has_the_width_theory_says() -> None:
    """For differences of 0 and 1 in equal parts the standard error is 0.5 / sqrt(n)."""
    difference = paired_bootstrap(whole([0.0] * 400), whole([0.0, 1.0] * 200))
    assert difference.mean == pytest.approx(0.5)
    assert difference.high - difference.low == pytest.approx(2 * 1.96 * 0.025, rel=0.1)


def test_a_share_of_unequal_wholes_is_resampled_question_by_question() -> None:
    a: list[Share] = [(1, 2), (0, 3), (0, 0)] * 30
    b: list[Share] = [(2, 2), (1, 1), (0, 1)] * 30
    difference = paired_bootstrap(a, b)
    assert (difference.a, difference.b) == pytest.approx((1 / 5, 3 / 4))
    assert 0 < difference.low < difference.mean < difference.high


def test_it_is_repeatable_and_rejects_unpaired_input() -> None:
    a, b = whole([0.0, 1.0, 0.0, 1.0]), whole([1.0, 1.0, 0.0, 0.0])
    assert paired_bootstrap(a, b) == paired_bootstrap(a, b)
    with pytest.raises(ValueError, match="cannot pair 1 questions with 0"):
        paired_bootstrap(a[:1], [])
    with pytest.raises(ValueError, match="cannot pair 0"):
        paired_bootstrap([], [])


def measured(name: str, rows: Mapping[str, Mapping[str, Share]], **changes: Any) -> EvalRun:
    facts: dict[str, Any] = {"of": "retrieval", "k": 5, "questions": "f00d", **changes}
    return EvalRun(name=name, rows=rows, **facts)


ROWS: Mapping[str, Mapping[str, Share]] = {
    "1": {"mrr": (1, 1)},
    "2": {"mrr": (0.5, 1), "iou": (0.1, 1)},
}


def test_every_metric_that_both_have_is_compared_over_the_questions_that_have_it() -> None:
    b: Mapping[str, Mapping[str, Share]] = {
        "2": {"mrr": (1, 1), "iou": (0.3, 1)},
        "1": {"mrr": (1, 1), "new": (1, 1)},
    }
    compared = compare_runs(measured("a", ROWS), measured("b", b))
    assert {name: one.mean for name, one in compared.items()} == pytest.approx(
        {"mrr": 0.25, "iou": 0.2}
    )


def test_a_question_that_one_run_has_nothing_to_measure_of_still_counts_in_the_other() -> None:
    a: Mapping[str, Mapping[str, Share]] = {"1": {"cited": (1, 2)}, "2": {"cited": (0, 2)}, "3": {}}
    b: Mapping[str, Mapping[str, Share]] = {"1": {"cited": (1, 2)}, "2": {}, "3": {}}
    (difference,) = compare_runs(measured("a", a), measured("b", b)).values()
    assert (difference.a, difference.b) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("changes", "rows", "reason"),
    [
        ({"of": "answers"}, ROWS, "one measured retrieval, the other answers"),
        ({}, {"1": {}}, "2 and 1 questions; 1 are in one run only, such as '2' in a.json"),
        ({}, {"1": {}, "3": {}, "4": {}}, "3 are in one run only"),
        ({"questions": "beef"}, ROWS, "different questions or gold"),
        ({"k": 8}, ROWS, "k is 5 in one and 8 in the other"),
    ],
)
def test_runs_that_do_not_match_are_one_clear_error(
    changes: Mapping[str, Any], rows: Mapping[str, Mapping[str, Share]], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        compare_runs(measured("a.json", ROWS), measured("b.json", rows, **changes))


def record(**changes: object) -> dict[str, object]:
    run = {"of": "retrieval", "questions": "f00d", "k": 5}
    row = {"id": "1", "ms": 2.5, "measures": {"mrr": 0.5, "citation_precision": [1, 2]}}
    return {"run": run, "questions": [row], **changes}


def test_a_measurement_is_read_with_its_times_and_shares(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record()))
    found = read_measurement(path)
    assert (found.of, found.k, found.questions) == ("retrieval", 5, "f00d")
    assert found.rows == {"1": {"mrr": (0.5, 1), "citation_precision": (1, 2), "ms": (2.5, 1)}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deep"),
        ("[1]", "wrong types"),
        ('{"n": 3}', "'run' is missing"),
        (json.dumps(record(questions=3)), "wrong types"),
        (json.dumps(record(questions=[{"id": "1", "measures": {"mrr": "x"}}])), "wrong types"),
        (json.dumps(record(questions=[{"id": "1", "measures": {"mrr": float("nan")}}])), "finite"),
        (json.dumps(record(questions=[{"id": "1", "measures": {"mrr": [1]}}])), "wrong types"),
    ],
)
def test_a_file_that_is_no_measurement_is_one_error(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=why) as caught:
        read_measurement(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_measurements_are_compared_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(tmp_path, monkeypatch, capsys)
    rows = [{"id": str(n), "measures": {"hit@5": n % 2}} for n in range(40)]
    better = [{**row, "measures": {"hit@5": 1}} for row in rows]
    (tmp_path / "a.json").write_text(json.dumps(record(questions=rows)))
    (tmp_path / "b.json").write_text(json.dumps(record(questions=better)))
    found = run("eval", "--compare", "a.json", "b.json", "--json").json()
    assert (found["questions"], found["k"], found["confidence"]) == (40, 5, 0.95)
    metric = found["metrics"]["hit@5"]
    assert (metric["a"], metric["b"], metric["difference"]) == (0.5, 1.0, 0.5)
    assert 0.3 < metric["low"] < 0.5 < metric["high"] < 0.7
    assert metric["significant"] is True
    table = run("eval", "--compare", "a.json", "b.json", "--report", "diff.md").out
    assert "| hit@5 | 0.5000 | 1.0000 | +0.5000 |" in table
    assert table in (tmp_path / "diff.md").read_text("utf-8")
    for wrong in (["a.json", "none.json"], ["a.json", "a.json", "--report", "no/where.md"]):
        result = run("eval", "--compare", *wrong)
        assert (result.code, result.err.count("\n")) == (2, 1 + ("questions;" in result.err))
