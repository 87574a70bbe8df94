"""Cache of vectors: one SQLite file, shared by all books and generations."""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from app.adapters.sqlite.connection import integrity, reading, writing
from app.domain.errors import StorageError
from app.domain.retrieval.query import Vector
from app.services.threads import in_thread

_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"

_INPUT_TYPE = "search_document"
"""Only vectors of documents are cached here, not those of questions."""

_BATCH = 500
"""Keys in one query; old builds of SQLite allow at most 999 parameters."""


class SqliteEmbeddingCache:
    """Implements the `EmbeddingCache` port; safe to use from several threads and processes.

    A key is SHA-256 over model, dimension, input type and exact text; a vector is its float32
    values in the machine's byte order.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet; the first `put` creates the file."""
        self._path = path

    @in_thread
    def faults(self) -> list[str]:
        """Check the whole file and the size of each vector; a line of text for each fault."""
        if not self._path.exists():
            return []
        try:
            with self._errors(), reading(self._path) as connection:
                found = integrity(connection)
                query = "SELECT count(*) FROM vectors WHERE length(key) <> 32 OR length(vector) % 4"
                (odd,) = connection.execute(query).fetchone()
        except StorageError as error:
            return [str(error)]
        if odd:
            found.append(f"{odd} rows are not vectors")
        return [str(self._damaged(reason)) for reason in found]

    @in_thread
    def missing(self, model: str, dimension: int, texts: Sequence[str]) -> list[str]:
        """Return the distinct texts without a vector; reads only keys."""
        distinct = list(dict.fromkeys(texts))
        if not distinct or not self._path.exists():
            return distinct
        keys = self._keys(model, dimension, distinct)
        with self._errors(), reading(self._path) as connection:
            known = {key for key, _ in self._select(connection, keys, "NULL")}
        return [text for text, key in zip(distinct, keys, strict=True) if key not in known]

    @in_thread
    def get(self, model: str, dimension: int, texts: Sequence[str]) -> list[Vector | None]:
        if not texts or not self._path.exists():
            return [None] * len(texts)
        keys = self._keys(model, dimension, texts)
        distinct = list(dict.fromkeys(keys))
        found: dict[bytes, Vector] = {}
        with self._errors(), reading(self._path) as connection:
            for key, blob in self._select(connection, distinct, "vector"):
                found[key] = self._vector(blob, dimension)
        return [found.get(key) for key in keys]

    def _select(
        self,
        connection: sqlite3.Connection,
        keys: Sequence[bytes],
        column: Literal["vector", "NULL"],
    ) -> Iterator[tuple[bytes, bytes]]:
        for start in range(0, len(keys), _BATCH):
            page = keys[start : start + _BATCH]
            marks = ",".join("?" * len(page))
            query = f"SELECT key, {column} FROM vectors WHERE key IN ({marks})"  # noqa: S608 - no outside text
            yield from connection.execute(query, page)

    @in_thread
    def put(
        self, model: str, dimension: int, texts: Sequence[str], vectors: Sequence[Vector]
    ) -> None:
        """Store the vectors in one transaction; of equal texts the last one wins."""
        rows = [
            (key, vector.tobytes())
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

    def _vector(self, blob: bytes, dimension: int) -> Vector:
        vector = array("f")
        if len(blob) != dimension * vector.itemsize:
            raise self._damaged(f"a vector of {len(blob)} bytes")
        vector.frombytes(blob)
        return vector

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
