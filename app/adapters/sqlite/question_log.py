"""The question log: one SQLite file, each answer a JSON text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from app.adapters.sqlite.connection import integrity, open_to_write, reading
from app.domain.errors import StorageError
from app.domain.logged_answer import Feedback, LoggedAnswer
from app.services.question_log import Selected
from app.services.threads import in_thread

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    id TEXT PRIMARY KEY, asked_at REAL, book TEXT, question TEXT, entry TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_by_time ON answers (asked_at);
"""
_ENTRY = TypeAdapter(LoggedAnswer)


class SqliteQuestionLog:
    """Implements `QuestionStore`; safe in several threads and processes."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet; the first call creates the file."""
        self._path = path

    @in_thread
    def add(self, answers: Sequence[LoggedAnswer]) -> None:
        with self._opened() as connection, connection:
            connection.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", map(_row, answers))

    @in_thread
    def find(self, selected: Selected) -> list[LoggedAnswer]:
        where, values = _where(selected)
        query = f"SELECT entry FROM answers WHERE {where} ORDER BY asked_at, id"  # noqa: S608 - no values
        with self._opened() as connection:
            return [_ENTRY.validate_json(entry) for (entry,) in connection.execute(query, values)]

    @in_thread
    def give(self, feedback: Feedback) -> None:
        with self._opened() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            query = "SELECT entry FROM answers WHERE id = ?"
            for (entry,) in connection.execute(query, (feedback.answer_id,)).fetchall():
                row = _row(_ENTRY.validate_json(entry).with_feedback(feedback))
                connection.execute("REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)

    @in_thread
    def delete(self, selected: Selected) -> int:
        where, values = _where(selected)
        with self._opened() as connection:
            with connection:
                query = f"DELETE FROM answers WHERE {where}"  # noqa: S608 - no values
                deleted = connection.execute(query, values).rowcount
            # Deleted texts leave the write-ahead log too, unless another process uses it.
            connection.execute("PRAGMA wal_checkpoint(truncate)")
        return deleted

    @in_thread
    def faults(self) -> list[str]:
        """Check the whole file; a line of text for each fault."""
        if not self._path.exists():
            return []
        try:
            with self._failures(), reading(self._path) as connection:
                connection.execute("SELECT entry FROM answers LIMIT 1").fetchall()
                return [f"{self._path}: {one}" for one in integrity(connection)]
        except StorageError as error:
            return [str(error)]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._failures(), closing(open_to_write(self._path, _SCHEMA, wal=True)) as connection:
            connection.execute("PRAGMA secure_delete = on")
            connection.create_function("casefold", 1, str.casefold, deterministic=True)
            yield connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise StorageError for an error of the file or of its content, which it does not tell."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            told = str(error) if isinstance(error, sqlite3.Error | OSError) else "damaged"
            message = f"the question log at {self._path} failed: {told}"
            raise StorageError(message) from error


def _row(answer: LoggedAnswer) -> tuple[object, ...]:
    entry = _ENTRY.dump_json(answer).decode()
    return (answer.id, answer.asked_at.timestamp(), answer.book, answer.question, entry)


def _where(selected: Selected) -> tuple[str, list[object]]:
    """Return the condition and its values."""
    texts, values = ["TRUE"], list[object]()

    def also(text: str, *given: object) -> None:
        texts.append(text)
        values.extend(given)

    if selected.book is not None:
        also("book = ?", selected.book)
    if selected.since is not None:
        also("asked_at >= ?", selected.since.timestamp())
    if selected.before is not None:
        also("asked_at < ?", selected.before.timestamp())
    if selected.containing:
        also("instr(casefold(question), ?)", selected.containing.casefold())
    if selected.ids:
        also(f"id IN ({', '.join('?' * len(selected.ids))})", *selected.ids)
    return " AND ".join(texts), values
