"""Several writers and readers of one server: who may write, what the others see, and when."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.payload import LAYOUT
from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import server_client
from app.adapters.qdrant.server_points import ServerStore
from app.adapters.qdrant.server_records import LEASE_SECONDS, BookRecord, Lease, Records
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexBusy, StorageError
from tests.index_points import DIMENSION, chunk_id, ids, manifest, points, publish
from tests.index_stores import (
    ALL,
    NOT_RUN,
    QUERY,
    URL,
    fails,
    found,
    index_of,
    memory_client,
    only,
    real_server,
)

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")


@pytest.fixture
async def client() -> AsyncIterator[AsyncQdrantClient]:
    async with memory_client() as opened:
        yield opened


def records_of(client: AsyncQdrantClient) -> Records:
    return Records(ServerStore(client, "textbook", "http://localhost"))


async def test_a_run_that_was_taken_over_publishes_nothing_and_deletes_nothing(
    client: AsyncQdrantClient,
) -> None:
    index, records = index_of(client), records_of(client)
    silent = await index.begin(BookId("book"), DIMENSION)
    await silent.write(points("book", [1]))
    held = await records.read(BookId("book"))
    assert held.lease
    dead = replace(held.lease, holder="elsewhere", seen_at=0.0)
    await records.put(held, replace(held, lease=dead))
    other = await index.begin(BookId("book"), DIMENSION)
    await other.write(points("book", [2, 3]))
    await silent.write(points("book", [4]))
    with pytest.raises(StorageError):
        await silent.publish(manifest("book", 2))
    await silent.abandon()
    assert (await other.publish(manifest("book", 2))).generation == 1
    assert await found(index) == ids(2, 3)


async def test_a_record_is_written_only_as_it_was_read(client: AsyncQdrantClient) -> None:
    """A write that is overtaken by a `remove` would bring back a book without chunks."""
    index, records = index_of(client), records_of(client)
    await publish(index, "other", points("other", [1]))
    for book in (BookId("other"), BookId("new")):
        read = await records.read(book)
        await records.put(read, read)
        await fails(IndexBusy, records.put(read, read), "changed by another run just now")
    record = await records.read(BookId("other"))
    await index.remove(BookId("other"))
    await fails(IndexBusy, records.put(record, replace(record, lease=Lease())))
    assert not await index_of(client).books()


@pytest.mark.parametrize("held", [True, False])
async def test_an_unfinished_generation_is_cleared_away_only_when_its_writer_is_dead(
    client: AsyncQdrantClient, held: bool
) -> None:
    index, records = index_of(client), records_of(client)
    await publish(index, "other", points("other", [1]))
    unfinished = await index.begin(BookId("book"), DIMENSION)
    await unfinished.write(points("book", [1]))
    record = await records.read(BookId("book"))
    age = LEASE_SECONDS / 2 if held else LEASE_SECONDS
    lease = Lease("process 7 on elsewhere, started 2026", time.time() - age)
    await records.put(record, replace(record, lease=lease))
    if held:
        with pytest.raises(IndexBusy, match=r"process 7 on elsewhere, started 20.* in 60 s"):
            await index.begin(BookId("book"), DIMENSION)
    else:
        await index.begin(BookId("book"), DIMENSION)
    assert (await client.count("textbook~8")).count == (2 if held else 1)


async def test_another_process_sees_a_switch_half_a_second_later(client: AsyncQdrantClient) -> None:
    now = 0.0
    writer = index_of(client)
    reader = ServerIndex(client, "textbook", "http://localhost", clock=lambda: now)
    book = only("book")

    async def seen() -> set[str]:
        each = [(await reader.search(QUERY, None, 9, scope)).dense for scope in (book, ALL)]
        assert each[0] == each[1]
        return {hit.chunk_id for hit in each[0]}

    await publish(writer, "book", points("book", [1]))
    assert await seen() == ids(1)
    await publish(writer, "book", points("book", [2]))
    now = 0.4
    assert await seen() == ids(1)
    now = 0.6
    assert await seen() == ids(2)
    await writer.remove(BookId("book"))
    await publish(writer, "book", points("book", [3]))
    now = 20.0
    assert [one.chunks for one in (await reader.books()).named()] == [1]
    assert await seen() == ids(3)
    await writer.remove(BookId("book"))
    now = 21.0
    with pytest.raises(BookNotFound):
        await seen()


async def test_a_switch_is_not_missed_when_the_look_at_it_is_cancelled(
    client: AsyncQdrantClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    reader = ServerIndex(client, "textbook", "http://localhost", clock=lambda: now)
    await publish(index_of(client), "book", points("book", [1]))
    assert await found(reader) == ids(1)
    await publish(index_of(client), "book", points("book", [2]))
    now = 1.0
    monkeypatch.setattr(client, "facet", AsyncMock(side_effect=asyncio.CancelledError))
    with pytest.raises(asyncio.CancelledError):
        await found(reader)
    monkeypatch.undo()
    assert await found(reader) == ids(2)


async def test_a_reader_whose_generation_was_deleted_looks_again(client: AsyncQdrantClient) -> None:
    """Two switches within the half second in which a reader does not look."""

    writer = index_of(client)
    reader = ServerIndex(client, "textbook", "http://localhost", clock=lambda: 0.0)
    scopes = (ALL, only("book"))
    await publish(writer, "book", points("book", [1]))
    for number, scope in enumerate(scopes):
        await reader.search(QUERY, None, 9, scope)
        for more in (2, 3):
            await publish(writer, "book", points("book", [more + 10 * number]))
        found = (await reader.search(QUERY, None, 9, scope)).dense
        assert [hit.chunk_id for hit in found] == [chunk_id("book", 3 + 10 * number)]


async def test_a_manifest_of_another_layout_is_a_clear_error_and_leaves_other_books_alone(
    client: AsyncQdrantClient,
) -> None:
    index = index_of(client)
    await publish(index, "broken", points("broken", [1]))
    await client.set_payload("textbook~books", {"layout": 0}, models.Filter())
    with pytest.raises(StorageError, match=f"broken: not an index of layout {LAYOUT}"):
        await index.check()
    await publish(index, "book", points("book", [1]))
    await index.check()
    assert [*await index.books()] == ["book"]
    assert list(await index.damaged()) == ["broken"]
    found = await index.search(QUERY, None, 5, ALL)
    assert [hit.book for hit in found.dense] == ["book"]
    with pytest.raises(StorageError):
        await index.search(QUERY, None, 5, only("broken"))
    faults = await index.faults(BookId("broken"))
    assert [f"not an index of layout {LAYOUT}" in line for line in faults] == [True]
    await publish(index, "broken", points("broken", [2]))
    await index.check()
    assert await index.damaged() == {}


async def test_nothing_is_left_of_a_removed_book_or_run(client: AsyncQdrantClient) -> None:
    index = index_of(client)
    for edition in ("v1", "v2", "v3"):
        await publish(index, "book", points("book", range(5), version=edition))
    assert (await client.count("textbook~8")).count == 10
    assert (await client.count("textbook~books")).count == 1
    await index.remove(BookId("book"))
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", [1]))
    await writer.abandon()
    assert (await client.count("textbook~8")).count == 0
    assert (await client.count("textbook~books")).count == 0


@pytest.mark.parametrize("is_read_back", [True, False])
async def test_a_publication_whose_answer_is_lost_stays_published(
    client: AsyncQdrantClient, is_read_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write was applied, then the node was gone: neither the run nor its end undoes it."""
    index = index_of(client)
    await publish(index, "book", points("book", [1]))
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", [2, 3]))
    upsert = client.upsert
    # As `server_client` reports a lost connection.
    gone = AsyncMock(side_effect=StorageError("cannot reach Qdrant"))

    async def upsert_and_fail(name: str, **arguments: Any) -> None:
        await upsert(name, **arguments)
        for method in ["upsert"] if is_read_back else ["upsert", "retrieve"]:
            monkeypatch.setattr(client, method, gone)
        await gone()

    monkeypatch.setattr(client, "upsert", upsert_and_fail)
    if is_read_back:
        await writer.publish(manifest("book", 2))
    else:
        with pytest.raises(StorageError, match="may have been published"):
            await writer.publish(manifest("book", 2))
    await writer.abandon()
    monkeypatch.undo()
    assert [one.generation for one in (await index_of(client).books()).named()] == [2]
    assert await found(index_of(client)) == ids(2, 3)


