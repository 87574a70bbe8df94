"""Points of all books in one collection: their ids, searches, and checks of given generations.

The server does not notice that points were deleted, or that a file was zeroed while it was down: it
answers from what is left.
"""

from __future__ import annotations

import json
import uuid
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

from qdrant_client import models

from app.adapters.qdrant.payload import (
    DENSE,
    POSITION_FIELD,
    SPARSE,
    TAGS_FIELD,
    conditions,
    index_point,
    to_payload,
)
from app.adapters.qdrant.server_records import StoredGeneration
from app.adapters.qdrant.server_store import GENERATION_FIELD, TENANT_FIELD, ServerStore, match_any
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector

_CHECKSUM_FIELD = "checksum"
"""Payload field with the `_checksum` of the point."""


def point_id(generation: str, chunk_id: str) -> str:
    """Return the point id of a chunk in a generation; `chunk_id_of` is the inverse."""
    return str(uuid.UUID(int=uuid.UUID(chunk_id).int ^ _mask(generation)))


def chunk_id_of(generation: str, found: object) -> str:
    return str(uuid.UUID(int=uuid.UUID(str(found)).int ^ _mask(generation)))


@lru_cache(maxsize=65_536)
def _mask(generation: str) -> int:
    return int.from_bytes(blake2b(generation.encode(), digest_size=16).digest(), "big")


def _checksum(payload: Mapping[str, object], point: IndexPoint) -> str:
    """Return a 128-bit hash of payload, sparse vector, and signs of the dense one, in hex.

    Stores scale dense vectors to length 1 and sort the terms of sparse ones; both keep the hash.
    """
    digest = blake2b(json.dumps(payload, sort_keys=True).encode(), digest_size=16)
    terms = sorted(zip(point.sparse.indices, point.sparse.values, strict=True))
    digest.update(array("I", [term for term, _ in terms]).tobytes())
    digest.update(array("f", [value for _, value in terms]).tobytes())
    digest.update(bytes(value > 0 for value in point.dense))
    return digest.hexdigest()


Scope = Mapping[str, BookId]
"""The generations that are searched in one collection, and the book of each."""

_EVERYTHING = SearchFilter()


async def search_points(
    store: ServerStore,
    collection: str,
    scope: Scope,
    dense: Vector | None,
    sparse: SparseVector | None,
    limit: int,
    filter: SearchFilter,
) -> Candidates:
    """Return the best points by each vector that is not None, in one request."""
    requests = {}
    if dense is not None:
        requests["dense"] = models.QueryRequest(query=dense.tolist(), using=DENSE)
    if sparse is not None and sparse.indices:
        requests["sparse"] = _bm25_request(scope, sparse)
    for request in requests.values():
        request.filter = condition_of(scope, filter)
        request.limit = limit
        # A point id can be decoded only with its generation's key. With one generation it is known.
        request.with_payload = [GENERATION_FIELD] if len(scope) > 1 else False
    if not requests:
        return Candidates()
    answers = await store.client.query_batch_points(collection, [*requests.values()])
    hits = {
        name: tuple(_scored(point, scope) for point in answer.points)
        for name, answer in zip(requests, answers, strict=True)
    }
    return Candidates(**hits)


def _bm25_request(scope: Scope, sparse: SparseVector) -> models.QueryRequest:
    """Request whose document frequencies are those of the scope."""
    corpus = models.IdfCorpusParams(corpus=condition_of(scope))
    return models.QueryRequest(
        query=_sparse(sparse), using=SPARSE, params=models.SearchParams(idf=corpus)
    )


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _scored(point: models.ScoredPoint, scope: Scope) -> ScoredId:
    key = str((point.payload or {}).get(GENERATION_FIELD) or next(iter(scope)))
    return ScoredId(scope[key], chunk_id_of(key, point.id), point.score)


