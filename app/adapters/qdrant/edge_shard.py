"""One generation's shard in the embedded engine, qdrant-edge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import qdrant_edge as edge

from app.adapters.qdrant.payload import (
    DENSE,
    ORDER_FIELDS,
    POSITION_FIELD,
    SPARSE,
    TAGS_FIELD,
    conditions,
    from_payload,
    in_reading_order,
    index_point,
    to_payload,
)
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import RagError, StorageError
from app.domain.indexed_book import IndexPoint
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector

PAGE = 1_000
"""Points in one call to the engine."""

id_text = lru_cache(maxsize=20_000)(str)
"""A point's id as text. Cached: the conversion takes 1.7 us, for all hits as long as the search."""


@contextmanager
def storage_errors(where: Path) -> Iterator[None]:
    """Raise StorageError, with a one-line message, for errors of the engine and the file system."""
    try:
        yield
    except RagError:
        raise
    except OSError as error:
        message = f"{error.filename or where}: {error.strerror or error}; check RAG_HOME"
        raise StorageError(message) from error
    except BaseException as error:  # the engine defines no exception class
        if not isinstance(error, Exception) and not _is_panic(error):
            raise
        reason = str(error).split("\n", 1)[0][:300]
        raise StorageError(f"{where}: {reason}") from error


def _is_panic(error: BaseException) -> bool:
    """A Rust panic is a BaseException whose class cannot be imported."""
    return type(error).__module__ == "pyo3_runtime" and type(error).__name__ == "PanicException"


def create_shard(path: Path, dimension: int) -> edge.EdgeShard:
    """Create an empty shard with its payload indexes at a `path` that does not exist.

    `book` needs no index, since a shard has one book. There is no write-ahead log: an interrupted
    build is discarded, and the log's lock would keep other processes from searching the generation.
    """
    path.mkdir()
    shard = edge.EdgeShard.create(str(path), _config(dimension))
    keyword = edge.KeywordIndexParams(memory=edge.Memory.Cold)
    integer = edge.IntegerIndexParams(lookup=False, range=True, memory=edge.Memory.Cold)
    shard.update(edge.UpdateOperation.create_field_index(TAGS_FIELD, keyword))
    shard.update(edge.UpdateOperation.create_field_index(POSITION_FIELD, integer))
    return shard


def _config(dimension: int) -> edge.EdgeConfig:
    """All points stay in one open segment, whose searches are exact.

    Sealed segments of mapped files take half the memory (56 MB for 20,000 chunks, not 100), and
    three times the disk.
    """
    mapped, cosine = edge.Memory.Cold, edge.Distance.Cosine
    idf = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=mapped)
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=dimension, distance=cosine, memory=mapped)},
        sparse_vectors={SPARSE: idf},
        wal_enabled=False,
    )


def upsert(shard: edge.EdgeShard, points: Sequence[IndexPoint]) -> None:
    """Write points one by one: the engine stores the points of one call in random order.

    An open segment numbers terms in the order of writing and sums a question's terms in that order,
    so a random order changes the last digit of scores. Single writes cost 0.06 ms a chunk.
    """
    for point in points:
        shard.update(edge.UpdateOperation.upsert_points([_point(point)]))


def _point(point: IndexPoint) -> edge.Point:
    vectors: dict[str, edge.NamedVector] = {DENSE: point.dense.tolist()}
    # An empty sparse vector may count as a document in the idf; a missing one does not.
    if point.sparse.indices:
        vectors[SPARSE] = _sparse(point.sparse)
    return edge.Point(point.chunk.chunk_id, vectors, to_payload(point.chunk))


def _sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(list(vector.indices), list(vector.values))


def search_shard(
    shard: edge.EdgeShard,
    book: BookId,
    dense: Vector | None,
    sparse: SparseVector | None,
    limit: int,
    filter: SearchFilter,
) -> Candidates:
    """Return the best points of the book's shard by each vector that is not None."""
    condition = edge_filter(filter)
    queries = {}
    if dense is not None:
        queries["dense"] = edge.Query.Nearest(dense.tolist(), using=DENSE)
    if sparse is not None:
        queries["sparse"] = edge.Query.Nearest(_sparse(sparse), using=SPARSE)
    requests = [
        edge.QueryRequest(query=query, limit=limit, filter=condition, with_payload=False)
        for query in queries.values()
    ]
    found = shard.query_batch(edge.QueryBatchRequest(requests))
    hits = {
        name: tuple(ScoredId(book, id_text(point.id), point.score) for point in points)
        for name, points in zip(queries, found, strict=True)
    }
    return Candidates(**hits)


def best_scores(shard: edge.EdgeShard, terms: Sequence[int]) -> list[float]:
    """Return the highest BM25 score of any point for each single term; 0 if no point has it."""
    requests = [
        edge.QueryRequest(
            query=edge.Query.Nearest(edge.SparseVector([term], [1.0]), using=SPARSE), limit=1
        )
        for term in terms
    ]
    found = shard.query_batch(edge.QueryBatchRequest(requests))
    return [points[0].score if points else 0.0 for points in found]


def edge_filter(filter: SearchFilter) -> edge.Filter | None:
    must: list[edge.FieldCondition] = [
        edge.FieldCondition(TAGS_FIELD, match=edge.MatchAny(tags)) for tags in conditions(filter)
    ]
    if filter.max_position is not None:
        upto = edge.RangeFloat(lte=filter.max_position)
        must.append(edge.FieldCondition(POSITION_FIELD, range=upto))
    return edge.Filter(must=list(must)) if must else None


def retrieve(shard: edge.EdgeShard, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
    records = shard.retrieve(list(chunk_ids), with_payload=True, with_vector=False)
    return {str(record.id): from_payload(record.payload) for record in records}


def matching_ids(shard: edge.EdgeShard, filter: SearchFilter) -> list[str]:
    """Return the ids of all chunks that match the filter, ascending."""
    return [str(one.id) for one in _scroll(shard, False, edge_filter(filter))]


def ids_in_reading_order(shard: edge.EdgeShard) -> list[str]:
    records = _scroll(shard, list(ORDER_FIELDS), None)
    return in_reading_order((str(record.id), record.payload) for record in records)


def retrieve_points(shard: edge.EdgeShard, chunk_ids: Sequence[str]) -> dict[str, IndexPoint]:
    records = shard.retrieve(list(chunk_ids), with_payload=True, with_vector=True)
    return {str(record.id): index_point(record.payload, record.vector) for record in records}


def count(shard: edge.EdgeShard) -> int:
    return shard.count(edge.CountRequest(exact=True))


def load_shard(path: str | Path) -> edge.EdgeShard:
    """Open a shard; it closes when its last reference is dropped."""
    return edge.EdgeShard.load(os.fspath(path))


def _scroll(
    shard: edge.EdgeShard, payload: bool | list[str], condition: edge.Filter | None
) -> Iterator[edge.Record]:
    offset = None
    while True:
        request = edge.ScrollRequest(
            offset=offset, limit=PAGE, filter=condition, with_payload=payload, with_vector=False
        )
        records, offset = shard.scroll(request)
        yield from records
        if offset is None:
            return
