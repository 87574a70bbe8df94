"""Names, arguments and escapes that UTF-8 cannot encode: one clear line, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from app.domain.characters import is_well_formed, well_formed
from tests.command_line import Run

pytestmark = pytest.mark.attack("encodings")

PAGE = "# Lamps\n\nOld lamps burned whale oil through the night.\n"
COMMANDS = (("ingest", "--json"), ("blocks",), ("chunks",), ("links",))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_whose_name_is_not_utf8_is_left_out_by_name(
    command: tuple[str, ...], run: Run, home: Path
) -> None:
    book = home / "book"
    book.mkdir()
    (book / "a.md").write_text(PAGE)
    (book / os.fsdecode(b"caf\xe9.md")).write_text("Never read.\n")
    result = run(command[0], book, *command[1:])
    assert result.code == 0
    assert "Never read" not in result.out
    if command[0] != "links":
        assert r"caf\xe9.md: has a name that is not UTF-8: not read" in result.err
    result.out.encode()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_book_whose_folder_is_not_utf8_is_read(
    command: tuple[str, ...], run: Run, home: Path
) -> None:
    book = home / os.fsdecode(b"b\xfccher")
    book.mkdir()
    (book / "a.md").write_text(PAGE)
    result = run(command[0], book, *command[1:])
    assert result.code == 0
    assert result.lines()
    result.out.encode()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_whose_name_is_not_utf8_is_one_clear_line(
    command: tuple[str, ...], run: Run, home: Path
) -> None:
    page = home / os.fsdecode(b"caf\xe9.md")
    page.write_text(PAGE)
    result = run(command[0], page, *command[1:])
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].startswith(r"textbook-rag: caf\xe9.md: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_half_a_surrogate_pair_in_a_configuration_is_mended(
    command: tuple[str, ...], run: Run, home: Path
) -> None:
    book = home / "book"
    (book / "docs").mkdir(parents=True)
    (book / "site.json").write_text(r'{"title": "T \ud800", "url": "https://e.org"}')
    (book / "sidebars.json").write_text(
        r'{"s": [{"type": "category", "label": "C \ud800", "items": ["a", "no \udfff"]}]}'
    )
    (book / "docs/a.md").write_text('---\nsidebar_label: "L \\uD800"\n---\n\n' + PAGE)
    result = run(command[0], book, *command[1:])
    assert result.code == 0
    for line in result.lines():
        json.dumps(line, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "what \udcff"),
        ("search", "what \udcff"),
        ("links", "b\udcff"),
    ],
)
def test_an_argument_that_is_not_utf8_is_one_clear_line(
    arguments: tuple[str, ...], run: Run
) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].endswith(r"\xff: not UTF-8")


def test_half_a_surrogate_pair_in_a_question_is_one_clear_line(run: Run, home: Path) -> None:
    (home / "q.jsonl").write_text(
        r'{"id": "1", "question": "a \ud800", "kind": "k", "answerable": false}'
    )
    result = run("eval", home / "q.jsonl", "--book", "b")
    assert result.code == 2
    assert "q.jsonl:1: " in result.err


def test_a_ledger_with_half_a_surrogate_pair_is_one_clear_line(run: Run, home: Path) -> None:
    (home / "l.jsonl").write_text(r'{"alias": "\ud800", "paragraph_id": "p", "score": 1}')
    result = run("ingest", home, "--book", "b", "--ledger", home / "l.jsonl")
    assert result.code == 2
    assert "l.jsonl:1: " in result.err


def test_whole_pairs_are_kept() -> None:
    assert well_formed("a\U0001f600\ud83d\ude00\ud800") == "a\U0001f600\U0001f600\ufffd"
    assert is_well_formed("\U0001f600")
