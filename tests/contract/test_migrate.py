"""Books move from the embedded index to a server with their vectors, and are compared there."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.server import ServerIndex
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, StorageError
from app.domain.retrieval.query import SearchFilter, SparseVector
from app.services.migrate import MigrateBooks, Migrated
from app.services.phases import Phases
from app.services.ports import IndexPoint
from tests.command_line import runner
from tests.index_points import (
    points,
    publish,
    quick_folder,
    random_sparse,
    random_vector,
)
from tests.serving import Silent

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

Scenario: TypeAlias = Callable[[EdgeIndex, ServerIndex], Awaitable[None]]
SIZES = {"lamps": 30, "other": 20}


def phases() -> Phases:
    return Phases(Silent())


@asynccontextmanager
async def indexes(sizes: Mapping[str, int]) -> AsyncIterator[tuple[EdgeIndex, ServerIndex]]:
    client = AsyncQdrantClient(":memory:")
    try:
        with quick_folder() as home:
            source = EdgeIndex(home)
            for book, size in sizes.items():
                made = points(book, range(size))
                # A chunk without terms, and one with a vector that is not of length 1.
                made[3] = replace(made[3], sparse=SparseVector((), ()))
                await publish(source, book, made)
            yield source, ServerIndex(client, "textbook", "http://localhost:6333")
    finally:
        await client.close()


def play(scenario: Scenario, sizes: Mapping[str, int] = SIZES) -> None:
    async def run() -> None:
        async with indexes(sizes) as (source, target):
            await scenario(source, target)

    asyncio.run(run())


async def all_points(index: EdgeIndex | ServerIndex, book: str) -> list[IndexPoint]:
    return [point async for page in (await index.snapshot(BookId(book))).pages for point in page]


def test_points_come_back_in_reading_order_with_their_vectors() -> None:
    async def scenario(source: EdgeIndex, target: ServerIndex) -> None:
        sent = {one.chunk.chunk_id: one for one in points("lamps", range(1_100))}
        got = await all_points(source, "lamps")
        assert {one.chunk.chunk_id for one in got} == sent.keys()
        places = [(one.chunk.position, one.chunk.chunk_index) for one in got]
        assert places == sorted(places)
        for one in got:
            assert one.chunk == sent[one.chunk.chunk_id].chunk
            length = sum(value * value for value in one.dense) ** 0.5
            assert length == pytest.approx(1.0, abs=1e-5)
        (without,) = [one for one in got if not one.sparse.indices]
        assert without.chunk.chunk_index == 3
        with pytest.raises(BookNotFound):
            await all_points(source, "nobook")

    play(scenario, {"lamps": 1_100})


def test_every_book_arrives_whole_and_finds_the_same() -> None:
    async def scenario(source: EdgeIndex, target: ServerIndex) -> None:
        done = await MigrateBooks(source, target).run([], phases())
        assert done == [
            Migrated(BookId(book), size, 1, copied=True) for book, size in sizes.items()
        ]
        chance = random.Random(4)
        for book in sizes:
            here, there = await all_points(source, book), await all_points(target, book)
            assert [one.chunk for one in here] == [one.chunk for one in there]
            for _ in range(10):
                query = random_vector(chance), random_sparse(chance)
                asked = SearchFilter(books=(BookId(book),))
                ours = await source.search(*query, 10, asked)
                theirs = await target.search(*query, 10, asked)
                assert [hit.chunk_id for hit in ours.dense] == [
                    hit.chunk_id for hit in theirs.dense
                ]
                assert [hit.score for hit in ours.sparse] == pytest.approx(
                    [hit.score for hit in theirs.sparse], abs=1e-4
                )
        manifests = [await source.manifest(BookId("lamps")), await target.manifest(BookId("lamps"))]
        assert None not in manifests
        mine, its = (replace(one, size_bytes=0) for one in manifests if one)
        assert mine == its

    sizes = {"lamps": 300, "other": 20}  # more than a page of the server's, and fewer
    play(scenario, sizes)


def test_a_book_that_is_there_already_is_compared_and_not_copied() -> None:
    async def scenario(source: EdgeIndex, target: ServerIndex) -> None:
        use_case = MigrateBooks(source, target)
        await use_case.run([BookId("other")], phases())
        assert await use_case.run([BookId("other")], phases()) == [
            Migrated(BookId("other"), 20, 1, copied=False)
        ]
        assert [*await target.books()] == ["other"]

    play(scenario)


def test_a_copy_that_differs_on_the_server_is_made_again() -> None:
    async def scenario(source: EdgeIndex, target: ServerIndex) -> None:
        await publish(target, "other", points("other", range(20), version="v2"))
        await target._client.set_payload("textbook~8", {"text_content": "x"}, models.Filter())
        done = await MigrateBooks(source, target).run([BookId("other")], phases())
        assert done == [Migrated(BookId("other"), 20, 2, copied=True)]
        assert {one.chunk.book_version for one in await all_points(target, "other")} == {"v1"}

    play(scenario)


def test_an_unknown_book_is_refused_before_anything_is_copied() -> None:
    async def scenario(source: EdgeIndex, target: ServerIndex) -> None:
        with pytest.raises(BookNotFound, match=r"'nobook'.*lamps, other"):
            await MigrateBooks(source, target).run([BookId("other"), BookId("nobook")], phases())
        assert not await target.books()

    play(scenario)


class Lossy(ServerIndex):
    """What it gives back is not what it was given."""

    async def faults(self, book: BookId, *, full: bool = False) -> list[str]:
        return [f"{book}: chunks differ"] if full else await super().faults(book)


@pytest.mark.parametrize("had", [True, False])
def test_a_difference_leaves_the_server_as_it_was(had: bool) -> None:
    async def scenario(source: EdgeIndex, target: ServerIndex) -> None:
        if had:
            await publish(target, "other", points("other", range(5), version="v0"))
        lossy = Lossy(target._client, "textbook", "http://localhost:6333")
        with pytest.raises(StorageError, match=r"other: chunks differ; .*run migrate again"):
            await MigrateBooks(source, lossy).run([BookId("other")], phases())
        assert [one.chunks for one in (await target.books()).named()] == ([5] if had else [])

    play(scenario)


def test_the_command_needs_the_servers_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(tmp_path, monkeypatch, capsys)
    result = run("migrate")
    assert result.code == 2
    assert "QDRANT_URL" in result.err
    unreachable = run("migrate", QDRANT_URL="http://127.0.0.1:9")
    assert (unreachable.code, unreachable.err.strip()) == (
        0,
        "no book is indexed yet: run `textbook-rag ingest BOOK_DIR` first",
    )
