"""Ledgers of paragraph ids: one SQLite file per book, each entry a JSON text."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pydantic import TypeAdapter

from app.adapters.sqlite.file import SqliteFile
from app.domain.book_id import BookId
from app.domain.ledger import Entry, Ledger
from app.services.threads import in_thread

_ENTRY = TypeAdapter(Entry)


class SqliteLedgers:
    """The ledgers in `folder`, one file `<book>.sqlite` per book, each entry a JSON text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @in_thread
    def load(self, book: BookId) -> Ledger:
        with self._file(book).reading() as connection:
            return _load(connection)

    @in_thread
    def locate(self, book: BookId, paragraph_id: str) -> tuple[Entry, Entry | None] | None:
        """Read one row for a live paragraph; the whole ledger for an alias or a tombstone."""
        with self._file(book).reading() as connection:
            query = "select entry from entry where paragraph_id = ?"
            for (row,) in connection.execute(query, (paragraph_id,)):
                if (entry := _ENTRY.validate_json(row)).live:
                    return entry, entry
            return _load(connection).locate(paragraph_id)

    @in_thread
    def save(self, book: BookId, ledger: Ledger) -> None:
        with self._file(book).writing() as connection:
            connection.execute("delete from entry")
            connection.execute("delete from alias")
            rows = ((key, _ENTRY.dump_json(one).decode()) for key, one in ledger.entries.items())
            connection.executemany("insert into entry values (?, ?)", rows)
            connection.executemany("insert into alias values (?, ?)", ledger.aliases.items())

    async def faults(self, book: BookId) -> list[str]:
        return await self._file(book).faults()

    def _file(self, book: BookId) -> _LedgerFile:
        return _LedgerFile(self._folder / f"{BookId(book)}.sqlite")


class _LedgerFile(SqliteFile):
    schema = """
    create table if not exists entry (paragraph_id text primary key, entry text not null) strict;
    create table if not exists alias (alias text primary key, paragraph_id text not null) strict;
    """
    name = "the ledger of paragraph ids"
    remedy = (
        "restore a copy, or delete it, put an exported one into the book's folder as "
        "textbook-rag-ledger.jsonl and run `textbook-rag ingest BOOK_DIR --book BOOK`; "
        "without either, the next ingest makes new ids from the text"
    )

    def check(self, connection: sqlite3.Connection) -> None:
        _load(connection)


def _load(connection: sqlite3.Connection) -> Ledger:
    rows = connection.execute("select entry from entry")
    entries = [_ENTRY.validate_json(row) for (row,) in rows]
    aliases = dict(connection.execute("select * from alias"))
    return Ledger({one.paragraph_id: one for one in entries}, aliases)
