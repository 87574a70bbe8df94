"""What the index does when a real Qdrant server fails; QDRANT_TEST_BINARY names the program."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import server_client
from app.domain.book_id import BookId
from app.domain.errors import StorageError
from tests.conftest import ROOT
from tests.index_points import DIMENSION, ids, manifest, points, publish
from tests.index_stores import ALL, QUERY, fails, found, only
from tests.qdrant_process import BINARY, NO_BINARY, QdrantNode, free_urls

pytestmark = pytest.mark.filterwarnings(
    "ignore:Api key is used with an insecure connection:UserWarning"
)
if not BINARY:
    pytest.skip(NO_BINARY, allow_module_level=True)

BOOK = BookId("book")


@asynccontextmanager
async def index_on(folder: Path, **settings: str) -> AsyncIterator[tuple[ServerIndex, QdrantNode]]:
    (url,) = free_urls()
    made = QdrantNode(BINARY, url, folder, settings=settings)
    try:
        made.start()
        made.wait()
        client = server_client(url, None)
        yield ServerIndex(client, "test", url), made
        await client.close()
    finally:
        made.stop(signal.SIGKILL)


async def test_a_server_that_is_down_at_the_start_is_used_once_it_is_up(tmp_path: Path) -> None:
    async with index_on(tmp_path) as (index, server):
        server.stop()
        await fails(StorageError, index.check(), "cannot reach Qdrant", server.url)
        await fails(StorageError, index.search(QUERY, None, 5, ALL), "cannot reach Qdrant")
        server.start()
        server.wait()
        await index.check()
        await publish(index, "book", points("book", range(5)))
        assert await found(index, only(BOOK)) == ids(*range(5))


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM])
async def test_an_ingest_survives_or_is_refused_when_the_server_restarts(
    tmp_path: Path, kind: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.adapters.qdrant.server_client.WRITE_SECONDS", 1.0)
    async with index_on(tmp_path) as (index, server):
        await publish(index, "book", points("book", range(50)))
        # Between two batches: what was acknowledged is there.
        writer = await index.begin(BOOK, DIMENSION)
        await writer.write(points("book", range(40)))
        server.stop(kind)
        late = points("book", range(40, 60))
        await fails(StorageError, writer.write(late), "cannot reach Qdrant")
        # Back within the time that a write is sent again for.
        monkeypatch.setattr("app.adapters.qdrant.server_client.WRITE_SECONDS", 60.0)
        waiting = asyncio.create_task(writer.write(late))
        await asyncio.sleep(0)
        server.start()
        await waiting
        monkeypatch.setattr("app.adapters.qdrant.server_client.WRITE_SECONDS", 1.0)
        assert await found(index, only(BOOK)) == ids(*range(50))
        await writer.publish(manifest("book", 60))
        assert await found(index, only(BOOK)) == ids(*range(60))
        # Down at the end: the old generation answers, the next run clears what is left.
        writer = await index.begin(BOOK, DIMENSION)
        await writer.write(points("book", range(30)))
        server.stop(kind)
        await fails(StorageError, writer.publish(manifest("book", 30)), "cannot reach Qdrant")
        server.start()
        server.wait()
        await writer.abandon()
        assert await found(index, only(BOOK)) == ids(*range(60))
        assert not await index.faults(BOOK)


@pytest.mark.parametrize("disk", [400], indirect=True)
async def test_a_full_disk_refuses_an_ingest_and_the_old_generation_answers(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a longer time the server makes room by emptying its log, and the ingest gets through.
    monkeypatch.setattr("app.adapters.qdrant.server_client.WRITE_SECONDS", 1.0)
    small = {"QDRANT__STORAGE__WAL__WAL_CAPACITY_MB": "1"}
    async with index_on(disk / "qdrant", **small) as (index, server):
        await publish(index, "book", points("book", range(20)))
        filler = disk / "filler"
        stat = os.statvfs(disk)
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, stat.f_bavail * stat.f_frsize - 2**20)

        async def ingest() -> None:
            writer = await index.begin(BOOK, DIMENSION)
            try:
                for start in range(0, 5_000, 250):
                    await writer.write(points("book", range(start, start + 250)))
                await writer.publish(manifest("book", 5_000))
            finally:
                await writer.abandon()

        await fails(StorageError, ingest(), server.url)
        filler.unlink()
        if not server.answers("/healthz"):  # a write into a full disk may end the server
            server.stop(signal.SIGKILL)
            server.start()
            server.wait()
        assert await found(index, only(BOOK)) == ids(*range(20))
        await publish(index, "book", points("book", range(30)))
        assert await found(index, only(BOOK)) == ids(*range(30))


def test_a_cluster_answers_and_publishes_while_nodes_are_lost() -> None:
    """One round of the benchmark: its exit code is 1 after any failed or wrong search."""
    command = [sys.executable, "scripts/bench/cluster.py", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
