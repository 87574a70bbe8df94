"""A Qdrant server that lost or altered what was published, with the engine of its client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import Nodes
from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.settings import Settings
from tests.command_line import Run
from tests.index_points import DIMENSION, points, publish, vector
from tests.index_stores import QUERY, MemoryClient, only
from tests.ingesting import make_book
from tests.serving import connected, offline_settings

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

URL, BOOKS = "http://localhost:6333", "textbook~books"
BOOK = BookId("book")
Damage = Callable[[AsyncQdrantClient, str], Coroutine[None, None, object]]


def in_memory() -> AsyncQdrantClient:
    """The client's engine, called as a server is: errors are translated."""

    async def ready(_: str) -> bool:
        return True

    return cast("AsyncQdrantClient", Nodes({URL: MemoryClient()}, ready))


async def ids(client: AsyncQdrantClient, name: str) -> list[models.ExtendedPointId]:
    return [one.id for one in (await client.scroll(name, limit=1_000))[0]]


async def delete_half(client: AsyncQdrantClient, name: str) -> None:
    await client.delete(name, (await ids(client, name))[::2])


async def delete_all(client: AsyncQdrantClient, name: str) -> None:
    await client.delete(name, await ids(client, name))


async def alter_texts(client: AsyncQdrantClient, name: str) -> None:
    await client.set_payload(name, {"text_content": "x"}, await ids(client, name))


async def zero_vectors(client: AsyncQdrantClient, name: str) -> None:
    zeros = {"dense": [0.0] * int(name.rpartition("~")[2])}
    made = [models.PointVectors(id=one, vector=zeros) for one in await ids(client, name)]
    await client.update_vectors(name, made)


async def lose_terms(client: AsyncQdrantClient, name: str) -> None:
    await client.delete_vectors(name, ["bm25"], await ids(client, name))


DAMAGES: dict[str, Damage] = {
    "half deleted": delete_half,
    "all deleted": delete_all,
    "collection gone": lambda client, name: client.delete_collection(name),
    "texts altered": alter_texts,
    "vectors zeroed": zero_vectors,
    "terms lost": lose_terms,
}


async def found(index: ServerIndex, *books: str) -> set[str]:
    hits = (await index.search(QUERY, None, 100, only(*books))).dense
    return {str(hit.book) for hit in hits}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_book_is_set_aside_named_and_mended_by_the_next_ingest(
    damage: Damage,
) -> None:
    client, now = in_memory(), 0.0
    open_reader = ServerIndex(client, "textbook", URL, clock=lambda: now)
    writer = ServerIndex(client, "textbook", URL)
    await publish(writer, "book", points("book", range(40)))
    other = [
        type(one)(one.chunk, vector(1.0, 2.0), one.sparse) for one in points("other", range(9))
    ]
    await publish(writer, "other", other)
    assert await found(open_reader, "book") == {"book"}
    await damage(client, f"textbook~{DIMENSION}")
    now = 20.0
    for reader in (open_reader, ServerIndex(client, "textbook", URL)):
        await reader.check()
        assert list(await reader.books()) == ["other"]
        assert list(await reader.damaged()) == ["book"]
        with pytest.raises(StorageError, match=r"book generation 1: .*ingest the book again"):
            await found(reader, "book")
        assert await reader.faults(BOOK)
        assert await reader.faults(BookId("other")) == []
    await publish(writer, "book", points("book", range(40)))
    now = 30.0
    assert await found(open_reader, "book") == {"book"}
    assert await open_reader.damaged() == {}
    assert await open_reader.faults(BOOK, full=True) == []


async def test_every_point_is_compared_in_full() -> None:
    client = in_memory()
    index = ServerIndex(client, "textbook", URL)
    await publish(index, "book", points("book", range(300)))
    assert await index.faults(BOOK, full=True) == []
    one = (await ids(client, f"textbook~{DIMENSION}"))[:1]
    await client.set_payload(f"textbook~{DIMENSION}", {"text_content": "x"}, one)
    (fault,) = await index.faults(BOOK, full=True)
    assert "1 of 300 chunks differ" in fault or "read back differ" in fault


async def test_a_damaged_generation_is_not_gone_back_to() -> None:
    client = in_memory()
    index = ServerIndex(client, "textbook", URL)
    await publish(index, "book", points("book", range(40)))
    first = await ids(client, f"textbook~{DIMENSION}")
    await publish(index, "book", points("book", range(30)))
    await client.delete(f"textbook~{DIMENSION}", first[:9])
    with pytest.raises(StorageError, match="generation 1: it has 31 of 40 chunks"):
        await index.rollback(BOOK)
    assert (await index.books())[BOOK].generation == 2


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> AsyncQdrantClient:
    """What every command and server of the test uses for QDRANT_URL."""
    client = in_memory()

    @asynccontextmanager
    async def opened(_settings: Settings, _url: str) -> AsyncIterator[AsyncQdrantClient]:
        yield client

    monkeypatch.setattr("app.bootstrap.storage._client", opened)
    monkeypatch.setenv("QDRANT_URL", URL)
    return client


def test_a_server_refuses_a_damaged_book_until_it_is_ingested_again(
    client: AsyncQdrantClient, run: Run, home: Path, tmp_path: Path
) -> None:
    lamps = make_book(tmp_path / "lamps", 2)
    question = {"question": "page0 part0", "book": "lamps"}
    assert run("ingest", lamps, QDRANT_URL=URL).code == 0
    settings = offline_settings(home / "state", qdrant_url=URL)
    with connected(settings) as reader:
        answer = reader.post("/v1/chat", json=question).json()
        assert answer["confidence"] == "answered"
        asyncio.run(delete_half(client, "textbook~256"))
        assert reader.get("/readyz").status_code == 503
        assert reader.post("/v1/chat", json=question).status_code == 503
        assert reader.get("/v1/books").json()["quarantined"] == ["lamps"]
        checked = run("verify", QDRANT_URL=URL)
        assert checked.code == 1
        assert "lamps index: damaged" in checked.out
        mended = run("ingest", lamps, QDRANT_URL=URL)
        assert "damaged, written anew" in mended.err
        assert "0 were embedded" in mended.out
        assert run("verify", "--full", QDRANT_URL=URL).code == 0
        assert reader.get("/readyz").status_code == 200
        after = reader.post("/v1/chat", json=question).json()
        assert after["citations"] == answer["citations"]
