"""SQLite files of a new RAG_HOME."""

from __future__ import annotations

import shutil
from pathlib import Path

from app.adapters.sqlite.file import SqliteFile

SCHEMA = "create table if not exists numbers (number integer)"


def test_the_log_of_a_deleted_file_is_not_applied_to_a_new_one(tmp_path: Path) -> None:
    path, log = tmp_path / "new.sqlite", tmp_path / "new.sqlite-wal"
    file = SqliteFile(path, SCHEMA, "the file", "delete it", wal=True)
    with file.open_to_write() as before:
        before.execute("insert into numbers values (1)")
    shutil.copy(log, tmp_path / "log")
    before.close()
    path.unlink()
    (tmp_path / "log").rename(log)

    assert file.faults(lambda _: None) == []
    opened = file.open_to_write()
    assert opened.execute("select count(*) from numbers").fetchone() == (0,)
    opened.close()
