"""Cache of vectors: one SQLite file, shared by all books and generations."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from array import array
from collections.abc import Sequence
from pathlib import Path

from app.adapters.sqlite.file import SqliteFile
from app.domain.retrieval.query import Vector
from app.services.threads import in_thread

_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"

_INPUT_TYPE = "search_document"
"""Only vectors of documents are cached here, not those of questions."""

_DIGEST = 8
"""Bytes of the checksum behind each vector."""

_log = logging.getLogger(__name__)

_BATCH = 500
"""Keys in one query; old builds of SQLite allow at most 999 parameters."""


class SqliteEmbeddingCache:
    """Implements the `EmbeddingCache` port; safe to use from several threads and processes.

    A key is SHA-256 over model, dimension, input type and exact text. A row has the vector's
    float32 values in the machine's byte order and their checksum; a row with another checksum is
    treated as missing.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet; the first `put` creates the file."""
        self._file = SqliteFile(
            path,
            _SCHEMA,
            "the embedding cache",
            "delete this file and its -wal and -shm; the texts will be embedded again",
            wal=True,
        )

    @in_thread
    def faults(self) -> list[str]:
        return self._file.faults(_check)

    @in_thread
    def get(self, model: str, dimension: int, texts: Sequence[str]) -> list[Vector | None]:
        """Return None for a missing vector and for a damaged one; damage is logged."""
        keys = self._keys(model, dimension, texts)
        found = self._found(list(dict.fromkeys(keys)))
        if damaged := sum(vector is None for vector in found.values()):
            _log.warning("cache.damaged", extra={"file": str(self._file.path), "vectors": damaged})
        return [found.get(key) for key in keys]

    def _found(self, keys: Sequence[bytes]) -> dict[bytes, Vector | None]:
        """Return the vectors of those of the keys that have a row; None for a damaged one."""
        found: dict[bytes, Vector | None] = {}
        with self._file.reading() as connection:
            for start in range(0, len(keys), _BATCH):
                page = keys[start : start + _BATCH]
                marks = ",".join("?" * len(page))
                query = f"SELECT key, CAST(vector AS BLOB) FROM vectors WHERE key IN ({marks})"  # noqa: S608 - no outside text
                found |= {key: _vector(key, row) for key, row in connection.execute(query, page)}
        return found

    @in_thread
    def put(
        self, model: str, dimension: int, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> None:
        """Store the vectors in one transaction; of equal texts the last one wins."""
        rows = [
            (key, vector.tobytes() + _digest(key, vector.tobytes()))
            for key, vector in zip(self._keys(model, dimension, texts), vectors, strict=True)
        ]
        with self._file.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _keys(self, model: str, dimension: int, texts: Sequence[str]) -> list[bytes]:
        space = hashlib.sha256(f"{model}|{dimension}|{_INPUT_TYPE}|".encode())
        keys = []
        for text in texts:
            key = space.copy()
            key.update(text.encode())
            keys.append(key.digest())
        return keys


def _check(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT key, CAST(vector AS BLOB) FROM vectors")
    if damaged := sum(_vector(key, row) is None for key, row in rows):
        message = f"vectors that differ from their checksums: {damaged}"
        raise sqlite3.DatabaseError(message)


def _vector(key: bytes, row: object) -> Vector | None:
    """Return the vector of a row; None if it is not what was stored for this key."""
    if not isinstance(row, bytes) or _digest(key, row[:-_DIGEST]) != row[-_DIGEST:]:
        return None
    vector = array("f")
    vector.frombytes(row[:-_DIGEST])
    return vector


def _digest(key: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(key + vector, digest_size=_DIGEST).digest()
