"""Backup and restoration of the SQLite files of RAG_HOME that belong to no book."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import IO

from app.adapters.sqlite.file import BESIDE, SqliteFile
from app.domain.errors import InputError, StorageError

NAMES = ("keys.sqlite", "questions.sqlite", "spending.sqlite", "embeddings.sqlite")


class SqliteStateFiles:
    """The files of `NAMES` in the folder `home`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def present(self) -> Sequence[str]:
        return [name for name in NAMES if (self._home / name).exists()]

    def copy(self, name: str, target: Path) -> None:
        """Copy a consistent snapshot, even while the file is written. Raises StorageError."""
        file = SqliteFile(self._home / name, "", "the file", "restore a copy")
        with file.reading() as here, closing(sqlite3.connect(target)) as there:
            here.backup(there)

    def put(self, name: str, source: IO[bytes]) -> bool:
        """Write a file in one step; False, without a change, if it exists.

        InputError for another name; StorageError.
        """
        if name not in NAMES:
            message = f"{name!r} is not a file of RAG_HOME that a backup may contain"
            raise InputError(message)
        target = self._home / name
        if target.exists():
            return False
        new = self._home / f"{name}.{os.getpid()}.new"
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            _write_durably(new, source)
            # Leftovers of a deleted file, which SQLite would apply to the new one.
            for left in BESIDE:
                target.with_name(name + left).unlink(missing_ok=True)
            os.link(new, target)
        except FileExistsError:
            return False
        except OSError as error:
            message = f"{target}: {error.strerror or error}; check RAG_HOME"
            raise StorageError(message) from error
        finally:
            new.unlink(missing_ok=True)
        return True


def _write_durably(path: Path, source: IO[bytes]) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)
        file.flush()
        os.fsync(file.fileno())