async def test_a_write_that_another_follows_before_it_is_read_back_counts(
    client: AsyncQdrantClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publication, then at once an ingest of the same book by another process."""
    index = index_of(client)
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", [1]))
    upsert = client.upsert

    async def upsert_and_be_followed(name: str, **arguments: Any) -> None:
        await upsert(name, **arguments)
        monkeypatch.undo()
        await index_of(client).begin(BookId("book"), DIMENSION)

    monkeypatch.setattr(client, "upsert", upsert_and_be_followed)
    assert (await writer.publish(manifest("book", 1))).generation == 1


async def test_a_publication_that_a_copy_behind_does_not_show_yet_counts(
    client: AsyncQdrantClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reads after the write of the record come from a copy that lacks it."""
    index = index_of(client)
    await publish(index, "book", points("book", [1]))
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", [2, 3]))
    behind = await records_of(client).read(BookId("book"))
    read, stale = Records.read, [behind, behind]

    async def read_behind(records: Records, book: BookId) -> BookRecord:
        return stale.pop() if stale else await read(records, book)

    monkeypatch.setattr(Records, "read", read_behind)
    assert (await writer.publish(manifest("book", 2))).generation == 2
    monkeypatch.undo()
    await writer.abandon()
    assert await found(index_of(client)) == ids(2, 3)


@pytest.mark.skipif(not URL, reason=NOT_RUN)
async def test_of_many_writers_of_one_book_one_is_admitted() -> None:
    """Each as another machine: a client of its own, all at the same time."""
    async with real_server() as server, AsyncExitStack() as stack:
        await publish(server.index(), "other", points("other", [1]))
        clients = [server_client(server.url, None) for _ in range(8)]
        for one in clients:
            stack.push_async_callback(one.close)
        begun = await asyncio.gather(
            *(server.index(one).begin(BookId("book"), DIMENSION) for one in clients),
            return_exceptions=True,
        )
        refused = [one for one in begun if isinstance(one, IndexBusy)]
        (writer,) = (one for one in begun if not isinstance(one, BaseException))
        assert len(refused) == 7
        await writer.write(points("book", range(30)))
        await writer.publish(manifest("book", 30))
        assert await found(server.index(), only("book")) == ids(*range(30))
