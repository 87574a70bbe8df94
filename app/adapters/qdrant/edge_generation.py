"""One open generation of a book in the embedded index."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from threading import Lock

import qdrant_edge as edge
from cachetools import LRUCache

from app.adapters.qdrant.disk_space import copy_if_needed
from app.adapters.qdrant.edge_folder import SHARD, BookFolder, StoredGeneration
from app.adapters.qdrant.edge_shard import (
    count,
    load_shard,
    matching_ids,
    retrieve,
    storage_errors,
)
from app.domain.chunking.chunk import Chunk
from app.domain.errors import IndexUnreadable
from app.domain.indexed_book import BookManifest
from app.domain.retrieval.query import SearchFilter

_CACHED_CHUNKS = 2_000
"""Chunks cached for each open generation, about 15 MB."""


@dataclass(slots=True)
class Generation:
    """The engine closes the shard when its last reference is dropped."""

    stored: StoredGeneration
    shard: edge.EdgeShard
    copy: TemporaryDirectory[str] | None = None
    """The copy that is open, if the index's disk is read-only or full."""
    _known: LRUCache[str, Chunk] = field(
        default_factory=lambda: LRUCache(_CACHED_CHUNKS), init=False, compare=False, repr=False
    )
    _lock: Lock = field(default_factory=Lock, init=False, compare=False, repr=False)
    """Protects `_known`, which several searches share."""

    @classmethod
    def load(cls, folder: BookFolder, number: int) -> Generation:
        """Open a generation. IndexUnreadable unless its files and chunk count are as published."""
        with storage_errors(folder.path):
            stored = folder.stored(number)
            stamp, path = stored.stamp(), stored.folder
            stored.check()
            copy = copy_if_needed(path / SHARD)
            shard = load_shard(copy.name if copy else path / SHARD)
            if stamp is None or stored.stamp() != stamp:
                # The engine creates files of a shard that is removed while it is opened.
                message = f"{path}: removed"
                raise IndexUnreadable(message)
            if (found := count(shard)) != stored.manifest.chunks:
                message = f"{path}: {found} chunks are there, not {stored.manifest.chunks}"
                raise IndexUnreadable(message)
            return cls(stored, shard, copy)

    @property
    def manifest(self) -> BookManifest:
        return self.stored.manifest

    @contextmanager
    def errors(self) -> Iterator[edge.EdgeShard]:
        """Yield the shard for one operation. StorageError if the engine fails."""
        with storage_errors(self.stored.folder):
            yield self.shard

    def is_cut(self) -> bool:
        """Whether a file was truncated. A removed file does no harm: it stays mapped.

        Then the shard stays open until the process ends, and at its end: closing it would write
        past the end of the mapped file, which kills the process.
        """
        cut = any(path.exists() for path in self.stored.wrong_sizes())
        if cut:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.shard))
        return cut

    def cached(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in memory, by id."""
        with self._lock:
            return {name: chunk for name in chunk_ids if (chunk := self._known.get(name))}

    def retrieve(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in this generation, by id; uses the cache."""
        found = self.cached(chunk_ids)
        missing = [name for name in chunk_ids if name not in found]
        if missing:
            fresh = retrieve(self.shard, missing)
            with self._lock:
                self._known.update(fresh)
            found |= fresh
        return found

    def matching(self, filter: SearchFilter) -> list[Chunk]:
        """Return the chunks that match the filter, ascending by id; uses the cache."""
        chunk_ids = matching_ids(self.shard, filter)
        few = len(chunk_ids) < _CACHED_CHUNKS  # more would replace all that is cached
        found = self.retrieve(chunk_ids) if few else retrieve(self.shard, chunk_ids)
        return [found[name] for name in chunk_ids]
