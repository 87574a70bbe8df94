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


@dataclass(frozen=True, slots=True)
class Generations:
    """The generations that are searched in one collection."""

    store: ServerStore
    collection: str
    books: Mapping[str, BookId]
    """Key of a generation -> its book."""

    def condition(self, filter: SearchFilter = _EVERYTHING) -> models.Filter:
        """Filter for their points; for one book, its tenant key is a condition, too."""
        must: list[models.Condition] = [match_any(GENERATION_FIELD, list(self.books))]
        if len(books := set(self.books.values())) == 1:
            must.append(match_any(TENANT_FIELD, list(books)))
        must += [match_any(TAGS_FIELD, tags) for tags in conditions(filter)]
        if filter.max_position is not None:
            upto = models.Range(lte=filter.max_position)
            must.append(models.FieldCondition(key=POSITION_FIELD, range=upto))
        return models.Filter(must=must)

    async def search(
        self, dense: Vector | None, sparse: SparseVector | None, limit: int, filter: SearchFilter
    ) -> Candidates:
        """Return the best points by each vector that is not None, in one request."""
        requests = {}
        if dense is not None:
            requests["dense"] = models.QueryRequest(query=dense.tolist(), using=DENSE)
        if sparse is not None and sparse.indices:
            requests["sparse"] = self._bm25_request(sparse)
        for request in requests.values():
            request.filter, request.limit = self.condition(filter), limit
            # A point id is decoded with its generation's key. With one generation it is known.
            request.with_payload = [GENERATION_FIELD] if len(self.books) > 1 else False
        if not requests:
            return Candidates()
        answers = await self.store.client.query_batch_points(self.collection, [*requests.values()])
        hits = {
            name: tuple(map(self._scored, answer.points))
            for name, answer in zip(requests, answers, strict=True)
        }
        return Candidates(**hits)

    async def best_scores(self, terms: Sequence[int]) -> list[float]:
        """Return the highest BM25 score of any point for each single term; 0 if no point has it."""
        requests = [self._bm25_request(SparseVector((term,), (1.0,))) for term in terms]
        for request in requests:
            request.filter, request.limit, request.with_payload = self.condition(), 1, False
        if not requests:
            return []
        answers = await self.store.client.query_batch_points(self.collection, requests)
        return [answer.points[0].score if answer.points else 0.0 for answer in answers]

    def _bm25_request(self, sparse: SparseVector) -> models.QueryRequest:
        """Request whose document frequencies are those of these generations."""
        corpus = models.IdfCorpusParams(corpus=self.condition())
        return models.QueryRequest(
            query=sparse_vector(sparse), using=SPARSE, params=models.SearchParams(idf=corpus)
        )

    def _scored(self, point: models.ScoredPoint) -> ScoredId:
        key = str((point.payload or {}).get(GENERATION_FIELD) or next(iter(self.books)))
        return ScoredId(self.books[key], point_id(key, str(point.id)), point.score)


def sparse_vector(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def match_any(field: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
