"""A full disk and a read-only state folder: one clear line, and the old index answers on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.bootstrap.storage import disk_of
from tests.command_line import Result, Run, runner
from tests.conftest import ROOT
from tests.ingesting import edit, make_book
from tests.serving import offline_settings

FREE = 3 * 2**20
"""Bytes: less than the new generation takes, more than SQLite's journals."""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps")


def in_process_of_its_own(*arguments: str | Path, before: str = "pass") -> Result:
    """Run a command after the statements of `before`: it may be limited, or die."""
    script = f"import resource, sys; from app.cli import main; {before}; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def assert_full(done: Result, place: Path) -> None:
    assert str(place) in done.refusal(1)
    assert "disk full" in done.refusal(1)


def assert_answers(run: Run, word: str) -> None:
    done = run("search", "page0 part0", "--json")
    assert done.code == 0, done.err
    assert word in done.out


@pytest.mark.parametrize("disk", [200], indirect=True)
def test_a_full_disk(
    disk: Path, book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(disk, monkeypatch, capsys)
    assert run("ingest", book).code == 0
    edit(book / "page0.md", "Page0 part0", "Newer words")
    filler = disk / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - FREE)
    # Writing into a file's hole on a full disk would kill the process.
    assert_full(in_process_of_its_own("ingest", book), disk)
    assert_answers(run, "Page0 part0")
    with filler.open("ab") as file:
        os.posix_fallocate(file.fileno(), file.tell(), shutil.disk_usage(disk).free)
    # So would mapping a file whose holes are filled then, where there is no room at all.
    search = in_process_of_its_own("search", "page0 part0", "--json")
    assert search.code == 0
    assert "Page0 part0" in search.out
    assert "full: nothing can be ingested" in disk_of(offline_settings(disk / "state")).fault
    filler.unlink()
    assert run("ingest", book).code == 0
    assert_answers(run, "Newer words")


def test_a_quota_that_runs_out(run: Run, home: Path, book: Path) -> None:
    assert run("ingest", book).code == 0
    for number in range(4):
        edit(book / f"page{number}.md", f"Page{number} part0", "Newer words")
    size = (home / "state/embeddings.sqlite").stat().st_size // 4
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    assert_full(in_process_of_its_own("ingest", book, before=limit), home)
    assert_answers(run, "Page0 part0")
    assert run("ingest", book).code == 0
    assert_answers(run, "Newer words")
