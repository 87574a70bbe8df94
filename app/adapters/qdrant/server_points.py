"""What is stored on a Qdrant server under one prefix, and searches of it.

`<prefix>~books` has a record for each book (`server_records`), `<prefix>~<dimension>` the points of
all books with vectors of this dimension. Collections are created when first needed.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.payload import DENSE, POSITION_FIELD, SPARSE, TAGS_FIELD, conditions
from app.domain.book_id import BookId
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector

TENANT_FIELD = "book"
GENERATION_FIELD = "generation"

BATCH = 256
"""Points in one upsert or read with vectors: about 1 MB at 1,024 dimensions."""

PAGE = 1_000
"""Points in one page of a scroll."""

Scope = Mapping[str, BookId]
"""The generations that are searched in one collection, and the book of each."""

_EVERYTHING = SearchFilter()


@dataclass(frozen=True, slots=True)
class ServerStore:
    """The collections of one prefix. No request is sent before a method is called."""

    client: AsyncQdrantClient
    prefix: str
    address: str
    """For messages."""
    replicas: int = 1
    """Copies of each new collection. For high availability use 3 nodes and 2 replicas."""

    @property
    def books(self) -> str:
        return f"{self.prefix}~books"

    def points(self, dimension: int) -> str:
        return f"{self.prefix}~{dimension}"

    async def scroll(
        self,
        collection: str,
        condition: models.Filter,
        payload: bool | list[str] = True,
        *,
        vectors: bool = False,
    ) -> AsyncIterator[models.Record]:
        """Yield all records that match; one request per page."""
        offset = None
        while True:
            records, offset = await self.client.scroll(
                collection,
                scroll_filter=condition,
                limit=BATCH if vectors else PAGE,
                offset=offset,
                with_payload=payload,
                with_vectors=vectors,
            )
            for record in records:
                yield record
            if offset is None:
                return

    async def delete_points(self, condition: models.Filter) -> None:
        """Delete the points of any dimension that match."""
        start = f"{self.prefix}~"
        for one in (await self.client.get_collections()).collections:
            if one.name.startswith(start) and one.name.removeprefix(start).isdigit():
                await self.client.delete(one.name, points_selector=condition, wait=True)


def point_id(generation: str, chunk_id: str) -> str:
    """Return the point id of a chunk in a generation; of the point id it returns the chunk id."""
    return str(uuid.UUID(int=uuid.UUID(chunk_id).int ^ _mask(generation)))


@lru_cache(maxsize=65_536)
def _mask(generation: str) -> int:
    return int.from_bytes(blake2b(generation.encode(), digest_size=16).digest(), "big")


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
        query=sparse_vector(sparse), using=SPARSE, params=models.SearchParams(idf=corpus)
    )


def sparse_vector(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _scored(point: models.ScoredPoint, scope: Scope) -> ScoredId:
    key = str((point.payload or {}).get(GENERATION_FIELD) or next(iter(scope)))
    return ScoredId(scope[key], point_id(key, str(point.id)), point.score)


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


def match_any(field: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
