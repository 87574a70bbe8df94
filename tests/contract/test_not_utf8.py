"""Names, arguments and escapes that UTF-8 cannot encode: one clear line, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from app.domain.characters import is_well_formed, well_formed
from tests.command_line import Run, write_files

pytestmark = pytest.mark.attack

PAGE = "# Lamps\n\nOld lamps burned whale oil through the night.\n"
COMMANDS = (("ingest", "--json"), ("blocks",), ("chunks",))


@pytest.fixture
def book(home: Path) -> Path:
    return write_files(home / os.fsdecode(b"b\xfccher"), {"a.md": PAGE})


def test_a_folder_whose_name_is_not_utf8_is_read_and_such_a_page_left_out_by_name(
    run: Run, book: Path
) -> None:
    (book / os.fsdecode(b"caf\xe9.md")).write_text("Never read.\n")
    for command, *options in COMMANDS:
        result = run(command, book, *options)
        assert result.code == 0
        assert result.lines()
        assert "Never read" not in result.out
        told = r"caf\xe9.md: has a name that is not UTF-8: not read"
        assert told in result.err
        result.out.encode()


def test_a_page_whose_name_is_not_utf8_is_one_clear_line(run: Run, home: Path) -> None:
    page = home / os.fsdecode(b"caf\xe9.md")
    page.write_text(PAGE)
    for command, *options in COMMANDS:
        result = run(command, page, *options)
        assert (result.code, result.out) == (2, "")
        assert result.err.splitlines()[-1].startswith(r"textbook-rag: caf\xe9.md: ")


def test_half_a_surrogate_pair_in_a_configuration_is_mended(run: Run, book: Path) -> None:
    sidebar = r'{"s": [{"type": "category", "label": "C \ud800", "items": ["a", "no \udfff"]}]}'
    files = {
        "site.json": r'{"title": "T \ud800", "url": "https://e.org"}',
        "sidebars.json": sidebar,
        "docs/a.md": '---\nsidebar_label: "L \\uD800"\n---\n\n' + PAGE,
    }
    write_files(book, files)
    for command, *options in COMMANDS:
        result = run(command, book, *options)
        assert result.code == 0
        for line in result.lines():
            json.dumps(line, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "what \udcff"),
        ("search", "what \udcff"),
    ],
)
def test_an_argument_that_is_not_utf8_is_one_clear_line(
    arguments: tuple[str, ...], run: Run
) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].endswith(r"\xff: not UTF-8")


@pytest.mark.parametrize(
    ("line", "command"),
    [
        (
            r'{"id": "1", "question": "a \ud800", "kind": "k", "answerable": false}',
            ["eval", "lines.jsonl", "--book", "b"],
        ),
        (
            r'{"alias": "\ud800", "paragraph_id": "p", "score": 1}',
            ["ingest", ".", "--book", "b"],
        ),
    ],
)
def test_half_a_surrogate_pair_in_a_file_is_one_clear_line(
    run: Run, home: Path, line: str, command: list[str]
) -> None:
    name = "lines.jsonl" if command[0] == "eval" else "textbook-rag-ledger.jsonl"
    (home / name).write_text(line)
    result = run(*command)
    assert result.code == 2
    assert f"{name}:1: " in result.err


def test_whole_pairs_are_kept() -> None:
    assert well_formed("a\U0001f600\ud83d\ude00\ud800") == "a\U0001f600\U0001f600\ufffd"
    assert is_well_formed("\U0001f600")
