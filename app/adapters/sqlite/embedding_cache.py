"""Cache of vectors: one SQLite file, shared by all books and generations."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.adapters.sqlite.connection import integrity, reading, writing
from app.domain.errors import StorageError
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
        self._path = path

    @in_thread
    def faults(self) -> list[str]:
        """Check the whole file and each vector; a line of text for each fault."""
        if not self._path.exists():
            return []
        try:
            with self._errors(), reading(self._path) as connection:
                found = integrity(connection)
                rows = connection.execute("SELECT key, CAST(vector AS BLOB) FROM vectors")
                damaged = sum(_vector(key, row) is None for key, row in rows)
        except StorageError as error:
            return [str(error)]
        if damaged:
            found.append(f"vectors that differ from their checksums: {damaged}")
        return [str(self._damaged(reason)) for reason in found]

    @in_thread
    def get(self, model: str, dimension: int, texts: Sequence[str]) -> list[Vector | None]:
        """Return None for a missing vector and for a damaged one; damage is logged."""
        keys = self._keys(model, dimension, texts)
        found = self._found(list(dict.fromkeys(keys)))
        if damaged := sum(vector is None for vector in found.values()):
            _log.warning("cache.damaged", extra={"file": str(self._path), "vectors": damaged})
        return [found.get(key) for key in keys]

    def _found(self, keys: Sequence[bytes]) -> dict[bytes, Vector | None]:
        """Return the vectors of those of the keys that have a row; None for a damaged one."""
        found: dict[bytes, Vector | None] = {}
        if not keys or not self._path.exists():
            return found
        with self._errors(), reading(self._path) as connection:
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
        with self._errors(), writing(self._path, _SCHEMA, wal=True) as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _keys(self, model: str, dimension: int, texts: Sequence[str]) -> list[bytes]:
        space = hashlib.sha256(f"{model}|{dimension}|{_INPUT_TYPE}|".encode())
        keys = []
        for text in texts:
            key = space.copy()
            key.update(text.encode())
            keys.append(key.digest())
        return keys

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "no such" in str(error):  # table or column: another database, or an empty one
                raise self._damaged(str(error)) from error
            message = f"{self._path}: embedding cache: {error}"
            raise StorageError(message) from error
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from error
        except OSError as error:
            message = f"{error.filename or self._path}: {error.strerror or error}; check RAG_HOME"
            raise StorageError(message) from error

    def _damaged(self, reason: str) -> StorageError:
        return StorageError(
            f"{self._path}: the embedding cache is damaged ({reason}): delete this file and its "
            "-wal and -shm; the texts will be embedded again"
        )


def _vector(key: bytes, row: object) -> Vector | None:
    """Return the vector of a row; None if it is not what was stored for this key."""
    if not isinstance(row, bytes) or _digest(key, row[:-_DIGEST]) != row[-_DIGEST:]:
        return None
    vector = array("f")
    vector.frombytes(row[:-_DIGEST])
    return vector


def _digest(key: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(key + vector, digest_size=_DIGEST).digest()
