"""The stores that the index's contract is tested on, and what the tests ask of them.

QDRANT_TEST_URL names a real server, or the nodes of a cluster with commas.
"""

import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import server_client
from app.adapters.qdrant.server_errors import CollectionMissing
from app.domain.book_id import BookId
from app.domain.errors import RagError
from app.domain.retrieval.query import SearchFilter
from app.services.ports import BookStore
from tests.index_points import DIMENSION, quick_folder, vector

URL = os.environ.get("QDRANT_TEST_URL", "")
NOT_RUN = "QDRANT_TEST_URL is not set: no contract test ran against a real Qdrant server"


@dataclass(frozen=True, slots=True)
class RealServer:
    """One prefix of the server, which is empty at first and is removed at the end."""

    client: AsyncQdrantClient
    prefix: str
    url: str

    def index(self, client: AsyncQdrantClient | None = None) -> ServerIndex:
        replicas = 2 if "," in self.url else 1
        return ServerIndex(client or self.client, self.prefix, self.url, replicas)


@asynccontextmanager
async def real_server(prefix: str = "") -> AsyncIterator[RealServer]:
    client = server_client(URL, None)
    server = RealServer(client, prefix or f"test-{secrets.token_hex(4)}", URL)
    try:
        yield server
    finally:
        for one in (await client.get_collections()).collections:
            if one.name.startswith(f"{server.prefix}~"):
                await client.delete_collection(one.name)
        await client.close()


class MemoryClient(AsyncQdrantClient):
    """The engine that the client has for tests: no HTTP, no indexes, exact scores.

    A read of a missing collection fails as on a server.
    """

    def __init__(self) -> None:
        super().__init__(":memory:")

    async def retrieve(self, collection_name: str, *args: Any, **kwargs: Any) -> Any:
        await self._require(collection_name)
        return await super().retrieve(collection_name, *args, **kwargs)

    async def scroll(self, collection_name: str, *args: Any, **kwargs: Any) -> Any:
        await self._require(collection_name)
        return await super().scroll(collection_name, *args, **kwargs)

    async def facet(self, collection_name: str, *args: Any, **kwargs: Any) -> Any:
        await self._require(collection_name)
        return await super().facet(collection_name, *args, **kwargs)

    async def _require(self, name: str) -> None:
        if not await self.collection_exists(name):
            raise CollectionMissing(name)


class Recorded:
    """A client that notes the calls, as (method, arguments by position, by name)."""

    def __init__(self, client: AsyncQdrantClient) -> None:
        self._client = client
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args, kwargs))
            return await getattr(self._client, name)(*args, **kwargs)

        return call

    def called(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [(args, kwargs) for one, args, kwargs in self.calls if one == name]


@asynccontextmanager
async def memory_client() -> AsyncIterator[AsyncQdrantClient]:
    client = MemoryClient()
    try:
        yield client
    finally:
        await client.close()


def index_of(client: AsyncQdrantClient) -> ServerIndex:
    return ServerIndex(client, "textbook", "http://localhost:6333")


@asynccontextmanager
async def embedded() -> AsyncIterator[BookStore]:
    with quick_folder() as home:
        yield EdgeIndex(home)


@asynccontextmanager
async def in_memory() -> AsyncIterator[BookStore]:
    async with memory_client() as client:
        yield index_of(client)


@asynccontextmanager
async def on_real_server() -> AsyncIterator[BookStore]:
    async with real_server() as running:
        yield running.index()


Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[BookStore]]
OPENERS: dict[str, Opener] = {
    "embedded": embedded,
    "server": in_memory,
    **({"real server": on_real_server} if URL else {}),
}


ALL = SearchFilter()
QUERY = vector(*[1.0] * DIMENSION)


def only(*books: str) -> SearchFilter:
    return SearchFilter(books=tuple(map(BookId, books)))


async def found(index: BookStore, filter: SearchFilter = ALL) -> set[str]:
    candidates = await index.search(QUERY, None, 1_000, filter)
    return {hit.chunk_id for hit in candidates.dense}


async def fails(kind: type[RagError], call: Awaitable[object], *parts: str) -> None:
    with pytest.raises(kind) as caught:
        await call
    assert type(caught.value) is kind
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
