"""Writes a new generation of one book in the embedded index."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import qdrant_edge as edge

from app.adapters.qdrant.disk import require_space, size_on_disk
from app.adapters.qdrant.edge_folder import (
    SHARD,
    TERMS,
    BookFolder,
    StoredGeneration,
    write_durably,
)
from app.adapters.qdrant.edge_generation import Frequencies
from app.adapters.qdrant.edge_shard import (
    count,
    create_shard,
    load_shard,
    storage_errors,
    upsert,
)
from app.adapters.qdrant.payload import check_count, check_dimension
from app.domain.errors import StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.services.ports import in_thread

_log = logging.getLogger(__name__)

_EMPTY_SHARD = 4 * 2**20
"""Bytes of a shard without points, with room to spare."""


class EdgeWriter:
    """Builds the folder of a generation, checks it and switches `current` to it.

    Every step runs in a thread, one at a time. If a step fails, the generation is abandoned.
    """

    def __init__(
        self,
        folder: BookFolder,
        dimension: int,
        on_switch: Callable[[], None],
    ) -> None:
        """Take the book's lock, remove leftovers of a crash and start an empty generation."""
        self._folder = folder
        self._book = folder.book
        self._dimension = dimension
        self._on_switch = on_switch
        self._step = threading.Lock()
        self._shard: edge.EdgeShard | None = None
        self._documents, self._containing = 0, Counter[int]()
        with storage_errors(folder.path):
            self._lock = folder.lock()
        with self._running():
            # Higher than that of a generation that is removed next: other processes may know it.
            self._number = max([0, *folder.numbers()]) + 1
            folder.prune()
            self._generation = folder.generation(self._number)
            self._path = self._generation / SHARD
            self._generation.mkdir()
            require_space(self._generation, _EMPTY_SHARD)
            self._shard = create_shard(self._path, dimension)

    @in_thread
    def write(self, points: Sequence[IndexPoint]) -> None:
        with self._running() as shard:
            for point in points:
                check_dimension(self._book, "of this run", self._dimension, len(point.dense))
            require_space(self._generation, _EMPTY_SHARD + sum(map(_size, points)))
            upsert(shard, points)
            for point in points:
                self._documents += bool(point.sparse.indices)
                self._containing.update(point.sparse.indices)

    @in_thread
    def publish(self, manifest: BookManifest) -> BookManifest:
        with self._running() as shard:
            shard.flush()
            shard.close()
            self._shard = None
            check_count(self._book, self._count_written(), manifest.chunks)
            terms = Frequencies(self._documents, self._containing).numbers()
            write_durably(self._generation / TERMS, terms.tobytes())
            size = size_on_disk(self._generation)
            published = replace(manifest, generation=self._number, size_bytes=size)
            before = self._folder.sound()
            StoredGeneration.write(self._generation, published)
            self._folder.switch(self._number, before)
            self._on_switch()
            self._end()
            return published

    @in_thread
    def abandon(self) -> None:
        with self._step:
            self._end()

    @contextmanager
    def _running(self) -> Iterator[edge.EdgeShard]:
        with self._step:
            if self._lock.closed:
                message = f"this generation of book {self._book!r} has already ended"
                raise StorageError(message)
            try:
                with storage_errors(self._folder.path):
                    yield self._shard  # type: ignore[misc]  # None only while it is created
            except BaseException:
                self._end()
                raise

    def _end(self) -> None:
        """Remove what is not published and release the lock."""
        if self._lock.closed:
            return
        self._shard = None
        with self._lock:
            try:
                with storage_errors(self._folder.path):
                    self._folder.prune()
            except StorageError as error:
                _log.warning("index.prune_failed", extra={"book": self._book, "reason": str(error)})

    def _count_written(self) -> int:
        """Count the chunks as a reader would."""
        shard = load_shard(self._path)
        found = count(shard)
        # Closing writes files, which must be complete before they are hashed.
        shard.close()
        return found


def _size(point: IndexPoint) -> int:
    """Upper estimate of the bytes that the engine stores for a point."""
    text = 2 * len(point.chunk.text_content.encode()) + 2_000
    return text + 8 * len(point.dense) + 24 * len(point.sparse.indices)
