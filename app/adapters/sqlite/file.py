"""A SQLite file of RAG_HOME: read, written, checked for damage, copied; its errors told."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from app.domain.errors import RagError, StorageError
from app.services.threads import in_thread

BUSY_SECONDS = 30.0
"""Maximum wait for another process's transaction."""

BESIDE = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite applies to a database, also to a new one of the same name."""


class SqliteFile:
    """The base of the stores. Threads may share a connection, but only one may use it at a time."""

    schema: ClassVar[str] = ""
    name: ClassVar[str] = "the file"
    """What the file is, for messages."""
    remedy: str = "restore a copy"
    """What to do if it is damaged."""
    wal: ClassVar[bool] = False
    """With a write-ahead log, readers continue while another process writes, and a crash of the
    process loses no committed transaction."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet; the first write creates the file."""
        self.path = path

    def check(self, connection: sqlite3.Connection) -> object:
        """Raise an error if content is not as it was written."""

    @in_thread
    def faults(self) -> list[str]:
        """Check the whole file, then its content; a line of text for a fault.

        SQLite reads every page, but rows have no checksums.
        """
        try:
            with self.reading() as connection:
                ((found,),) = connection.execute("pragma integrity_check(1)")
                if found != "ok":
                    raise sqlite3.DatabaseError(found)
                self.check(connection)
        except StorageError as error:
            return [str(error)]
        return []

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open the file for reading; a missing one reads as empty. StorageError if it is damaged.

        Creates and changes nothing, with one exception: SQLite rolls back a transaction that a
        crash interrupted. If the file may not be written, SQLite opens it for reading.
        """
        with self.errors(), closing(self._open_to_read()) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block in one transaction; create the file and its schema if they are missing."""
        with self.errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not any(self.path.with_name(self.path.name + end).exists() for end in ("", *BESIDE)):
                self._create()
            with closing(self._prepared(self.path)) as connection, connection:
                yield connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise StorageError for errors of SQLite and the disk, and of content that is no more what
        was written. Messages do not tell content: it may be what a reader wrote.
        """
        try:
            yield
        except StorageError:
            raise
        except (sqlite3.DatabaseError, OSError) as error:
            # "no such table" or column: another database, or an empty file.
            usable = isinstance(error, sqlite3.OperationalError) and "no such" not in str(error)
            if not usable and isinstance(error, sqlite3.Error):
                raise self._damaged(str(error)) from error
            message = f"{self.path}: {self.name} cannot be used: {error}; check RAG_HOME"
            raise StorageError(message) from error
        except (ValueError, TypeError, RagError) as error:
            raise self._damaged(type(error).__name__) from error

    def _damaged(self, reason: str) -> StorageError:
        return StorageError(f"{self.path}: {self.name} is damaged ({reason}): {self.remedy}")

    def _open_to_read(self) -> sqlite3.Connection:
        if self.path.exists():
            return _connect(self.path, self._mode())
        empty = sqlite3.connect(":memory:", check_same_thread=False)
        empty.executescript(self.schema)
        return empty

    def _mode(self) -> str:
        """Return how to read: SQLite puts files beside one with a log, even to read it."""
        beside = any(self.path.with_name(self.path.name + end).exists() for end in BESIDE)
        return "rw" if beside or os.access(self.path.parent, os.W_OK) else "ro&immutable=1"

    def _create(self) -> None:
        """Create the file in one step: another process would take one without tables for damaged.

        Not on a file system without links; there it is created in place.
        """
        with suppress(OSError), TemporaryDirectory(prefix=".new-", dir=self.path.parent) as folder:
            new = Path(folder) / self.path.name
            self._prepared(new).close()
            os.link(new, self.path)

    def _prepared(self, path: Path) -> sqlite3.Connection:
        connection = _connect(path, "rwc")
        try:
            if self.wal:
                # The statement does not wait for a lock; another process may be switching the mode.
                with suppress(sqlite3.OperationalError):
                    connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = normal")
            connection.executescript(self.schema)
        except sqlite3.Error:
            connection.close()
            raise
        return connection


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
            with SqliteFile(source).reading() as old:
                old.execute("pragma schema_version")  # names the source if it is no database
                with SqliteFile(copy).writing() as new:
                    old.backup(new)
            copy.rename(target)
    return True


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
