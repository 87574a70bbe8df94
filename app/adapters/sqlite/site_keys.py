"""The keys that may use the API: one SQLite file."""

import sqlite3

from pydantic import TypeAdapter

from app.adapters.sqlite.file import SqliteFile
from app.domain.site_key import SiteKey

_KEY = TypeAdapter(SiteKey)


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
