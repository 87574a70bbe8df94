"""SQLite files opened in one of two ways: to read, which changes nothing, and to write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

BUSY_SECONDS = 30.0
"""How long to wait for another process's transaction."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that is there; sqlite3.Error when it is not, or is no database.

    Nothing is created or altered, with one exception: a transaction that a crash left half-written
    is rolled back first, as every reader of SQLite must.
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
    """Open a file in one transaction, making it and what `schema` names if need be.

    With a write-ahead log, readers go on while another process writes, and a crash loses no
    finished transaction.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(_open(path, "rwc")) as connection, connection:
        if wal:
            # It does not wait for its lock: another process may be switching just now.
            with suppress(sqlite3.OperationalError):
                connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
        connection.executescript(schema)
        yield connection


def integrity(connection: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong with a file; it reads every page, and no checksum of the rows."""
    found = [str(row[0]) for row in connection.execute("pragma integrity_check(3)")]
    return [] if found == ["ok"] else found


def _open(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS)
