"""What a server keeps in SQLite files: the keys to its API, the question log, the spending."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date

from pydantic import TypeAdapter

from app.adapters.sqlite.file import SqliteFile
from app.domain.logged_answer import Feedback, LoggedAnswer
from app.domain.site_key import SiteKey
from app.services.budget import Dollars
from app.services.question_log import Selected
from app.services.threads import in_thread

_KEY = TypeAdapter(SiteKey)
_ANSWER = TypeAdapter(LoggedAnswer)


class SqliteSiteKeys(SqliteFile):
    """Keys, stored as hashes. A server sees changes by other processes at its next request.

    `entry` has all fields of the key, as JSON.
    """

    schema = "CREATE TABLE IF NOT EXISTS keys (digest TEXT PRIMARY KEY, entry TEXT) WITHOUT ROWID"
    name = "the file of keys"
    remedy = "restore a copy, or delete this file and make new keys"
    _read: tuple[tuple[int, int, int] | None, tuple[SiteKey, ...]] | None = None

    def check(self, connection: sqlite3.Connection) -> None:
        _load(connection)

    def all(self) -> tuple[SiteKey, ...]:
        """Return the keys in order of creation; the file is read again only if it changed."""
        with self.errors():
            version = self._version()
            if self._read is None or self._read[0] != version:
                with self.reading() as connection:
                    self._read = (version, _load(connection))
            return self._read[1]

    def _version(self) -> tuple[int, int, int] | None:
        """A value that changes with the file; None if it is missing."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def add(self, key: SiteKey) -> None:
        with self.writing() as connection:
            values = (key.digest, _KEY.dump_json(key).decode())
            connection.execute("INSERT INTO keys VALUES (?, ?)", values)

    def remove(self, key: SiteKey) -> None:
        with self.writing() as connection:
            connection.execute("DELETE FROM keys WHERE digest = ?", (key.digest,))


def _load(connection: sqlite3.Connection) -> tuple[SiteKey, ...]:
    found = [_KEY.validate_json(entry) for (entry,) in connection.execute("SELECT entry FROM keys")]
    return tuple(sorted(found, key=lambda key: (key.created_at, key.digest)))


class SqliteQuestionLog(SqliteFile):
    """Implements `QuestionStore`; safe in several threads and processes.

    `question` is case-folded, to be searched; `entry` is the answer.
    """

    schema = """
    PRAGMA secure_delete = on;
    CREATE TABLE IF NOT EXISTS answers (
        id TEXT PRIMARY KEY, asked_at REAL, book TEXT, question TEXT, entry TEXT
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS answers_by_time ON answers (asked_at);
    """
    name = "the question log"
    remedy = "restore a copy, or delete this file"

    def check(self, connection: sqlite3.Connection) -> None:
        connection.execute("SELECT entry FROM answers LIMIT 1").fetchall()

    @in_thread
    def add(self, answers: Sequence[LoggedAnswer]) -> None:
        with self.writing() as connection:
            connection.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", map(_row, answers))

    @in_thread
    def find(self, selected: Selected) -> list[LoggedAnswer]:
        where, values = _where(selected)
        query = f"SELECT entry FROM answers WHERE {where} ORDER BY asked_at, id"  # noqa: S608 - no values
        with self.reading() as connection:
            return [_ANSWER.validate_json(entry) for (entry,) in connection.execute(query, values)]

    @in_thread
    def give(self, feedback: Feedback) -> None:
        with self.writing() as connection:
            connection.execute("BEGIN IMMEDIATE")
            query = "SELECT entry FROM answers WHERE id = ?"
            for (entry,) in connection.execute(query, (feedback.answer_id,)).fetchall():
                row = _row(_ANSWER.validate_json(entry).with_feedback(feedback))
                connection.execute("REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)

    @in_thread
    def delete(self, selected: Selected) -> int:
        where, values = _where(selected)
        query = f"DELETE FROM answers WHERE {where}"  # noqa: S608 - no values
        with self.writing() as connection:
            return connection.execute(query, values).rowcount


def _row(answer: LoggedAnswer) -> tuple[object, ...]:
    entry = _ANSWER.dump_json(answer).decode()
    return (answer.id, answer.asked_at.timestamp(), answer.book, answer.question.casefold(), entry)


def _where(selected: Selected) -> tuple[str, list[object]]:
    """Return the condition and its values."""
    compared = {
        "book = ?": selected.book,
        "asked_at >= ?": selected.since and selected.since.timestamp(),
        "asked_at < ?": selected.before and selected.before.timestamp(),
        "instr(question, ?)": selected.containing.casefold() or None,
    }
    given = {text: value for text, value in compared.items() if value is not None}
    among = [f"id IN ({', '.join('?' * len(selected.ids))})"] if selected.ids else []
    return " AND ".join(["TRUE", *given, *among]), [*given.values(), *selected.ids]


class SqliteSpending(SqliteFile):
    """Implements the `SpendingStore` port; safe to use from several threads and processes."""

    schema = """
    CREATE TABLE IF NOT EXISTS spending (day TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
    """
    name = "the spending"
    remedy = "restore a copy, or delete this file"
    wal = True

    @in_thread
    def spent(self, day: date) -> Dollars:
        query = (
            "SELECT coalesce(sum(usd) FILTER (WHERE day = ?), 0.0), coalesce(sum(usd), 0.0) "
            "FROM spending WHERE substr(day, 1, 7) = ?"
        )
        with self.reading() as connection:
            row = connection.execute(query, (day.isoformat(), f"{day:%Y-%m}")).fetchone()
        return {"day": row[0], "month": row[1]}

    @in_thread
    def add(self, day: date, usd: float) -> None:
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO spending VALUES (?, ?) "
                "ON CONFLICT (day) DO UPDATE SET usd = usd + excluded.usd",
                (day.isoformat(), usd),
            )
