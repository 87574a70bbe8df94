"""The question log: one SQLite file, each answer a JSON text."""

import sqlite3
from collections.abc import Sequence

from pydantic import TypeAdapter

from app.adapters.sqlite.file import SqliteFile
from app.domain.logged_answer import Feedback, LoggedAnswer
from app.services.question_log import Selected
from app.services.threads import in_thread

_ANSWER = TypeAdapter(LoggedAnswer)


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
