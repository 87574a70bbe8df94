"""Names, texts, numbers and files that no program expects: one clear line that names the file."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.characters import well_formed
from tests.command_line import Run, write_files
from tests.ingesting import make_book
from tests.served_process import offline_environment

encodings = pytest.mark.attack

PAGE = "# Lamps\n\nOld lamps burned whale oil through the night.\n"
COMMANDS = (("ingest", "--json"), ("blocks",), ("chunks",))


@pytest.fixture
def book(home: Path) -> Path:
    return write_files(home / os.fsdecode(b"b\xfccher"), {"a.md": PAGE})


@encodings
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


@encodings
def test_a_page_whose_name_is_not_utf8_is_one_clear_line(run: Run, home: Path) -> None:
    page = home / os.fsdecode(b"caf\xe9.md")
    page.write_text(PAGE)
    for command, *options in COMMANDS:
        assert r"textbook-rag: caf\xe9.md: " in run(command, page, *options).refusal()


@encodings
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


@encodings
@pytest.mark.parametrize("command", ["ask", "search"])
def test_an_argument_that_is_not_utf8_is_one_clear_line(command: str, run: Run) -> None:
    assert run(command, "what \udcff").refusal().endswith(r"\xff: not UTF-8")


def test_whole_pairs_are_kept() -> None:
    assert well_formed("a\U0001f600\ud83d\ude00\ud800") == "a\U0001f600\U0001f600\ufffd"


# --- of any size

HUGE, DEEP = 5_000 * "9", 100_000 * "["
TERABYTES = 5 * 2**40
RAG_TOML, IDS, QUESTIONS = "lamps/rag.toml", "lamps/textbook-rag-ledger.jsonl", "q.jsonl"
READ_BY = {
    RAG_TOML: "ingest lamps",
    "lamps/page0.md": "ingest lamps",
    IDS: "ingest lamps --book lamps",
    QUESTIONS: "eval q.jsonl",
    ".env": "books",
}
"""Files that people write, and a command that reads each."""
HALF = r'"id": "1", "question": "a \ud800", "kind": "k", "answerable": false'
SCORE = json.dumps({"alias": "a", "paragraph_id": "p-1", "score": 10**400})
CONTENTS: list[tuple[str, str | bytes | int]] = [
    *((name, TERABYTES) for name in READ_BY),
    (RAG_TOML, f"structure.high = {HUGE}\n"),
    (RAG_TOML, f"structure.high = {HUGE[:400]}\n"),
    (RAG_TOML, "structure.high = inf\n"),
    (QUESTIONS, f'{{"id": {HUGE}}}\n'),
    (IDS, f'{{"alias": {HUGE}}}'),
    (IDS, SCORE),
    (IDS, r'{"alias": "\ud800", "paragraph_id": "p", "score": 1}'),
    (QUESTIONS, f"{{{HALF}}}"),
    (".env", b"RAG_PORT=1\n# caf\xe9\n"),
    (".env", f"RAG_PRICES={DEEP}\n"),
    (".env", f'RAG_PRICES={{"m": {HUGE}}}\n'),
]
"""A file with its content, or with its size without any."""


@pytest.mark.parametrize(("name", "content"), CONTENTS, ids=lambda value: str(value)[:40])
def test_a_file_or_value_of_any_size_is_one_line(
    run: Run, home: Path, name: str, content: str | bytes | int
) -> None:
    make_book(home / "lamps", 2)
    if isinstance(content, int):
        sparse(home / name, content)
    else:
        write_files(home, {name: content})
    last = run(*READ_BY[name].split()).refusal()
    assert Path(name).name in last or "RAG_PRICES" in last


def sparse(path: Path, size: int) -> None:
    path.touch()
    os.truncate(path, size)


def test_numbers_of_any_size_in_front_matter_are_text(run: Run, home: Path) -> None:
    book = make_book(home / "lamps", 2)
    page = book / "page0.md"
    for value in (HUGE, HUGE[:400], ".inf", "1e999"):
        fields = "".join(f"{key}: {value}\n" for key in ("sidebar_position", "title"))
        page.write_text(f"---\n{fields}nav: [{value}]\n---\n\n# Lamps\n\nOld lamps burn oil.\n")
        done = run("ingest", book, "--site", "docusaurus")
        assert done.code in (0, 2)
        assert "Traceback" not in done.err
        assert done.code == 0 or "page0.md" in done.err.splitlines()[-1]


def test_a_data_file_beside_the_pages_is_not_read(run: Run, home: Path) -> None:
    book = make_book(home / "lamps", 2)
    sparse(book / "data.csv", TERABYTES)
    assert run("ingest", book).code == 0
    assert "unchanged" in run("ingest", book).out
    sparse(book / "data.csv", TERABYTES + 1)
    assert "unchanged" in run("ingest", book).out


def test_too_little_memory_ends_a_server_with_one_line(home: Path) -> None:
    """Qdrant's engine would abort, hang, or leave half a file."""
    size = 500 * 2**20

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "serve", "--port", "18999"],
        cwd=home,
        env=offline_environment(home),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "not enough memory" in line
