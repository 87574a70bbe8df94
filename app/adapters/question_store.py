"""The question log in a database, by SQLAlchemy: SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import sqlalchemy as sql
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from app.domain.answer import AnswerMode, Confidence
from app.domain.errors import ConfigError, StorageError
from app.domain.logged_answer import (
    Feedback,
    LoggedAnswer,
    LoggedParagraph,
    Mark,
    MarkKind,
    Rating,
)
from app.domain.printable import printable
from app.services.question_log import Selected
from app.services.threads import in_thread

CONNECT_SECONDS = 5
_CREATION_LOCK = 7_236_114_905
"""An arbitrary number for PostgreSQL's advisory lock."""

Row: TypeAlias = Mapping[str, Any]

_tables = sql.MetaData()
_answers = sql.Table(
    "textbook_rag_answers",
    _tables,
    sql.Column("id", sql.String(64), primary_key=True),
    sql.Column("asked_at", sql.Double, nullable=False, index=True),  # seconds since 1970, UTC
    sql.Column("book", sql.Text, nullable=False, index=True),
    sql.Column("book_version", sql.Text, nullable=False),
    sql.Column("question", sql.Text, nullable=False),
    sql.Column("page", sql.Text, nullable=False),
    sql.Column("reader", sql.Text, nullable=False),
    sql.Column("mode", sql.Text, nullable=False),
    sql.Column("confidence", sql.Text, nullable=False),
    sql.Column("degraded", sql.JSON, nullable=False),
    sql.Column("milliseconds", sql.Double, nullable=False),
    sql.Column("stages", sql.JSON, nullable=False),
    sql.Column("input_tokens", sql.Integer, nullable=False),
    sql.Column("output_tokens", sql.Integer, nullable=False),
    sql.Column("usd", sql.Double, nullable=False),
    sql.Column("citations", sql.JSON, nullable=False),
    sql.Column("sources", sql.JSON, nullable=False),
    sql.Column("rating", sql.Text, nullable=False),
    sql.Column("reason", sql.Text, nullable=False),
)
_marks = sql.Table(
    "textbook_rag_marks",
    _tables,
    sql.Column("answer_id", sql.String(64), primary_key=True),
    sql.Column("paragraph_id", sql.String(200), primary_key=True),
    sql.Column("kind", sql.String(16), primary_key=True),
)


