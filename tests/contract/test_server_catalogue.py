"""The list of books on a server: only what changed is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_catalogue import Catalogue
from app.adapters.qdrant.server_contents import StoredGenerations
from app.adapters.qdrant.server_records import Records
from app.adapters.qdrant.server_schema import Schema, ServerOptions
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter
from tests.index_points import points, publish

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

COLLECTION, ADDRESS = "textbook~books", "http://localhost"


class CountedReads(Records):
    """Records that count what is read of them."""

    def __init__(self, client: AsyncQdrantClient) -> None:
        super().__init__(client, COLLECTION, ADDRESS)
        self.revisions_read = self.records_read = self.requests = 0

    async def revisions(self, since: int = 0) -> dict[str, str]:
        found = await super().revisions(since)
        self.revisions_read += len(found)
        self.requests += 1
        return found

    async def read_many(self, books: Sequence[BookId]) -> dict[BookId, object]:  # type: ignore[override]
        self.records_read += len(books)
        self.requests += 1
        return await super().read_many(books)  # type: ignore[return-value]


class World:
    """A writer, and a catalogue whose clock the test sets."""

    def __init__(self, client: AsyncQdrantClient) -> None:
        self.client = client
        self.writer = ServerIndex(client, "textbook", ADDRESS)
        self.records = CountedReads(client)
        self.now = 0.0
        schema = Schema(client, "textbook", ServerOptions())
        generations = StoredGenerations(client, schema, self.records)
        self.catalogue = Catalogue(client, self.records, generations, lambda: self.now)

    async def listed(self) -> list[str]:
        return list(await self.catalogue.books())

    async def age(self) -> None:
        """Let every record be an hour old."""
        everything, _ = await self.client.scroll(COLLECTION, limit=1_000)
        for one in everything:
            changed = (one.payload or {}).get("changed")
            if changed:
                old = {"changed": int(changed) - 3_600_000}
                await self.client.set_payload(COLLECTION, old, [one.id])


def play(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        client = AsyncQdrantClient(":memory:")
        try:
            await scenario(World(client))
        finally:
            await client.close()

    asyncio.run(run())


def test_what_changed_is_read_and_not_the_list() -> None:
    async def scenario(world: World) -> None:
        for number in range(40):
            await publish(world.writer, f"book-{number:02}", points(f"book-{number:02}", [1]))
        await world.age()
        await publish(world.writer, "recent", points("recent", [1]))
        assert len(await world.listed()) == 41
        world.records.revisions_read = world.records.records_read = 0
        world.now = 1.0
        await publish(world.writer, "book-07", points("book-07", range(3)))
        await publish(world.writer, "new", points("new", [1]))
        books = await world.catalogue.books()
        assert len(books) == 42
        assert books[BookId("book-07")].manifest.chunks == 3
        assert (world.records.revisions_read, world.records.records_read) == (3, 2)
        world.now = 1.1
        assert await world.catalogue.books() is books

    play(scenario)


def test_a_removed_book_is_gone_at_the_next_look() -> None:
    async def scenario(world: World) -> None:
        for name in ("a", "b", "c"):
            await publish(world.writer, name, points(name, [1]))
        assert await world.listed() == ["a", "b", "c"]
        await world.writer.remove(BookId("b"))
        world.now = 1.0
        assert await world.listed() == ["a", "c"]

    play(scenario)


def test_a_change_by_a_writer_whose_clock_is_an_hour_slow_is_seen_within_a_minute() -> None:
    async def scenario(world: World) -> None:
        for name in ("a", "b"):
            await publish(world.writer, name, points(name, [1]))
        await world.listed()
        await publish(world.writer, "a", points("a", range(4)))
        await world.age()
        world.now = 61.0
        assert (await world.catalogue.books())[BookId("a")].manifest.chunks == 4

    play(scenario)


def test_a_writer_whose_clock_is_fast_hides_no_other_change() -> None:
    async def scenario(world: World) -> None:
        for name in ("a", "b"):
            await publish(world.writer, name, points(name, [1]))
        found, _ = await world.client.scroll(
            COLLECTION, models.Filter(must=[models.HasIdCondition(has_id=await ids(world, "a"))])
        )
        ahead = {"changed": 99_999_999_999_999}
        await world.client.set_payload(COLLECTION, ahead, [one.id for one in found])
        await world.listed()
        await publish(world.writer, "b", points("b", range(4)))
        world.now = 1.0
        assert (await world.catalogue.books())[BookId("b")].manifest.chunks == 4

    play(scenario)


async def ids(world: World, book: str) -> list[models.ExtendedPointId]:
    everything, _ = await world.client.scroll(COLLECTION, limit=1_000)
    return [
        one.id
        for one in everything
        if (one.payload or {}).get("book") == book and "revision" in (one.payload or {})
    ]


def test_named_books_are_looked_up_in_one_request() -> None:
    async def scenario(world: World) -> None:
        names = [BookId(f"book-{number}") for number in range(9)]
        for name in names:
            await publish(world.writer, name, points(name, [1]))
        world.records.requests = 0
        assert len(await world.catalogue.served(names)) == 9
        assert world.records.requests == 1

    play(scenario)


def test_scores_over_many_books_are_those_of_one_sum_however_books_come_and_go() -> None:
    """More books than are summed for each question."""

    async def scenario(world: World) -> None:
        asked = points("book-3", [1])[0].sparse
        made = {f"book-{number}": points(f"book-{number}", range(3)) for number in range(70)}
        for name, one in made.items():
            await publish(world.writer, name, one)

        async def scores() -> list[float]:
            found = await world.writer.search(None, asked, 9, SearchFilter())
            return [hit.score for hit in found.sparse]

        before = await scores()
        await publish(world.writer, "more", points("more", range(8)))
        await publish(world.writer, "book-9", points("book-9", range(5)))
        assert await scores() != before
        await world.writer.remove(BookId("more"))
        await world.writer.rollback(BookId("book-9"))
        assert await scores() == before
        fresh = ServerIndex(world.client, "textbook", ADDRESS)
        found = await fresh.search(None, asked, 9, SearchFilter())
        assert [hit.score for hit in found.sparse] == before

    play(scenario)
