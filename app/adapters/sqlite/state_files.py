"""Copies of the SQLite files of RAG_HOME that belong to no book, for a backup and from one."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from app.adapters.sqlite.file import SqliteFile

STATE_FILES = ("keys.sqlite", "questions.sqlite", "spending.sqlite", "embeddings.sqlite")


def copy_file(source: Path, target: Path) -> bool:
    """Copy a consistent snapshot, even while the file is written; the copy appears in one step.

    False, without a change, if there is nothing to copy or the target exists. StorageError.
    """
    if target.exists() or not source.exists():
        return False
    with SqliteFile(target).errors():
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".new-", dir=target.parent) as folder:
            copy = Path(folder) / target.name
            with SqliteFile(source).reading() as old, SqliteFile(copy).writing() as new:
                old.backup(new)
            copy.rename(target)
    return True
