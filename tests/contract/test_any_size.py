"""Numbers and files of any size in what people write are one line that names the file."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Run
from tests.conftest import ROOT
from tests.ingesting import make_book

HUGE, DEEP = 5_000 * "9", 100_000 * "["
TERABYTES = 5 * 2**40


def sparse(path: Path, size: int = TERABYTES) -> None:
    path.touch()
    os.truncate(path, size)


LEDGER = ["ingest", "lamps", "--book", "lamps"]
IDS = "lamps/textbook-rag-ledger.jsonl"
SIZE = {
    "a rag.toml": ("lamps/rag.toml", ["ingest", "lamps"]),
    "a page": ("lamps/page0.md", ["ingest", "lamps"]),
    "questions": ("q.jsonl", ["eval", "q.jsonl"]),
    "a ledger": (IDS, LEDGER),
    "settings": (".env", ["books"]),
}
"""Files of terabytes."""
TEXTS: dict[str, tuple[str, str | bytes, list[str]]] = {
    "toml": ("lamps/rag.toml", f"structure.high = {HUGE}\n", ["ingest", "lamps"]),
    "toml, 400 digits": (
        "lamps/rag.toml",
        f"structure.high = {HUGE[:400]}\n",
        ["ingest", "lamps"],
    ),
    "toml, infinite": ("lamps/rag.toml", "structure.high = inf\n", ["ingest", "lamps"]),
    "questions": ("q.jsonl", f'{{"id": {HUGE}}}\n', ["eval", "q.jsonl"]),
    "a ledger": (IDS, f'{{"alias": {HUGE}}}', LEDGER),
    "a score": (
        IDS,
        json.dumps({"alias": "a", "paragraph_id": "p-1", "score": 10**400}),
        LEDGER,
    ),
    "settings not UTF-8": (".env", b"RAG_PORT=1\n# caf\xe9\n", ["books"]),
    "settings nested": (".env", f"RAG_PRICES={DEEP}\n", ["books"]),
    "settings with a number": (".env", f'RAG_PRICES={{"m": {HUGE}}}\n', ["books"]),
}


def assert_one_line(run: Run, arguments: list[str], name: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    last = done.err.splitlines()[-1]
    assert "Traceback" not in done.err
    assert Path(name).name in last or "RAG_PRICES" in last


@pytest.mark.parametrize("case", SIZE)
def test_a_file_of_terabytes_is_one_line(run: Run, home: Path, case: str) -> None:
    name, arguments = SIZE[case]
    make_book(home / "lamps", 2)
    sparse(home / name)
    assert_one_line(run, arguments, name)


@pytest.mark.parametrize("case", TEXTS)
def test_a_value_of_any_size_is_one_line(run: Run, home: Path, case: str) -> None:
    name, text, arguments = TEXTS[case]
    make_book(home / "lamps", 2)
    (home / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_one_line(run, arguments, name)


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
    sparse(book / "data.csv")
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
        env={**os.environ, "PYTHONPATH": str(ROOT), "RAG_HOME": str(home)},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "not enough memory" in line
