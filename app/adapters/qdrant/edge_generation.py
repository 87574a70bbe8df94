"""One generation of a book in the embedded index: check it, open it, read its chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import qdrant_edge as edge
from cachetools import LRUCache

from app.adapters.qdrant.edge_copy import ShardCopy, copy_if_needed
from app.adapters.qdrant.edge_folder import BookFolder, Current
from app.adapters.qdrant.edge_lock import generation_lock
from app.adapters.qdrant.edge_shard import (
    count,
    load_shard,
    matching_ids,
    retrieve,
    storage_errors,
)
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, IndexUnreadable, StorageError
from app.domain.retrieval.query import SearchFilter
from app.services.ports import BookManifest

_CACHED_CHUNKS = 2_000
"""Chunks cached for each open generation, about 15 MB."""


ATTEMPTS = 3
"""Attempts to read a book that is switched or removed meanwhile: a removal or two switches delete
the generation that `current` named before."""


@dataclass(slots=True)
class Generation:
    """An open generation. The engine closes the shard when its last reference is dropped."""

    folder: BookFolder
    shard: edge.EdgeShard
    manifest: BookManifest
    copy: ShardCopy | None = None
    """The copy that is open, if the index's disk is read-only or full."""
    _known: LRUCache[str, Chunk] = field(
        default_factory=lambda: LRUCache(_CACHED_CHUNKS), init=False, compare=False, repr=False
    )
    _lock: Lock = field(default_factory=Lock, init=False, compare=False, repr=False)
    """Protects `_known`, which several searches share."""

    @contextmanager
    def errors(self) -> Iterator[edge.EdgeShard]:
        """Yield the shard for one operation. StorageError if the engine fails."""
        with storage_errors(self.folder.generation(self.manifest.generation)):
            yield self.shard

    def wrong_sizes(self) -> list[Path]:
        """The files that are missing now, or whose size has changed."""
        number = self.manifest.generation
        try:
            with storage_errors(self.folder.path):
                wrong = self.folder.wrong_files(number, sizes_only=True)
        except StorageError:
            return []  # the checksums are damaged; the mapped files may be whole
        return [self.folder.generation(number) / name for name in wrong]

    def is_cut(self) -> bool:
        """Whether a file has another size now. A removed file does no harm: it stays mapped."""
        return any(path.exists() for path in self.wrong_sizes())

    def cached(self, chunk_ids: Sequence[str]) -> list[Chunk] | None:
        """Return these chunks, in order; None unless all are in memory."""
        found = self._cached(chunk_ids)
        return [found[name] for name in chunk_ids] if len(found) == len(set(chunk_ids)) else None

    def _cached(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        with self._lock:
            return {name: chunk for name in chunk_ids if (chunk := self._known.get(name))}

    def retrieve(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in this generation, by id; uses the cache."""
        found = self._cached(chunk_ids)
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


def published(folder: BookFolder) -> Current:
    current = folder.current()
    if current is None:
        raise BookNotFound.of(folder.book)
    return current


def current_manifest(folder: BookFolder, attempts: int = ATTEMPTS) -> BookManifest | None:
    """Manifest of the current generation; None if the book is not published."""
    with storage_errors(folder.path):
        stamp, current = folder.stamp(), folder.current()
        try:
            return folder.manifest(current.generation) if current else None
        except IndexUnreadable:
            if attempts > 1 and folder.stamp() != stamp:
                return current_manifest(folder, attempts - 1)
            raise


def first_readable(folder: BookFolder) -> BookManifest:
    """Manifest of the current generation or, if that is damaged, of the previous one."""
    with storage_errors(folder.path):
        current = published(folder)
        try:
            return folder.manifest(current.generation)
        except IndexUnreadable:
            if not current.previous:
                raise
            return folder.manifest(current.previous)


def load(folder: BookFolder, number: int) -> Generation:
    """Open a generation. IndexUnreadable unless its files and chunk count are as published."""
    path = folder.generation(number)
    with storage_errors(path), generation_lock(path):
        manifest = folder.check(number)
        copy = copy_if_needed(path / "shard")
        shard = load_shard(copy.path if copy else path / "shard")
        if (found := count(shard)) != manifest.chunks:
            message = f"{path}: {found} chunks are there, but the book has {manifest.chunks}"
            raise IndexUnreadable(message)
        return Generation(folder, shard, manifest, copy)


def faults(folder: BookFolder, *, before: bool) -> list[str] | None:
    """Faults of the current or previous generation, one per line. BookNotFound if unpublished.

    None if there is no previous generation.
    """
    try:
        with storage_errors(folder.path):
            for _ in range(ATTEMPTS):
                stamp = folder.stamp()
                found = _faults(folder, before=before)
                if not found or folder.stamp() == stamp:
                    break
            return found
    except StorageError as error:
        return [str(error)]


def _faults(folder: BookFolder, *, before: bool) -> list[str] | None:
    try:
        with storage_errors(folder.path):
            current = published(folder)
            number = current.previous if before else current.generation
            if before and not number:
                return None
            if wrong := folder.wrong_files(number):
                return [
                    f"{folder.generation(number) / name}: not as it was published" for name in wrong
                ]
    except StorageError as error:
        return [str(error)]
    return []
