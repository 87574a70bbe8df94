"""One open generation of a book: a shard of the embedded engine, qdrant-edge."""

from __future__ import annotations

import asyncio
import ctypes
import math
import os
from array import array
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import qdrant_edge as edge
from cachetools import LRUCache

from app.adapters.qdrant.disk import copy_if_needed, storage_errors
from app.adapters.qdrant.edge_folder import SHARD, TERMS, BookFolder, StoredGeneration
from app.adapters.qdrant.payload import (
    CHUNK_FIELD,
    DENSE,
    ORDER_FIELDS,
    POSITION_FIELD,
    SPARSE,
    TAGS_FIELD,
    conditions,
    from_payload,
    in_reading_order,
    index_point,
)
from app.domain.chunking.chunk import Chunk
from app.domain.errors import IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector

PAGE = 1_000
"""Points in one call to the engine."""

_CACHED_CHUNKS = 2_000
"""Chunks cached for each open generation, about 15 MB."""

_id_text = lru_cache(maxsize=20_000)(str)
"""A point's id as text. Cached: the conversion takes 1.7 us, for all hits as long as the search."""


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """The content of the file `terms`: what BM25 needs to know of each term of a book."""

    chunks: float
    """Chunks that have terms."""
    terms: array[float]
    """Term ids, ascending; the same places in the next two are of the same term."""
    containing: array[float]
    """Chunks that contain the term."""
    highest: array[float]
    """Its highest weight in a chunk."""

    @staticmethod
    def content(
        chunks: int, containing: Mapping[int, int], highest: Mapping[int, float]
    ) -> array[float]:
        """Return the numbers that the file holds."""
        terms = sorted(containing)
        counts, weights = ([found[term] for term in terms] for found in (containing, highest))
        return array("d", [chunks, *terms, *counts, *weights])

    @classmethod
    def read(cls, path: Path) -> TermStatistics:
        numbers = array("d", path.read_bytes())
        count = len(numbers) // 3
        last = 2 * count + 1
        return cls(numbers[0], numbers[1 : count + 1], numbers[count + 1 : last], numbers[last:])

    def of(self, term: int) -> tuple[float, float]:
        """Return how many chunks contain the term, and its highest weight in one."""
        place = bisect_left(self.terms, term)
        if place == len(self.terms) or self.terms[place] != term:
            return 0.0, 0.0
        return self.containing[place], self.highest[place]


def inverse_frequency(books: Sequence[TermStatistics], term: int) -> float:
    """Inverse document frequency in all these books together, as Qdrant computes it in one.

    Robertson and Zaragoza 2009.
    """
    containing = sum(one.of(term)[0] for one in books)
    others = sum(one.chunks for one in books) - containing
    return math.log((others + 0.5) / (containing + 0.5) + 1.0)


