"""What only a real Qdrant server shows.

Runs on the server or cluster that QDRANT_TEST_URL names.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from qdrant_client import models

from app.adapters.qdrant.server_client import server_client
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy
from app.domain.retrieval.query import SearchFilter
from tests.index_points import DIMENSION, chunk_id, manifest, points, publish
from tests.index_stores import ALL, NOT_RUN, QUERY, URL, RealServer, only, real_server

if not URL:
    pytest.skip(NOT_RUN, allow_module_level=True)


@pytest.fixture
async def server() -> AsyncIterator[RealServer]:
    async with real_server() as running:
        yield running


async def test_the_book_is_the_tenant_key_and_the_server_weights_terms(
    server: RealServer,
) -> None:
    await publish(server.index(), "book", points("book", [1]))
    info = await server.client.get_collection(server.collection(DIMENSION))
    params = info.payload_schema["book"].params
    assert isinstance(params, models.KeywordIndexParams)
    assert params.is_tenant
    sparse = info.config.params.sparse_vectors
    assert sparse
    assert sparse["bm25"].modifier is models.Modifier.IDF


async def test_of_many_writers_of_one_book_one_is_admitted(server: RealServer) -> None:
    """Each as another machine: a client of its own, all at the same time."""

    await publish(server.index(), "other", points("other", [1]))
    clients = [server_client(server.url, None) for _ in range(8)]
    indexes = [server.index(client) for client in clients]
    begun = await asyncio.gather(
        *(index.begin(BookId("book"), DIMENSION) for index in indexes), return_exceptions=True
    )
    writers = [one for one in begun if not isinstance(one, BaseException)]
    assert len(writers) == 1
    assert all(isinstance(one, IndexBusy) for one in begun if isinstance(one, BaseException))
    await writers[0].write(points("book", range(30)))
    await writers[0].publish(manifest("book", 30))
    hits = (await server.index().search(QUERY, None, 50, only("book"))).dense
    assert {hit.chunk_id for hit in hits} == {chunk_id("book", one) for one in range(30)}
    for client in clients:
        await client.close()


async def test_many_books_are_each_found_and_all_in_one_search(server: RealServer) -> None:
    index = server.index()
    for number in range(50):
        await publish(index, f"book-{number}", points(f"book-{number}", range(3)))
    assert len(await index.books()) == 50
    every = (await index.search(QUERY, points("book-7", [1])[0].sparse, 1_000, ALL)).dense
    assert len(every) == 150
    one = SearchFilter(books=(BookId("book-7"),))
    hits = (await index.search(QUERY, None, 9, one)).dense
    assert {hit.chunk_id for hit in hits} == {chunk_id("book-7", n) for n in range(3)}
