"""Ledgers of paragraph ids: one SQLite file per book."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from app.adapters.sqlite.connection import integrity, reading, writing
from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.domain.ledger import Alias, Entry, Ledger, LedgerParagraph, Located

_SCHEMA = """
create table if not exists entry (
  paragraph_id text primary key, live integer not null, "order" integer not null,
  content_id text not null, text text not null, file text not null, heading_path text not null,
  url text not null, author_id text not null
) strict;
create table if not exists alias (
  alias text primary key, paragraph_id text not null, score real not null
) strict;
"""

_COLUMNS = """
select paragraph_id, live, "order", content_id, text, file, heading_path, url, author_id from entry
"""

_Result = TypeVar("_Result")


class SqliteLedgers:
    """The ledgers in `folder`, one file `<book>.sqlite` per book."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def load(self, book: BookId) -> Ledger:
        return await asyncio.to_thread(self._read, book, _load, Ledger())

    async def locate(self, book: BookId, paragraph_id: str) -> Located | None:
        return await asyncio.to_thread(self._read, book, partial(_locate, paragraph_id), None)

    async def save(self, book: BookId, ledger: Ledger) -> None:
        await asyncio.to_thread(self._save, book, ledger)

    async def revision(self, book: BookId) -> str:
        """SHA-256 of the file, which only `save` changes; "" without a file."""
        return await asyncio.to_thread(_hash, self._path(book))

    async def faults(self, book: BookId) -> list[str]:
        """Check the whole file and every entry; a line of text for each fault."""
        try:
            found = await asyncio.to_thread(self._read, book, integrity, [])
            await self.load(book)
        except StorageError as error:
            return [str(error)]
        return [str(_damaged(self._path(book), reason)) for reason in found]

    def _path(self, book: BookId) -> Path:
        return self._folder / f"{BookId(book)}.sqlite"

    def _read(
        self, book: BookId, query: Callable[[sqlite3.Connection], _Result], absent: _Result
    ) -> _Result:
        path = self._path(book)
        if not path.exists():
            return absent
        with _storage_errors(path), reading(path) as connection:
            return query(connection)

    def _save(self, book: BookId, ledger: Ledger) -> None:
        path = self._path(book)
        with _storage_errors(path), writing(path, _SCHEMA) as connection:
            _save(connection, ledger)


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        if "no such" in str(error) and isinstance(error, sqlite3.Error):  # table: an empty file
            raise _damaged(path, str(error)) from error
        message = f"{path}: the ledger of paragraph ids cannot be used: {error}"
        raise StorageError(message) from error
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, reason: str) -> StorageError:
    return StorageError(
        f"{path}: the ledger of paragraph ids is damaged ({reason}): restore a copy, or delete it "
        f"and run `textbook-rag ingest BOOK_DIR --book {path.stem} --ledger FILE` with an exported "
        "one; without either, the next ingest makes new ids from the text"
    )


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
    except OSError as error:
        message = f"{path}: the ledger of paragraph ids cannot be read: {error.strerror}"
        raise StorageError(message) from error


def _load(connection: sqlite3.Connection) -> Ledger:
    order = 'order by live desc, "order", paragraph_id'
    entries = [_entry(row) for row in connection.execute(_COLUMNS + order)]
    aliases = [Alias(*row) for row in connection.execute("select * from alias order by alias")]
    return Ledger({e.paragraph_id: e for e in entries}, {a.alias: a for a in aliases})


def _entry(row: tuple[Any, ...]) -> Entry:
    pid, live, order, content, text, file, path, url, author = row
    paragraph = LedgerParagraph(content, text, file, tuple(json.loads(path)), url, author)
    return Entry(pid, paragraph, order, bool(live))


def _locate(paragraph_id: str, connection: sqlite3.Connection) -> Located | None:
    """Read one row for a live paragraph; the whole ledger for an alias or a tombstone."""
    query = f"{_COLUMNS} where paragraph_id = ? and live = 1"
    row = connection.execute(query, (paragraph_id,)).fetchone()
    return Located(_entry(row)) if row else _load(connection).locate(paragraph_id)


def _save(connection: sqlite3.Connection, ledger: Ledger) -> None:
    connection.execute("delete from entry")
    connection.execute("delete from alias")
    connection.executemany(
        "insert into entry values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                entry.paragraph_id,
                int(entry.live),
                entry.order,
                entry.paragraph.content_id,
                entry.paragraph.text,
                entry.paragraph.file,
                json.dumps(entry.paragraph.heading_path, ensure_ascii=False),
                entry.paragraph.url,
                entry.paragraph.author_id,
            )
            for entry in ledger.entries.values()
        ),
    )
    connection.executemany(
        "insert into alias values (?, ?, ?)",
        ((alias.alias, alias.paragraph_id, alias.score) for alias in ledger.aliases.values()),
    )
