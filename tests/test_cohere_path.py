"""The whole path with a Cohere key: real SDK, HTTP double; ingest, search, rerank, cited answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cohere_double import CohereDouble
from tests.command_line import Run, runner
from tests.test_cli import BOOK


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "tiny").mkdir()
    for name, text in BOOK.items():
        (tmp_path / "tiny" / name).write_text(text, "utf-8")
    return runner(tmp_path, monkeypatch, capsys)


def environment(double: CohereDouble, key: str | None = None) -> dict[str, str]:
    return {
        "CO_API_KEY": key or double.key,
        "RAG_COHERE_BASE_URL": double.url,
        "RAG_COHERE_EMBED_DIMENSION": "256",
    }


def test_a_key_turns_ingest_and_answers_over_to_cohere(run: Run) -> None:
    with CohereDouble() as double:
        report = run("ingest", "tiny", "--json", **environment(double))
        assert report.code == 0, report.err
        assert report.json()["embedded"] > 0
        assert "embed-v4.0" in report.err
        assert {call.body["input_type"] for call in double.to("embed")} == {"search_document"}
        question = "What does the Fresnel lens do?"
        answer = run("ask", question, "--json", **environment(double)).json()
        chat = double.to("chat")[-1].body
    assert answer["mode"] == "generated"
    assert answer["degraded"] == []
    assert "Fresnel lens" in answer["answer"]
    (citation, *_) = answer["citations"]
    assert citation["quote"] in BOOK["lamps.md"]
    assert citation["paragraph_id"] in {document["id"] for document in chat["documents"]}


def test_a_refused_key_is_one_line_and_leaves_nothing(run: Run) -> None:
    with CohereDouble() as double:
        result = run("ingest", "tiny", **environment(double, key="wrong"))
        assert result.code == 2
        assert "CO_API_KEY" in result.err.splitlines()[-1]
        assert "wrong" not in result.err
        assert run("books", "--json").out == ""
        assert run("ingest", "tiny", **environment(double)).code == 0


def test_an_unchanged_book_makes_no_call(run: Run) -> None:
    with CohereDouble() as double:
        run("ingest", "tiny", **environment(double))
        calls = len(double.to("embed"))
        run("ingest", "tiny", **environment(double))
        assert len(double.to("embed")) == calls
