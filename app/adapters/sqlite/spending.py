"""Money spent on providers, by day: one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from threading import Lock

from app.adapters.sqlite.file import SqliteFile
from app.services.budget import Dollars
from app.services.threads import in_thread


class SqliteSpending(SqliteFile):
    """Implements the `SpendingStore` port; safe to use from several threads and processes.

    One connection stays open. When the last connection closes, SQLite writes the write-ahead log
    back into the file, which would take milliseconds at each provider call.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS spending (day TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
    """
    name = "the spending"
    remedy = "restore a copy, or delete this file"
    wal = True

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet; the first call creates the file."""
        super().__init__(path)
        self._connection: sqlite3.Connection | None = None
        self._lock = Lock()

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()

    @in_thread
    def spent(self, day: date) -> Dollars:
        query = (
            "SELECT coalesce(sum(usd) FILTER (WHERE day = ?), 0.0), coalesce(sum(usd), 0.0) "
            "FROM spending WHERE substr(day, 1, 7) = ?"
        )
        with self._transaction() as connection:
            row = connection.execute(query, (day.isoformat(), f"{day:%Y-%m}")).fetchone()
        return {"day": row[0], "month": row[1]}

    @in_thread
    def add(self, day: date, usd: float) -> None:
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO spending VALUES (?, ?) "
                "ON CONFLICT (day) DO UPDATE SET usd = usd + excluded.usd",
                (day.isoformat(), usd),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self.errors():
            try:
                self._connection = self._connection or self.open_to_write()
                with self._connection as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
            except (sqlite3.Error, OSError):
                # The next call opens the file again: it may have been repaired or moved.
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                raise
