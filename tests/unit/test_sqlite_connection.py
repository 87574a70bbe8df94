"""Several processes use the SQLite files of a new RAG_HOME."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from app.adapters.sqlite import connection
from app.adapters.sqlite.connection import integrity, open_to_write

SCHEMA = "create table if not exists numbers (number integer)"


@pytest.mark.parametrize("wal", [False, True])
def test_a_new_file_has_its_tables_as_soon_as_another_process_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wal: bool
) -> None:
    path = tmp_path / "new.sqlite"
    seen = []
    open_before = connection._open

    class Watched(sqlite3.Connection):
        def executescript(self, script: str) -> sqlite3.Cursor:
            seen.append(path.exists())
            return super().executescript(script)

    def watched(file: Path, mode: str) -> sqlite3.Connection:
        open_before(file, mode).close()
        return sqlite3.connect(file, factory=Watched)

    monkeypatch.setattr(connection, "_open", watched)
    open_to_write(path, SCHEMA, wal=wal).close()
    assert seen == [False, True]
    assert [file.name for file in tmp_path.iterdir()] == ["new.sqlite"]


def test_the_log_of_a_deleted_file_is_not_applied_to_a_new_one(tmp_path: Path) -> None:
    path, log = tmp_path / "new.sqlite", tmp_path / "new.sqlite-wal"
    with open_to_write(path, SCHEMA, wal=True) as before:
        before.execute("insert into numbers values (1)")
    shutil.copy(log, tmp_path / "log")
    before.close()
    path.unlink()
    (tmp_path / "log").rename(log)

    opened = open_to_write(path, SCHEMA, wal=True)
    assert integrity(opened) == []
    assert opened.execute("select count(*) from numbers").fetchone() == (0,)
    opened.close()
