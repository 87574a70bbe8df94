"""Reading points of one collection on a Qdrant server."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import cast

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.payload import (
    DENSE,
    SPARSE,
    ChunkPayload,
    from_payload,
    keyword_conditions,
)
from app.adapters.qdrant.server_options import SEARCHES, ServerOptions, search_params
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector
from app.services.ports import IndexPoint


async def search_collection(
    client: AsyncQdrantClient,
    collection: str,
    book: BookId,
    dense: Vector | None,
    sparse: SparseVector | None,
    limit: int,
    filter: SearchFilter,
    options: ServerOptions,
) -> Candidates:
    """The best points for each given vector, in one request."""
    common = {"filter": condition_of(filter), "limit": limit, "with_payload": False}
    requests = {}
    if dense is not None:
        params = search_params(options)
        requests[DENSE] = models.QueryRequest(
            query=dense.tolist(), using=DENSE, params=params, **common
        )
    if sparse is not None:
        vector = models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))
        requests[SPARSE] = models.QueryRequest(query=vector, using=SPARSE, **common)
    if not requests:
        return Candidates()
    answers = await client.query_batch_points(collection, [*requests.values()])
    lists = {
        name: tuple(ScoredId(book, str(point.id), point.score) for point in answer.points)
        for name, answer in zip(requests, answers, strict=True)
    }
    return Candidates(lists.get(DENSE, ()), lists.get(SPARSE, ()))


async def best_scores(
    client: AsyncQdrantClient, collection: str, terms: Sequence[int]
) -> list[float]:
    """The best BM25 score of any point for each term alone; 0 if no point has it."""
    requests = [
        models.QueryRequest(
            query=models.SparseVector(indices=[term], values=[1.0]),
            using=SPARSE,
            limit=1,
            with_payload=False,
        )
        for term in terms
    ]
    scores: list[float] = []
    for start in range(0, len(requests), SEARCHES):
        some = requests[start : start + SEARCHES]
        answers = await client.query_batch_points(collection, some)
        scores += [answer.points[0].score if answer.points else 0.0 for answer in answers]
    return scores


def condition_of(filter: SearchFilter) -> models.Filter | None:
    must: list[models.Condition] = [
        models.FieldCondition(key=name, match=models.MatchAny(any=values))
        for name, values in keyword_conditions(filter)
    ]
    if filter.max_position is not None:
        upto = models.Range(lte=filter.max_position)
        must.append(models.FieldCondition(key="position", range=upto))
    return models.Filter(must=must) if must else None


async def next_chapter(
    client: AsyncQdrantClient, collection: str, chapter: str, position: int
) -> int | None:
    """The first position after this one in another chapter."""
    after = models.FieldCondition(key="position", range=models.Range(gt=position))
    same = models.FieldCondition(key="chapter", match=models.MatchAny(any=[chapter]))
    records, _ = await client.scroll(
        collection,
        scroll_filter=models.Filter(must=[after], must_not=[same]),
        limit=1,
        order_by="position",
        with_payload=["position"],
        with_vectors=False,
    )
    return (records[0].payload or {})["position"] if records else None


async def retrieve_points(
    client: AsyncQdrantClient, collection: str, chunk_ids: Sequence[str]
) -> dict[str, IndexPoint]:
    records = await client.retrieve(
        collection, list(chunk_ids), with_payload=True, with_vectors=True
    )
    return {str(record.id): point_of(record) for record in records}


def point_of(record: models.Record) -> IndexPoint:
    vectors = cast("dict[str, list[float] | models.SparseVector]", record.vector)
    sparse = vectors.get(SPARSE)
    return IndexPoint(
        chunk_of(record),
        array("f", cast("list[float]", vectors[DENSE])),
        SparseVector(tuple(sparse.indices), tuple(sparse.values))
        if isinstance(sparse, models.SparseVector)
        else SparseVector((), ()),
    )


def chunk_of(record: models.Record) -> Chunk:
    return from_payload(cast("ChunkPayload", record.payload or {}))
