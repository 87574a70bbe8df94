"""Ledgers of paragraph ids: one SQLite file per book."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from app.adapters.sqlite.file import SqliteFile
from app.domain.book_id import BookId
from app.domain.ledger import Entry, Ledger, Located
from app.services.threads import in_thread

_SCHEMA = """
create table if not exists entry (
  paragraph_id text primary key, live integer not null, "order" integer not null,
  content_id text not null, text text not null, file text not null, heading_path text not null,
  url text not null, author_id text not null, nearest text not null
) strict;
create table if not exists alias (
  alias text primary key, paragraph_id text not null
) strict;
"""

_COLUMNS = """
select paragraph_id, live, "order", content_id, text, file, heading_path, url, author_id,
nearest from entry
"""


class SqliteLedgers:
    """The ledgers in `folder`, one file `<book>.sqlite` per book."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @in_thread
    def load(self, book: BookId) -> Ledger:
        file = self._file(book)
        if not file.path.exists():
            return Ledger()
        with file.reading() as connection:
            return _load(connection)

    @in_thread
    def locate(self, book: BookId, paragraph_id: str) -> Located | None:
        """Read one row for a live paragraph; the whole ledger for an alias or a tombstone."""
        file = self._file(book)
        if not file.path.exists():
            return None
        with file.reading() as connection:
            query = f"{_COLUMNS} where paragraph_id = ? and live = 1"
            row = connection.execute(query, (paragraph_id,)).fetchone()
            return Located(_entry(row)) if row else _load(connection).locate(paragraph_id)

    @in_thread
    def save(self, book: BookId, ledger: Ledger) -> None:
        with self._file(book).writing() as connection:
            connection.execute("delete from entry")
            connection.execute("delete from alias")
            rows = map(_row, ledger.entries.values())
            connection.executemany("insert into entry values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.executemany("insert into alias values (?, ?)", ledger.aliases.items())

    @in_thread
    def faults(self, book: BookId) -> list[str]:
        """Check the whole file and every entry; a line of text for each fault."""

        def check(connection: sqlite3.Connection) -> list[str]:
            _load(connection)
            return []

        return self._file(book).faults(check)

    def _file(self, book: BookId) -> SqliteFile:
        return SqliteFile(
            self._folder / f"{BookId(book)}.sqlite",
            _SCHEMA,
            "the ledger of paragraph ids",
            "restore a copy, or delete it, put an exported one into the book's folder as "
            f"textbook-rag-ledger.jsonl and run `textbook-rag ingest BOOK_DIR --book {book}`; "
            "without either, the next ingest makes new ids from the text",
        )


def _load(connection: sqlite3.Connection) -> Ledger:
    order = 'order by live desc, "order", paragraph_id'
    entries = [_entry(row) for row in connection.execute(_COLUMNS + order)]
    aliases = dict(connection.execute("select * from alias order by alias"))
    return Ledger({e.paragraph_id: e for e in entries}, aliases)


def _entry(row: tuple[Any, ...]) -> Entry:
    pid, live, order, content, text, file, path, url, author, nearest = row
    headings = tuple(json.loads(path))
    return Entry(pid, content, text, file, headings, url, author, order, bool(live), nearest)


def _row(one: Entry) -> tuple[object, ...]:
    path = json.dumps(one.heading_path, ensure_ascii=False)
    ids = (one.paragraph_id, int(one.live), one.order, one.content_id)
    return (*ids, one.text, one.file, path, one.url, one.author_id, one.nearest)