@dataclass(eq=False)
class Generation:
    """The engine closes the shard when its last reference is dropped."""

    stored: StoredGeneration
    shard: edge.EdgeShard
    terms: TermStatistics
    copy: TemporaryDirectory[str] | None = None
    """The copy that is open, if the index's disk is read-only or full."""
    _known: LRUCache[str, Chunk] = field(
        default_factory=lambda: LRUCache(_CACHED_CHUNKS), init=False, repr=False
    )
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    """Protects `_known`, which several searches share."""

    @classmethod
    def load(cls, folder: BookFolder, number: int) -> Generation:
        """Open a generation. IndexUnreadable unless its files and chunk count are as published."""
        with storage_errors(folder.path):
            stored = folder.stored(number)
            path, chunks = stored.folder, stored.manifest.chunks
            stored.check()
            copy = copy_if_needed(path / SHARD)
            shard = load_shard(copy.name if copy else path / SHARD)
            # Unreadable if it was removed: the engine creates the files of a shard anew.
            folder.stored(number)
            if (found := count(shard)) != chunks:
                raise IndexUnreadable(f"{path}: {found} chunks are there, not {chunks}")
            return cls(stored, shard, TermStatistics.read(path / TERMS), copy)

    @classmethod
    def previous(cls, folder: BookFolder) -> Generation | None:
        """Open the generation before the current one; None if none can be opened."""
        for number in folder.published()[1:]:
            with suppress(StorageError):
                return cls.load(folder, number)
        return None

    @property
    def manifest(self) -> BookManifest:
        return self.stored.manifest

    def is_cut(self) -> bool:
        """Whether a file was truncated. A removed file does no harm: it stays mapped.

        Then the shard stays open until the process ends, and at its end: closing it would write
        past the end of the mapped file, which kills the process.
        """
        cut = any(path.exists() for path in self.stored.wrong_sizes())
        if cut:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.shard))
        return cut

    def search(
        self, dense: Vector | None, sparse: SparseVector | None, limit: int, filter: SearchFilter
    ) -> Candidates:
        """Return the best points by each vector that is not None; the engine adds no idf."""
        queries: dict[str, edge.Query] = {}
        if dense is not None:
            queries["dense"] = edge.Query.Nearest(dense.tolist(), using=DENSE)
        if sparse is not None and sparse.indices:
            terms = edge.SparseVector(list(sparse.indices), list(sparse.values))
            queries["sparse"] = edge.Query.Nearest(terms, using=SPARSE)
        condition = _condition(filter)
        requests = [
            edge.QueryRequest(query=query, limit=limit, filter=condition, with_payload=False)
            for query in queries.values()
        ]
        found = self.shard.query_batch(edge.QueryBatchRequest(requests))
        hits = {
            name: tuple(ScoredId(self.manifest.book, _id_text(p.id), p.score) for p in points)
            for name, points in zip(queries, found, strict=True)
        }
        return Candidates(**hits)

    def cached(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in memory, by id."""
        with self._lock:
            return {name: chunk for name in chunk_ids if (chunk := self._known.get(name))}

    def retrieve(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in this generation, by id; uses the cache."""
        found = self.cached(chunk_ids)
        if missing := [name for name in chunk_ids if name not in found]:
            records = self.shard.retrieve([*missing], with_payload=[CHUNK_FIELD], with_vector=False)
            fresh = {str(record.id): from_payload(record.payload) for record in records}
            with self._lock:
                self._known.update(fresh)
            found |= fresh
        return found

    def matching(self, filter: SearchFilter) -> list[Chunk]:
        """Return the chunks that match the filter, ascending by id; uses the cache."""
        chunk_ids = [str(record.id) for record in self._scroll(False, _condition(filter))]
        found = self.retrieve(chunk_ids)
        return [found[name] for name in chunk_ids]

    async def pages(self) -> AsyncIterator[list[IndexPoint]]:
        """Yield all points in reading order."""
        with storage_errors(self.stored.folder):
            records = await asyncio.to_thread(list, self._scroll(list(ORDER_FIELDS), None))
            ids = in_reading_order((str(record.id), record.payload) for record in records)
            for start in range(0, len(ids), PAGE):
                page = ids[start : start + PAGE]
                found = await asyncio.to_thread(self._points, page)
                yield [found[chunk_id] for chunk_id in page]

    def _points(self, chunk_ids: Sequence[str]) -> dict[str, IndexPoint]:
        records = self.shard.retrieve(list(chunk_ids), with_payload=True, with_vector=True)
        return {str(record.id): index_point(record.payload, record.vector) for record in records}

    def _scroll(
        self, payload: bool | list[str], condition: edge.Filter | None
    ) -> Iterator[edge.Record]:
        """Yield the points that match, ascending by id."""
        offset = None
        while True:
            request = edge.ScrollRequest(
                offset=offset, limit=PAGE, filter=condition, with_payload=payload, with_vector=False
            )
            records, offset = self.shard.scroll(request)
            yield from records
            if offset is None:
                return


def load_shard(path: str | Path) -> edge.EdgeShard:
    """Open a shard; it closes when its last reference is dropped."""
    return edge.EdgeShard.load(os.fspath(path))


def count(shard: edge.EdgeShard) -> int:
    return shard.count(edge.CountRequest(exact=True))


def _condition(filter: SearchFilter) -> edge.Filter | None:
    must: list[edge.FieldCondition] = [
        edge.FieldCondition(TAGS_FIELD, match=edge.MatchAny(tags)) for tags in conditions(filter)
    ]
    if filter.max_position is not None:
        upto = edge.RangeFloat(lte=filter.max_position)
        must.append(edge.FieldCondition(POSITION_FIELD, range=upto))
    return edge.Filter(must=list(must)) if must else None
