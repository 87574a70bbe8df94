"""SQLite files of a new RAG_HOME."""

from __future__ import annotations

import shutil
from pathlib import Path

from app.adapters.sqlite.connection import integrity, open_to_write

SCHEMA = "create table if not exists numbers (number integer)"


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
