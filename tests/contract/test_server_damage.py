"""A Qdrant server that lost or altered what was published, with the engine of its client."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.server import ServerIndex
from app.domain.book_id import BookId
from app.domain.errors import StorageError
from tests.command_line import Run
from tests.index_points import DIMENSION, points, publish, vector
from tests.index_stores import QUERY, MemoryClient, only
from tests.ingesting import make_book
from tests.serving import connected, offline_settings

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

URL, BOOK, STORED = "http://localhost:6333", BookId("book"), f"textbook~{DIMENSION}"
Damage = Callable[[AsyncQdrantClient, list[models.ExtendedPointId]], Coroutine[None, None, object]]


def turned(ids: list[models.ExtendedPointId]) -> list[models.PointVectors]:
    return [models.PointVectors(id=one, vector={"dense": [0.0] * DIMENSION}) for one in ids]


LOST: dict[str, Damage] = {
    "half deleted": lambda client, ids: client.delete(STORED, ids[::2]),
    "all deleted": lambda client, ids: client.delete(STORED, ids),
    "collection gone": lambda client, _: client.delete_collection(STORED),
}
ALTERED: dict[str, Damage] = {
    "texts altered": lambda client, ids: client.set_payload(STORED, {"chunk": "x"}, ids),
    "one file altered": lambda client, ids: client.set_payload(STORED, {"file": "x"}, ids[:1]),
    "vectors zeroed": lambda client, ids: client.update_vectors(STORED, turned(ids)),
    "terms lost": lambda client, ids: client.delete_vectors(STORED, ["bm25"], ids),
}


async def ids(client: AsyncQdrantClient, name: str = STORED) -> list[models.ExtendedPointId]:
    return [one.id for one in (await client.scroll(name, limit=1_000))[0]]


async def found(index: ServerIndex) -> set[str]:
    return {str(hit.book) for hit in (await index.search(QUERY, None, 100, only(BOOK))).dense}


@pytest.mark.parametrize("name", [*LOST, *ALTERED])
async def test_damage_is_named_and_mended_by_the_next_ingest(name: str) -> None:
    """A book that lost points is not answered from either."""
    client, now = MemoryClient(), 0.0
    reader = ServerIndex(client, "textbook", URL, clock=lambda: now)
    await publish(reader, "book", points("book", range(40)))
    other = [
        type(one)(one.chunk, vector(1.0, 2.0), one.sparse) for one in points("other", range(9))
    ]
    await publish(reader, "other", other)
    await (LOST | ALTERED)[name](client, await ids(client))
    (fault,) = await reader.faults(BOOK)
    assert name == "collection gone" or "book generation 1: it has " in fault
    assert await reader.faults(BookId("other")) == []
    now = 20.0
    await reader.check()
    assert list(await reader.damaged()) == (["book"] if name in LOST else [])
    if name in LOST:
        assert list(await reader.books()) == ["other"]
        with pytest.raises(StorageError, match=r"ingest the book again|textbook~8"):
            await found(reader)
    await publish(reader, "book", points("book", range(40)))
    now = 30.0
    assert await found(reader) == {"book"}
    assert (await reader.damaged(), await reader.faults(BOOK)) == ({}, [])


@pytest.mark.parametrize("damaged", ["current", "previous"])
async def test_a_damaged_generation_is_not_gone_back_to_and_not_kept(damaged: str) -> None:
    client = MemoryClient()
    index = ServerIndex(client, "textbook", URL)
    await publish(index, "book", points("book", range(40)))
    first = await ids(client)
    await publish(index, "book", points("book", range(30)))
    if damaged == "current":
        await client.delete(STORED, [one for one in await ids(client) if one not in first])
        assert (await index.rollback(BOOK)).generation == 1
        assert await index.faults(BOOK) == await index.faults(BOOK, previous=True) == []
        return
    await client.delete(STORED, first[:9])
    with pytest.raises(StorageError, match="generation 1: it has 31 of 40 chunks"):
        await index.rollback(BOOK)
    assert (await index.books())[BOOK].generation == 2


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> AsyncQdrantClient:
    """What every command and server of the test uses for QDRANT_URL; it stays open."""
    client = MemoryClient()
    monkeypatch.setattr(client, "close", AsyncMock())
    opened = lambda *_, **__: client  # noqa: E731
    monkeypatch.setattr("app.adapters.qdrant.server_client.server_client", opened)
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
        stored = "textbook~256"
        half = asyncio.run(ids(client, stored))[::2]
        asyncio.run(client.delete(stored, half))
        assert reader.get("/readyz").status_code == 503
        assert reader.post("/v1/chat", json=question).status_code == 503
        assert reader.get("/v1/books").json()["quarantined"] == ["lamps"]
        checked = run("verify", QDRANT_URL=URL)
        assert checked.code == 1
        assert "lamps index: damaged" in checked.out
        mended = run("ingest", lamps, QDRANT_URL=URL)
        assert "damaged, written anew" in mended.err
        assert "0 embedded" in mended.out
        assert run("verify", QDRANT_URL=URL).code == 0
        assert reader.get("/readyz").status_code == 200
        after = reader.post("/v1/chat", json=question).json()
        assert after["citations"] == answer["citations"]
