"""SQLite files of a new RAG_HOME."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from app.adapters.sqlite.file import SqliteFile


class Numbers(SqliteFile):
    schema = "create table if not exists numbers (number integer)"
    wal = True


def test_the_log_of_a_deleted_file_is_not_applied_to_a_new_one(tmp_path: Path) -> None:
    path, log = tmp_path / "new.sqlite", tmp_path / "new.sqlite-wal"
    file = Numbers(path)
    with file.writing() as before:
        before.execute("insert into numbers values (1)")
        before.commit()
        shutil.copy(log, tmp_path / "log")
    path.unlink()
    (tmp_path / "log").rename(log)

    assert asyncio.run(file.faults()) == []
    with file.writing() as opened:
        assert opened.execute("select count(*) from numbers").fetchone() == (0,)
