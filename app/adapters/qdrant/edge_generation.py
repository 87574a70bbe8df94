"""One open generation of a book: a shard of the embedded engine, qdrant-edge."""

from __future__ import annotations

import asyncio
import ctypes
import math
from array import array
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from tempfile import TemporaryDirectory
from threading import Lock

import qdrant_edge as edge
from cachetools import LRUCache

from app.adapters.qdrant.disk import copy_if_needed
from app.adapters.qdrant.edge_folder import SHARD, TERMS, BookFolder, StoredGeneration
from app.adapters.qdrant.edge_shard import count, load_shard, sparse_vector, storage_errors
from app.adapters.qdrant.payload import (
    DENSE,
    ORDER_FIELDS,
    POSITION_FIELD,
    SPARSE,
    TAGS_FIELD,
    check_dimension,
    conditions,
    from_payload,
    in_reading_order,
    index_point,
)
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector

PAGE = 1_000
"""Points in one call to the engine."""

_CACHED_CHUNKS = 2_000
"""Chunks cached for each open generation, about 15 MB."""

_id_text = lru_cache(maxsize=20_000)(str)
"""A point's id as text. Cached: the conversion takes 1.7 us, for all hits as long as the search."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Number of documents, and how many of them contain each term."""

    documents: int
    containing: Mapping[int, int]

    @classmethod
    def of(cls, numbers: array[int]) -> Frequencies:
        """Rebuild them from `numbers`."""
        return cls(numbers[0], dict(zip(numbers[1::2], numbers[2::2], strict=True)))

    def numbers(self) -> array[int]:
        """Return the content of the file."""
        pairs = (number for pair in self.containing.items() for number in pair)
        return array("I", [self.documents, *pairs])

    @classmethod
    def pooled(cls, every: Sequence[Frequencies], terms: Iterable[int]) -> Frequencies:
        """Return the frequencies of these terms in several books together."""
        containing = {term: sum(one.containing.get(term, 0) for one in every) for term in terms}
        return cls(sum(one.documents for one in every), containing)

    def idf(self, term: int) -> float:
        """Inverse document frequency (Robertson and Zaragoza 2009), as Qdrant computes it."""
        containing = self.containing.get(term, 0)
        return math.log((self.documents - containing + 0.5) / (containing + 0.5) + 1.0)


@dataclass(eq=False)
class Generation:
    """The engine closes the shard when its last reference is dropped."""

    stored: StoredGeneration
    shard: edge.EdgeShard
    terms: array[int]
    """Content of the file with the document frequencies."""
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
            stamp, path = stored.stamp(), stored.folder
            stored.check()
            terms = array("I", (path / TERMS).read_bytes())
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
            for number in folder.kept()[1:]:
                return cls.load(folder, number)
        return None

    @property
    def manifest(self) -> BookManifest:
        return self.stored.manifest

    @cached_property
    def frequencies(self) -> Frequencies:
        return Frequencies.of(self.terms)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise StorageError for errors of the engine."""
        with storage_errors(self.stored.folder):
            yield

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
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
        pooled: Frequencies | None,
    ) -> Candidates:
        """Return the best points by each vector that is not None.

        Scores are those of the `pooled` document frequencies, or of the book's own.
        """
        queries = {}
        if dense is not None:
            one = self.manifest
            check_dimension(one.book, one.model, one.dimension, len(dense))
            queries["dense"] = edge.Query.Nearest(dense.tolist(), using=DENSE)
        if sparse is not None and sparse.indices:
            terms = sparse_vector(self._weighted(sparse, pooled))
            queries["sparse"] = edge.Query.Nearest(terms, using=SPARSE)
        found = self._query(list(queries.values()), limit, _condition(filter))
        hits = {
            name: tuple(ScoredId(self.manifest.book, _id_text(p.id), p.score) for p in points)
            for name, points in zip(queries, found, strict=True)
        }
        return Candidates(**hits)

    def best_scores(self, terms: Sequence[int], pooled: Frequencies | None) -> list[float]:
        """Return the highest BM25 score of any point for each single term; 0 if no point has it."""
        weighted = self._weighted(SparseVector(tuple(terms), (1.0,) * len(terms)), pooled)
        queries = [
            edge.Query.Nearest(edge.SparseVector([term], [value]), using=SPARSE)
            for term, value in zip(terms, weighted.values, strict=True)
        ]
        return [found[0].score if found else 0.0 for found in self._query(queries, 1, None)]

    def _query(
        self, queries: Sequence[edge.Query], limit: int, condition: edge.Filter | None
    ) -> list[list[edge.ScoredPoint]]:
        requests = [
            edge.QueryRequest(query=query, limit=limit, filter=condition, with_payload=False)
            for query in queries
        ]
        return self.shard.query_batch(edge.QueryBatchRequest(requests))

    def _weighted(self, sparse: SparseVector, pooled: Frequencies | None) -> SparseVector:
        """Weight terms so that the engine's scores are those of the pooled document frequencies.

        The engine counts them in its shard, and a shard has one book.
        """
        if pooled is None:
            return sparse
        factors = (pooled.idf(term) / self.frequencies.idf(term) for term in sparse.indices)
        return replace(sparse, values=tuple(map(float.__mul__, sparse.values, factors)))

    def cached(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in memory, by id."""
        with self._lock:
            return {name: chunk for name in chunk_ids if (chunk := self._known.get(name))}

    def retrieve(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in this generation, by id; uses the cache."""
        found = self.cached(chunk_ids)
        if missing := [name for name in chunk_ids if name not in found]:
            records = self.shard.retrieve([*missing], with_payload=True, with_vector=False)
            fresh = {str(record.id): from_payload(record.payload) for record in records}
            with self._lock:
                self._known.update(fresh)
            found |= fresh
        return found

    def matching(self, filter: SearchFilter) -> list[Chunk]:
        """Return the chunks that match the filter, ascending by id; uses the cache."""
        condition = _condition(filter)
        chunk_ids = [str(record.id) for record in self._scroll(False, condition)]
        if len(chunk_ids) >= _CACHED_CHUNKS:  # they would replace all that is cached
            return [from_payload(record.payload) for record in self._scroll(True, condition)]
        found = self.retrieve(chunk_ids)
        return [found[name] for name in chunk_ids]

    async def pages(self) -> AsyncIterator[list[IndexPoint]]:
        """Yield all points in reading order."""
        with self.errors():
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


def _condition(filter: SearchFilter) -> edge.Filter | None:
    must: list[edge.FieldCondition] = [
        edge.FieldCondition(TAGS_FIELD, match=edge.MatchAny(tags)) for tags in conditions(filter)
    ]
    if filter.max_position is not None:
        upto = edge.RangeFloat(lte=filter.max_position)
        must.append(edge.FieldCondition(POSITION_FIELD, range=upto))
    return edge.Filter(must=list(must)) if must else None
