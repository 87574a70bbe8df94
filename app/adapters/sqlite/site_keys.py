"""The keys that may use the API: one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path

from app.adapters.sqlite.file import SqliteFile
from app.domain.book_id import BookId
from app.domain.site_key import KeyKind, SiteKey
from app.services.threads import in_thread

_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (digest TEXT PRIMARY KEY, entry TEXT) WITHOUT ROWID
"""
"""`entry` has all fields of the key, as JSON."""


class SqliteSiteKeys:
    """Keys, stored as hashes. A server sees changes by other processes at its next request."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet; the first `add` creates the file."""
        self._file = SqliteFile(
            path,
            _SCHEMA,
            "the file of keys",
            "restore a copy, or delete this file and make new keys",
        )
        self._read: tuple[tuple[int, int, int] | None, tuple[SiteKey, ...]] | None = None

    def all(self) -> tuple[SiteKey, ...]:
        """Return the keys in order of creation; the file is read again only if it changed."""
        with self._file.errors():
            version = self._version()
            if self._read is None or self._read[0] != version:
                with self._file.reading() as connection:
                    self._read = (version, _load(connection))
            return self._read[1]

    def _version(self) -> tuple[int, int, int] | None:
        """A value that changes with the file; None if it is missing."""
        try:
            stat = self._file.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def add(self, key: SiteKey) -> None:
        with self._file.writing() as connection:
            values = (key.digest, json.dumps(asdict(key)))
            connection.execute("INSERT INTO keys VALUES (?, ?)", values)

    def remove(self, key: SiteKey) -> None:
        with self._file.writing() as connection:
            connection.execute("DELETE FROM keys WHERE digest = ?", (key.digest,))

    @in_thread
    def faults(self) -> list[str]:
        return self._file.faults(_load)


def _load(connection: sqlite3.Connection) -> tuple[SiteKey, ...]:
    found = [_key(entry) for (entry,) in connection.execute("SELECT entry FROM keys")]
    return tuple(sorted(found, key=lambda key: (key.created_at, key.digest)))


def _key(entry: str) -> SiteKey:
    values = json.loads(entry)
    kind, books = KeyKind(values["kind"]), tuple(map(BookId, values["books"]))
    return SiteKey(**values | {"kind": kind, "origins": tuple(values["origins"]), "books": books})
