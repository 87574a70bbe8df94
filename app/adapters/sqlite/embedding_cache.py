"""Cache of vectors: one SQLite file, shared by all books and generations."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from array import array
from collections.abc import Sequence

from app.adapters.sqlite.file import SqliteFile
from app.domain.retrieval.query import Vector
from app.services.threads import in_thread

_INPUT_TYPE = "search_document"
"""Only vectors of documents are cached here, not those of questions."""
_DIGEST = 8
"""Bytes of the checksum behind each vector."""
_log = logging.getLogger(__name__)


class SqliteEmbeddingCache(SqliteFile):
    """Implements `EmbeddingCache` for all books; safe in several threads and processes.

    A key is SHA-256 over model, dimension, input type and exact text. A row has the vector's
    float32 values in the machine's byte order and their checksum; a row with another checksum is
    treated as missing.
    """

    schema = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
    name = "the embedding cache"
    remedy = "delete this file and its -wal and -shm; the texts will be embedded again"
    wal = True

    def check(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT key, CAST(vector AS BLOB) FROM vectors")
        if damaged := sum(_vector(key, row) is None for key, row in rows):
            raise sqlite3.DatabaseError(f"vectors that differ from their checksums: {damaged}")

    @in_thread
    def get(self, model: str, dimension: int, texts: Sequence[str]) -> list[Vector | None]:
        """Return None for a missing vector and for a damaged one; damage is logged."""
        keys = self._keys(model, dimension, texts)
        found: dict[bytes, Vector | None] = {}
        query = "SELECT key, CAST(vector AS BLOB) FROM vectors WHERE key = ?"
        with self.reading() as connection:
            for asked in dict.fromkeys(keys):
                for key, row in connection.execute(query, (asked,)):
                    found[key] = _vector(key, row)
        if damaged := sum(vector is None for vector in found.values()):
            _log.warning("cache.damaged", extra={"file": str(self.path), "vectors": damaged})
        return [found.get(key) for key in keys]

    @in_thread
    def put(
        self, model: str, dimension: int, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> None:
        """Store the vectors in one transaction; of equal texts the last one wins."""
        rows = [
            (key, vector.tobytes() + _digest(key, vector.tobytes()))
            for key, vector in zip(self._keys(model, dimension, texts), vectors, strict=True)
        ]
        with self.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _keys(self, model: str, dimension: int, texts: Sequence[str]) -> list[bytes]:
        space = f"{model}|{dimension}|{_INPUT_TYPE}|"
        return [hashlib.sha256(f"{space}{text}".encode()).digest() for text in texts]


def _vector(key: bytes, row: object) -> Vector | None:
    """Return the vector of a row; None if it is not what was stored for this key."""
    if not isinstance(row, bytes) or _digest(key, row[:-_DIGEST]) != row[-_DIGEST:]:
        return None
    vector = array("f")
    vector.frombytes(row[:-_DIGEST])
    return vector


def _digest(key: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(key + vector, digest_size=_DIGEST).digest()
