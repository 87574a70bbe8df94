"""The list of books on a server, of which only what changed is read again."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server import ServerIndex
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter
from tests.index_points import points, publish
from tests.index_stores import index_of, memory_client

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

COLLECTION, ADDRESS = "textbook~books", "http://localhost"


class World:
    """A writer, and a reader whose clock the test sets."""

    def __init__(self, client: AsyncQdrantClient) -> None:
        self.client = client
        self.writer = index_of(client)
        self.now = 0.0
        self.reader = ServerIndex(client, "textbook", ADDRESS, clock=lambda: self.now)

    async def listed(self) -> dict[str, int]:
        """The number of chunks of each book."""
        return {one.book: one.chunks for one in (await self.reader.books()).named()}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with memory_client() as client:
        yield World(client)


async def test_new_and_changed_books_are_seen_beside_old_ones(world: World) -> None:
    for number in range(40):
        await publish(world.writer, f"book-{number:02}", points(f"book-{number:02}", [1]))
    assert len(await world.listed()) == 40
    world.now = 1.0
    await publish(world.writer, "book-07", points("book-07", range(3)))
    await publish(world.writer, "new", points("new", [1]))
    listed = await world.listed()
    assert (len(listed), listed["book-07"], listed["book-08"]) == (41, 3, 1)


async def test_a_removed_book_is_gone_at_the_next_look(world: World) -> None:
    for name in ("a", "b", "c"):
        await publish(world.writer, name, points(name, [1]))
    assert [*await world.listed()] == ["a", "b", "c"]
    await world.writer.remove(BookId("b"))
    world.now = 1.0
    assert [*await world.listed()] == ["a", "c"]


async def test_scores_over_many_books_are_those_of_one_sum_however_books_come_and_go(
    world: World,
) -> None:
    """More books than are summed for each question."""

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
