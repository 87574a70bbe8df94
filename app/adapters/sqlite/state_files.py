"""Copies of the SQLite files of RAG_HOME that belong to no book, for a backup and from one."""

from __future__ import annotations

from pathlib import Path

from app.adapters.sqlite.file import SqliteFile

STATE_FILES = ("keys.sqlite", "questions.sqlite", "spending.sqlite", "embeddings.sqlite")


def copy_file(source: Path, target: Path) -> bool:
    """Copy a consistent snapshot, even while the file is written. StorageError.

    False, without a change, if there is nothing to copy or the target exists.
    """
    if target.exists() or not source.exists():
        return False
    with SqliteFile(source).reading() as old, SqliteFile(target).writing() as new:
        old.backup(new)
    return True
