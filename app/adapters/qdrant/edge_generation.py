"""One open generation of a book in the embedded index."""

from __future__ import annotations

import asyncio
import ctypes
import math
from array import array
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import qdrant_edge as edge
from cachetools import LRUCache

from app.adapters.qdrant.disk import copy_if_needed
from app.adapters.qdrant.edge_folder import BookFolder, StoredGeneration, write_durably
from app.adapters.qdrant.edge_shard import (
    PAGE,
    count,
    ids_in_reading_order,
    load_shard,
    matching_ids,
    retrieve,
    retrieve_points,
    storage_errors,
)
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.retrieval.query import SearchFilter

SHARD, _TERMS = "shard", "terms"

_CACHED_CHUNKS = 2_000
"""Chunks cached for each open generation, about 15 MB."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Number of documents, and how many of them contain each term."""

    documents: int
    containing: Mapping[int, int]

    @classmethod
    def of(cls, numbers: array[int]) -> Frequencies:
        """Rebuild them from the content of the file."""
        return cls(numbers[0], dict(zip(numbers[1::2], numbers[2::2], strict=True)))

    def write(self, generation: Path) -> None:
        numbers = array("I", [self.documents])
        for pair in self.containing.items():
            numbers.extend(pair)
        write_durably(generation / _TERMS, numbers.tobytes())

    @classmethod
    def pooled(cls, every: Sequence[Frequencies], terms: Iterable[int]) -> Frequencies:
        """Return the frequencies of these terms in several books together."""
        containing = {term: sum(one.containing.get(term, 0) for one in every) for term in terms}
        return cls(sum(one.documents for one in every), containing)

    def idf(self, term: int) -> float:
        """Inverse document frequency (Robertson and Zaragoza 2009), as Qdrant computes it."""
        containing = self.containing.get(term, 0)
        return math.log((self.documents - containing + 0.5) / (containing + 0.5) + 1.0)


@dataclass
class Generation:
    """The engine closes the shard when its last reference is dropped."""

    stored: StoredGeneration
    shard: edge.EdgeShard
    terms: array[int]
    """Content of the file with the document frequencies."""
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
            terms = array("I", (path / _TERMS).read_bytes())
            copy = copy_if_needed(path / SHARD)
            shard = load_shard(copy.name if copy else path / SHARD)
            if stamp is None or stored.stamp() != stamp:
                # The engine creates files of a shard that is removed while it is opened.
                message = f"{path}: removed"
                raise IndexUnreadable(message)
            if (found := count(shard)) != stored.manifest.chunks:
                message = f"{path}: {found} chunks are there, not {stored.manifest.chunks}"
                raise IndexUnreadable(message)
            return cls(stored, shard, terms, copy)

    @classmethod
    def previous(cls, folder: BookFolder) -> Generation | None:
        """Open the previous generation; None if there is none or it cannot be opened."""
        with suppress(BookNotFound, StorageError), storage_errors(folder.path):
            if number := folder.current()[1]:
                return cls.load(folder, number)
        return None

    @property
    def manifest(self) -> BookManifest:
        return self.stored.manifest

    @cached_property
    def frequencies(self) -> Frequencies:
        return Frequencies.of(self.terms)

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

    async def pages(self) -> AsyncIterator[list[IndexPoint]]:
        """Yield all points in reading order."""
        with self.errors() as shard:
            ids = await asyncio.to_thread(ids_in_reading_order, shard)
            for start in range(0, len(ids), PAGE):
                page = ids[start : start + PAGE]
                found = await asyncio.to_thread(retrieve_points, shard, page)
                yield [found[chunk_id] for chunk_id in page]
