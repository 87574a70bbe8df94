"""`eval --helpful`, and the students' questions that come with the tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from app.cli.question_file import read_questions
from app.domain.evaluation.answer_metrics import has_facts
from tests.command_line import Run
from tests.conftest import ROOT

Record: TypeAlias = dict[str, Any]

STUDENTS = ROOT / "tests/data/student_questions.jsonl"
TEXT = "# Lamps\n\nThe Fresnel lens bends the light of a small lamp into a single beam.\n"
GOLD = {"file": "lamps.md", "start": TEXT.index("The Fresnel"), "end": len(TEXT) - 1}
LENS: Record = {
    "id": "lens", "book": "tiny", "question": "What does the Fresnel lens do?", "kind": "how",
    "answerable": True, "gold": [GOLD], "key_facts": ["bends", "beam"], "half": "development",
}  # fmt: skip
CUP: Record = {
    "id": "cup", "book": "tiny", "question": "Who won the football world cup in 1998?",
    "kind": "off_topic", "answerable": False, "half": "final",
}  # fmt: skip
OTHER: Record = {**CUP, "id": "other", "book": "elsewhere"}


@pytest.fixture
def questions(run: Run, home: Path) -> Path:
    """Questions about a book that is indexed, and about another one."""
    folder = home / "tiny"
    folder.mkdir()
    (folder / "lamps.md").write_text(TEXT, "utf-8")
    assert run("ingest", folder).code == 0
    return written(home, [LENS, CUP, OTHER])


def written(folder: Path, records: Sequence[Record]) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return path


def test_the_json_has_means_kinds_and_a_row_a_question(run: Run, questions: Path) -> None:
    found = run("eval", "--helpful", questions, "--book", "tiny", "--json").json()
    assert (found["n"], found["facts_shown"], found["found"], found["cited_gold"]) == (2, 1, 1, 1)
    assert found["words_shown"] == len(TEXT.split()) - 2
    assert found["unanswerable_refused"] == 1
    assert found["by_kind"]["off_topic"]["n"] == 1
    assert found["run"]["of"] == "helpful"
    rows = found["questions"]
    assert [(row["id"], row["mode"], row["outcome"], row["failure"]) for row in rows] == [
        ("lens", "extractive", "answered", None),
        ("cup", "refused", "refused", None),
    ]
    assert rows[0]["measures"]["facts_shown"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--helpful", "--book", "nothing"], "no question for this book"),
        (["--helpful"], "elsewhere"),
    ],
)
def test_what_cannot_be_measured_is_said(
    run: Run, questions: Path, arguments: Sequence[str], message: str
) -> None:
    found = run("eval", questions, *arguments)
    assert found.code == 2
    assert message in found.err


def test_every_gold_place_of_the_sample_book_has_the_key_facts(sample_book: Path) -> None:
    for one in read_questions(STUDENTS):
        if one.book != "sample" or not one.answerable:
            continue
        texts = [
            (sample_book / gold.file).read_bytes().decode("utf-8")[gold.start : gold.end]
            for gold in one.gold
        ]
        assert all(text.strip() for text in texts), one.id
        for text in ["\n\n".join(texts)] if one.needs_all_gold else texts:
            assert has_facts(text, one.key_facts), one.id
