"""Answers of a real server with OpenAI's protocol, such as llama.cpp's; OPENAI_TEST_URL is its
address with `/v1`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command_line import Run

URL = os.environ.get("OPENAI_TEST_URL", "")

pytestmark = pytest.mark.skipif(not URL, reason="OPENAI_TEST_URL names no server")

LAMPS = """# Lamps

An Argand lamp has a round wick. Air rises through the middle of its flame.

A Davy lamp has a mesh of wire around its flame, so that the gas of a mine does not explode.
"""


def test_what_a_small_model_writes_is_cited_or_not_shown(run: Run, tmp_path: Path) -> None:
    """A model too small to cite gives the book's passages instead, and the answer says why."""
    book = tmp_path / "lamps"
    book.mkdir()
    (book / "index.md").write_text(LAMPS, "utf-8")
    assert run("ingest", book).code == 0
    server = {"RAG_GENERATOR": "openai", "RAG_OPENAI_BASE_URL": URL}
    answer = run("ask", "Why does a Davy lamp have a mesh?", "--json", **server).json()
    assert answer["usage"]["input_tokens"] > 0
    assert answer["usage"]["output_tokens"] > 0
    assert answer["citations"]
    assert (answer["mode"] == "generated") is not bool(answer["degraded"])
    assert "mesh of wire" in answer["passages"][0]["text"]
