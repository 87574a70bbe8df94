"""Ledgers of paragraph ids: one SQLite file a book, and JSON lines to carry them elsewhere."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from app.domain.errors import InputError, StorageError
from app.domain.ledger import Alias, Entry, Ledger, Paragraph

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

_Result = TypeVar("_Result")


class SqliteLedgers:
    """The ledgers under `folder`; each book's in `<book>.sqlite`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def load(self, book: str) -> Ledger:
        """Return an empty ledger for a book that has none."""
        if not await asyncio.to_thread(self._path(book).exists):
            return Ledger()
        return await self._in_thread(book, _load)

    async def save(self, book: str, ledger: Ledger) -> None:
        """Replace the book's ledger in one transaction."""
        await self._in_thread(book, lambda connection: _save(connection, ledger))

    async def revision(self, book: str) -> str:
        """Hash of the file, which only `save` writes."""
        return await asyncio.to_thread(_hash, self._path(book))

    def _path(self, book: str) -> Path:
        return self._folder / f"{book}.sqlite"

    async def _in_thread(
        self, book: str, action: Callable[[sqlite3.Connection], _Result]
    ) -> _Result:
        return await asyncio.to_thread(self._with_file, book, action)

    def _with_file(self, book: str, action: Callable[[sqlite3.Connection], _Result]) -> _Result:
        path = self._path(book)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
                connection.executescript(_SCHEMA)
                return action(connection)
        except (sqlite3.Error, OSError) as error:
            message = f"{path}: the ledger of paragraph ids cannot be used: {error}"
            raise StorageError(message) from error


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
    entries = (
        Entry(
            pid,
            Paragraph(content, text, file, tuple(json.loads(path)), url, author),
            order,
            bool(live),
        )
        for pid, live, order, content, text, file, path, url, author in connection.execute(
            'select paragraph_id, live, "order", content_id, text, file, heading_path, url,'
            ' author_id from entry order by live desc, "order", paragraph_id'
        )
    )
    aliases = (Alias(*row) for row in connection.execute("select * from alias order by alias"))
    return Ledger({e.paragraph_id: e for e in entries}, {a.alias: a for a in aliases})


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


def to_lines(ledger: Ledger) -> Iterator[str]:
    """One JSON object a line, sorted by id, so that a diff of two exports shows what changed."""
    for _, entry in sorted(ledger.entries.items()):
        yield json.dumps(asdict(entry), ensure_ascii=False)
    for _, alias in sorted(ledger.aliases.items()):
        yield json.dumps(asdict(alias), ensure_ascii=False)


def from_lines(lines: Iterable[str], name: str) -> Ledger:
    """Read what `to_lines` wrote. InputError names the line that is not of that form."""
    entries: dict[str, Entry] = {}
    aliases: dict[str, Alias] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if "alias" in row:
                aliases[row["alias"]] = Alias(**row)
            else:
                inner = row.pop("paragraph")
                inner["heading_path"] = tuple(inner["heading_path"])
                entries[row["paragraph_id"]] = Entry(paragraph=Paragraph(**inner), **row)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            message = f"{name}:{number}: not a line of a ledger ({error})"
            raise InputError(message) from error
    return Ledger(entries, aliases)
