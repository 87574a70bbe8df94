"""Open SQLite files, either to read, which changes nothing, or to write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

BUSY_SECONDS = 30.0
"""How long to wait for another process's transaction."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing file for reading; sqlite3.Error if it is missing or no database.

    Nothing is created or altered, with one exception: SQLite rolls back a transaction that a crash
    left unfinished.
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
    """Open a file in one transaction as `open_to_write` does, and close it at the end."""
    with closing(open_to_write(path, schema, wal=wal)) as connection, connection:
        yield connection


def open_to_write(path: Path, schema: str, *, wal: bool = False) -> sqlite3.Connection:
    """Open a file; create it and its `schema` if missing. The connection is for one thread at a
    time, though not always the same.

    With a write-ahead log, readers continue while another process writes, and a crash loses no
    committed transaction.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = _open(path, "rwc")
    try:
        if wal:
            # It does not wait for its lock: another process may be switching just now.
            with suppress(sqlite3.OperationalError):
                connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
        connection.executescript(schema)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def integrity(connection: sqlite3.Connection) -> list[str]:
    """Faults that SQLite finds in a file. It reads every page; rows have no checksums."""
    found = [str(row[0]) for row in connection.execute("pragma integrity_check(3)")]
    return [] if found == ["ok"] else found


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
