"""`eval --helpful`, and the use case behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from app.domain.evaluation.gold_question import GoldSpan, Question
from tests.answer_fakes import World, passage
from tests.command_line import runner
from tests.evaluating import evaluated

LIGHT = passage("Photosynthesis turns light energy into chemical energy.", "p-light")
LEAVES = passage("Leaves hold most of the chloroplasts of a plant.", "p-leaves")
ASKED = "What does photosynthesis turn light energy into?"
FOREIGN = "Who won the hockey championship in Ottawa?"


def question(name: str, text: str, gold: tuple[int, int] | None) -> Question:
    spans = (GoldSpan("page.md", *gold),) if gold else ()
    return Question(name, text, "factual", answerable=gold is not None, gold=spans)


RIGHT = question("right", ASKED, (0, 55))
BESIDE = question("beside", ASKED, (900, 950))
REFUSED = question("refused", FOREIGN, (0, 55))
UNANSWERABLE = question("unanswerable", FOREIGN, None)
ANSWERED_ANYWAY = question("answered", ASKED, None)


def summary(questions: Sequence[Question]) -> Mapping[str, float]:
    return evaluated(World((LIGHT, LEAVES)), questions).summary()


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ([RIGHT], {"citation_precision": 1.0, "answer_coverage": 1.0, "refused": 0}),
        ([RIGHT, BESIDE], {"citation_precision": 0.5, "answer_coverage": 0.5}),
        ([RIGHT, REFUSED], {"citation_precision": 1.0, "answer_coverage": 0.5}),
        ([UNANSWERABLE, RIGHT], {"refusal_precision": 1.0, "refusal_recall": 1.0}),
        ([UNANSWERABLE, REFUSED], {"refusal_precision": 0.5, "refusal_recall": 1.0}),
        ([UNANSWERABLE, ANSWERED_ANYWAY], {"refusal_precision": 1.0, "refusal_recall": 0.5}),
        ([UNANSWERABLE], {"n": 1, "answerable": 0, "citation_precision": 0.0}),
    ],
)
def test_citations_and_refusals_are_judged(
    questions: Sequence[Question], expected: Mapping[str, float]
) -> None:
    found = summary(questions)
    assert {name: found[name] for name in expected} == expected


def test_progress_is_told_after_each_question() -> None:
    steps: list[int] = []
    evaluated(World((LIGHT,)), [RIGHT, UNANSWERABLE], advance=steps.append)
    assert steps == [1, 1]


def test_eval_answers_on_a_book(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(tmp_path, monkeypatch, capsys)
    folder = tmp_path / "tiny"
    folder.mkdir()
    text = "# Lamps\n\nThe Fresnel lens bends the light of a small lamp into a single beam.\n"
    (folder / "lamps.md").write_text(text, "utf-8")
    assert run("ingest", folder).code == 0
    gold = {"file": "lamps.md", "start": text.index("The Fresnel"), "end": len(text) - 1}
    asked = {"id": "1", "question": "What does the Fresnel lens do?", "gold": [gold]}
    foreign = {"id": "2", "question": "Who won the football world cup in 1998?"}
    lines = [
        json.dumps({"kind": "factual", "answerable": one is asked, **one})
        for one in (asked, foreign)
    ]
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(lines), "utf-8")
    found = run("eval", questions, "--helpful", "--book", "tiny", "--json").json()
    expected = {
        "n": 2,
        "answerable": 1,
        "citation_precision": 1.0,
        "answer_coverage": 1.0,
        "refusal_precision": 1.0,
        "refusal_recall": 1.0,
        "refused": 1,
        "degraded": 0,
        "answerable_refused": 0.0,
        "answerable_uncertain": 0.0,
        "unanswerable_answered": 0.0,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["refusal"]["setting"] == "RAG_REFUSAL_THRESHOLD"
    assert [row["mode"] for row in found["questions"]] == ["extractive", "refused"]
