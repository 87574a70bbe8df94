"""Opens SQLite files for reading or for writing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

BUSY_SECONDS = 30.0
"""Maximum wait for another process's transaction."""


_BESIDE = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite applies to a database, also to a new one of the same name."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing file for reading. sqlite3.Error if it is missing or not a database.

    Creates and changes nothing, with one exception: SQLite rolls back a transaction that a crash
    interrupted.
    """
    connection = _open(path, "ro")
    try:
        connection.execute("select 1 from sqlite_master limit 1")
    except sqlite3.Error as error:
        connection.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
        connection = _open(path, "rw")
    with closing(connection):
        yield connection


@contextmanager
def writing(path: Path, schema: str, *, wal: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a file with `open_to_write`, run the block in one transaction, close the file."""
    with closing(open_to_write(path, schema, wal=wal)) as connection, connection:
        yield connection


def open_to_write(path: Path, schema: str, *, wal: bool) -> sqlite3.Connection:
    """Open a file for writing; create it and its `schema` if they are missing.

    Different threads may use the connection, but only one at a time. With a write-ahead log
    (`wal`), readers continue while another process writes, and a crash of the process loses no
    committed transaction.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not any(path.with_name(path.name + end).exists() for end in ("", *_BESIDE)):
        _create(path, schema, wal=wal)
    return _prepared(path, schema, wal=wal)


def _create(path: Path, schema: str, *, wal: bool) -> None:
    """Create the file in one step: another process would take one without tables for damaged.

    Not on a file system without links; there it is created in place.
    """
    with suppress(OSError), TemporaryDirectory(prefix=".new-", dir=path.parent) as folder:
        new = Path(folder) / path.name
        _prepared(new, schema, wal=wal).close()
        os.link(new, path)


def _prepared(path: Path, schema: str, *, wal: bool) -> sqlite3.Connection:
    connection = _open(path, "rwc")
    try:
        if wal:
            # The statement does not wait for a lock; another process may be switching the mode.
            with suppress(sqlite3.OperationalError):
                connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
        connection.executescript(schema)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def integrity(connection: sqlite3.Connection) -> list[str]:
    """Return up to 3 faults that SQLite finds. It reads every page, but rows have no checksums."""
    found = [str(row[0]) for row in connection.execute("pragma integrity_check(3)")]
    return [] if found == ["ok"] else found


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