class SqlQuestionStore:
    """Implements `QuestionStore`; safe in several threads and processes."""

    def __init__(self, url: URL) -> None:
        """Does not connect yet: the first call creates the tables. ConfigError for a bad `url`."""
        self._url = url
        self._sqlite = url.get_backend_name() == "sqlite"
        wait = {"timeout": 30.0} if self._sqlite else {"connect_timeout": CONNECT_SECONDS}
        try:
            self._engine = sql.create_engine(url, connect_args=wait, pool_pre_ping=not self._sqlite)
        except (ArgumentError, NoSuchModuleError, ImportError, TypeError) as error:
            message = f"RAG_QUESTION_LOG_URL: {_shown(url)} cannot be used: {error}"
            raise ConfigError(message) from error
        if self._sqlite:
            sql.event.listen(self._engine, "connect", _overwrite_deleted)
        self._ready = False
        self._lock = Lock()

    @in_thread
    def add(self, answers: Sequence[LoggedAnswer]) -> None:
        marks = [
            {"answer_id": answer.id, "paragraph_id": mark.paragraph_id, "kind": mark.kind}
            for answer in answers
            for mark in answer.marks
        ]
        with self._transaction() as connection:
            connection.execute(sql.insert(_answers), [_row(answer) for answer in answers])
            if marks:
                connection.execute(sql.insert(_marks), marks)

    @in_thread
    def find(self, selected: Selected) -> list[LoggedAnswer]:
        where = _where(selected)
        with self._transaction() as connection:
            query = sql.select(_answers).where(*where).order_by(_answers.c.asked_at, _answers.c.id)
            rows = connection.execute(query).mappings().all()
            ids = sql.select(_answers.c.id).where(*where)
            query = sql.select(_marks).where(_marks.c.answer_id.in_(ids)).order_by(*_marks.c)
            marks: dict[str, list[Mark]] = {}
            for answer_id, paragraph_id, kind in connection.execute(query):
                marks.setdefault(answer_id, []).append(Mark(paragraph_id, MarkKind(kind)))
            return [_answer(dict(row), marks.get(row["id"], ())) for row in rows]

    @in_thread
    def give(self, feedback: Feedback) -> None:
        said = {"rating": feedback.rating, "reason": feedback.reason}
        values = {name: _text(value) for name, value in said.items() if value is not None}
        with self._transaction() as connection:
            if values:
                one = _answers.c.id == feedback.answer_id
                connection.execute(sql.update(_answers).where(one).values(values))
            if feedback.mark:
                # All columns are the primary key: a repeated mark is stored once.
                row = (feedback.answer_id, feedback.mark.paragraph_id, str(feedback.mark.kind))
                same = sql.and_(*(c == v for c, v in zip(_marks.c, row, strict=True)))
                if connection.execute(sql.select(_marks).where(same)).first() is None:
                    connection.execute(sql.insert(_marks).values(row))

    @in_thread
    def delete(self, selected: Selected) -> int:
        where = _where(selected)
        with self._transaction() as connection:
            ids = sql.select(_answers.c.id).where(*where)
            connection.execute(sql.delete(_marks).where(_marks.c.answer_id.in_(ids)))
            deleted = connection.execute(sql.delete(_answers).where(*where)).rowcount
        if self._sqlite:
            # Deleted texts are removed from the write-ahead log, unless another process uses it.
            with self._failures(), self._engine.connect() as connection:
                connection.exec_driver_sql("pragma wal_checkpoint(truncate)")
        return deleted

    @in_thread
    def faults(self) -> list[str]:
        """Check the whole file, or that the tables of a server can be read; a line a fault."""
        if self._sqlite and not Path(self._url.database or "").exists():
            return []
        try:
            with self._transaction() as connection:
                for table in _tables.sorted_tables:
                    connection.execute(sql.select(table).limit(1)).all()
                if self._sqlite:
                    found = connection.exec_driver_sql("pragma integrity_check(3)").scalars().all()
                    return [f"{_shown(self._url)}: {one}" for one in found if one != "ok"]
        except StorageError as error:
            return [str(error)]
        return []

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[sql.Connection]:
        with self._failures():
            self._create()
            with self._engine.begin() as connection:
                yield connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise StorageError for an error of the database or of its content."""
        try:
            yield
        except (SQLAlchemyError, OSError, ValueError, KeyError, TypeError) as error:
            message = f"the question log at {_shown(self._url)} failed: {_cause(error)}"
            raise StorageError(message) from error

    def _create(self) -> None:
        with self._lock:
            if self._ready:
                return
            if self._sqlite and self._url.database:
                Path(self._url.database).parent.mkdir(parents=True, exist_ok=True)
                with self._engine.connect() as connection:
                    connection.exec_driver_sql("pragma journal_mode = wal")
            with self._engine.begin() as connection:
                if self._url.get_backend_name() == "postgresql":
                    # IF NOT EXISTS alone fails if two processes create a table at the same time.
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_CREATION_LOCK)))
                for table in _tables.sorted_tables:
                    connection.execute(sql.schema.CreateTable(table, if_not_exists=True))
                    for index in table.indexes:
                        connection.execute(sql.schema.CreateIndex(index, if_not_exists=True))
            self._ready = True


def _overwrite_deleted(connection: Any, _record: object) -> None:  # noqa: ANN401 - of the driver
    connection.execute("pragma secure_delete = on")


def store_url(text: str | None, default: Path) -> URL:
    """Parse a database URL; an empty one means the SQLite file `default`. Raises ConfigError.

    `postgres://` and `postgresql://` use psycopg.
    """
    if not text:
        return URL.create("sqlite", database=str(default))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        message = "RAG_QUESTION_LOG_URL is not an SQLAlchemy URL: write sqlite:///FILE or "
        message += "postgresql://USER:PASSWORD@HOST/NAME"
        raise ConfigError(message) from None
    if url.drivername in {"postgres", "postgresql"}:
        return url.set(drivername="postgresql+psycopg")
    return url


def _where(selected: Selected) -> list[sql.ColumnElement[bool]]:
    columns, found = _answers.c, []
    if selected.book is not None:
        found.append(columns.book == selected.book)
    if selected.since is not None:
        found.append(columns.asked_at >= selected.since.timestamp())
    if selected.before is not None:
        found.append(columns.asked_at < selected.before.timestamp())
    if selected.containing:
        found.append(columns.question.icontains(_text(selected.containing), autoescape=True))
    if selected.ids:
        found.append(columns.id.in_(selected.ids))
    return found


def _row(answer: LoggedAnswer) -> dict[str, Any]:
    row = {column.name: getattr(answer, column.name) for column in _answers.c}
    texts = ("book", "book_version", "question", "page", "reader", "mode", "confidence", "rating")
    return row | {
        **{name: _text(row[name]) for name in (*texts, "reason")},
        "asked_at": answer.asked_at.timestamp(),
        "degraded": list(answer.degraded),
        "stages": dict(answer.stages),
        "citations": [asdict(one) for one in answer.citations],
        "sources": [asdict(one) for one in answer.sources],
    }


def _answer(row: Row, marks: Sequence[Mark]) -> LoggedAnswer:
    return LoggedAnswer(
        **{
            **row,
            "asked_at": datetime.fromtimestamp(row["asked_at"], UTC),
            "mode": AnswerMode(row["mode"]),
            "confidence": Confidence(row["confidence"]),
            "rating": Rating(row["rating"]),
            "degraded": tuple(row["degraded"]),
            "citations": tuple(map(_paragraph, row["citations"])),
            "sources": tuple(map(_paragraph, row["sources"])),
        },
        marks=tuple(marks),
    )


def _paragraph(row: Row) -> LoggedParagraph:
    return LoggedParagraph(
        row["paragraph_id"],
        row["url"],
        tuple(row["heading_path"]),
        row["score"],
        row["file"],
        tuple((start, end) for start, end in row["spans"]),
    )


def _text(text: str) -> str:
    """Return the text without characters that PostgreSQL rejects or terminals obey."""
    return printable(text).replace("\N{REPLACEMENT CHARACTER}", "")


def _shown(url: URL) -> str:
    return url.render_as_string(hide_password=True)


def _cause(error: Exception) -> str:
    """First line of the driver's message, without SQL and parameters: they contain questions."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