async def best_scores(
    store: ServerStore, collection: str, scope: Scope, terms: Sequence[int]
) -> list[float]:
    """Return the highest BM25 score of any point for each single term; 0 if no point has it."""
    requests = [_bm25_request(scope, SparseVector((term,), (1.0,))) for term in terms]
    for request in requests:
        request.filter, request.limit, request.with_payload = condition_of(scope), 1, False
    answers = await store.client.query_batch_points(collection, requests) if requests else []
    return [answer.points[0].score if answer.points else 0.0 for answer in answers]


def condition_of(scope: Scope, filter: SearchFilter = _EVERYTHING) -> models.Filter:
    """Filter for points of these generations; for one book, its tenant key is a condition, too."""
    must: list[models.Condition] = [match_any(GENERATION_FIELD, list(scope))]
    if len(books := set(scope.values())) == 1:
        must.append(match_any(TENANT_FIELD, list(books)))
    must += [match_any(TAGS_FIELD, tags) for tags in conditions(filter)]
    if filter.max_position is not None:
        upto = models.Range(lte=filter.max_position)
        must.append(models.FieldCondition(key=POSITION_FIELD, range=upto))
    return models.Filter(must=must)


def point_of(generation: str, point: IndexPoint) -> models.PointStruct:
    vectors: dict[str, models.Vector] = {DENSE: point.dense.tolist()}
    if point.sparse.indices:
        vectors[SPARSE] = _sparse(point.sparse)
    payload = to_payload(point.chunk)
    payload |= {TENANT_FIELD: point.chunk.book, GENERATION_FIELD: generation}
    return models.PointStruct(
        id=point_id(generation, point.chunk.chunk_id),
        vector=vectors,
        payload=payload | {_CHECKSUM_FIELD: _checksum(payload, point)},
    )


async def missing_points(
    store: ServerStore, generations: Sequence[StoredGeneration]
) -> dict[str, str]:
    """Count the points; return the faults of the generations that lack some, by key."""
    found: dict[str, str] = {}
    for dimension in {one.manifest.dimension for one in generations}:
        some = [one for one in generations if one.manifest.dimension == dimension]
        try:
            counts = await _counts(store, store.points(dimension), [one.key for one in some])
        except StorageError as error:  # such as a missing collection
            found |= {one.key: str(error) for one in some}
            continue
        for one in some:
            count, chunks = counts.get(one.key, 0), one.manifest.chunks
            if count != chunks:
                found[one.key] = _fault(store, one.manifest, f"it has {count} of {chunks} chunks")
    return found


async def damage(store: ServerStore, generation: StoredGeneration) -> str:
    """Read every point of a generation; return what is wrong, or ""."""
    manifest = generation.manifest
    condition = condition_of({generation.key: manifest.book})
    try:
        records = store.scroll(store.points(manifest.dimension), condition, vectors=True)
        intact = sum([_is_intact(record) async for record in records])
    except StorageError as error:
        return str(error)
    if intact == manifest.chunks:
        return ""
    return _fault(store, manifest, f"it has {intact} of {manifest.chunks} chunks as published")


def _fault(store: ServerStore, manifest: BookManifest, fault: str) -> str:
    where = f"{store.address} {manifest.book} generation {manifest.generation}"
    return f"{where}: {fault}; ingest the book again"


async def _counts(store: ServerStore, collection: str, keys: Sequence[str]) -> Mapping[str, int]:
    some = models.Filter(must=[match_any(GENERATION_FIELD, keys)])
    answer = await store.client.facet(
        collection, GENERATION_FIELD, facet_filter=some, limit=len(keys), exact=True
    )
    return {str(hit.value): hit.count for hit in answer.hits}


def _is_intact(record: models.Record) -> bool:
    """Whether the point has the checksum that is in its payload."""
    payload = dict(record.payload or {})
    stated = payload.pop(_CHECKSUM_FIELD, None)
    try:
        return bool(stated == _checksum(payload, index_point(payload, record.vector)))
    except (IndexUnreadable, AttributeError, KeyError, TypeError):
        return False
