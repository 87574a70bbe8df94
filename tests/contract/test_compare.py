"""Strategies compared on a small book: a row each, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Run
from tests.ingesting import make_book


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps", pages=2)


@pytest.fixture
def questions(tmp_path: Path, book: Path) -> Path:
    source = (book / "page1.md").read_text("utf-8")
    start = source.index("Page1 part1")
    asked = {
        "id": "q1",
        "question": source[start : source.index(".", start)],
        "kind": "factual",
        "answerable": True,
        "gold": [{"file": "page1.md", "start": start, "end": source.index(".", start)}],
    }
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(asked) + "\n", "utf-8")
    return path


def test_a_row_a_strategy_in_the_order_asked_for(run: Run, book: Path, questions: Path) -> None:
    names = ("structure", "fixed")
    command = ("compare", book, questions, "--strategies", *names)
    head, _, *lines = run(*command).out.splitlines()
    assert "recall" in head
    assert [line.split(" | ")[0].strip("| ") for line in lines] == list(names)
    rows: Any = run(*command, "--json").json()
    assert [row["strategy"] for row in rows] == list(names)
    assert all(row["recall"] == 1.0 and row["chunks"] > 1 for row in rows)
    assert rows[1]["relative_time"] == 1.0
    assert rows[0]["cut_sentences"] == 0 < rows[1]["cut_sentences"]


def test_late_is_compared_with_an_embedder_of_tokens_alone(
    run: Run, book: Path, questions: Path
) -> None:
    result = run("compare", book, questions, "--strategies", "fixed", "late", RAG_EMBEDDER="local")
    assert result.code == 2
    assert "'late' needs an embedder with a vector for each token" in result.err
