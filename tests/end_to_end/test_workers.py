"""`serve` with RAG_WORKERS: several processes, one address, one index on a server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import signal
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.command_line import Run
from tests.index_stores import NOT_RUN, URL, real_server
from tests.ingesting import edit, make_book
from tests.served_process import Served, served_process
from tests.serving import ingested

WORKERS = 4
needs_server = pytest.mark.skipif(not URL, reason=NOT_RUN)


def test_several_workers_with_the_embedded_index_are_refused_in_one_line(run: Run) -> None:
    refused = run("serve", RAG_WORKERS="4")
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert "4 workers need a Qdrant server" in refused.err
    assert "set QDRANT_URL" in refused.err


def asked(connection: HTTPConnection, question: str) -> str:
    """The text of the best hits, from the worker of this connection."""
    body = json.dumps({"question": question})
    connection.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status == 200, text
    return text


def worker_of(connection: HTTPConnection) -> str:
    """The process of this connection."""
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    (pid,) = re.findall(r'^textbook_rag_process\{pid="(\d+)"', text, re.M)
    return str(pid)


def await_workers(served: Served, count: int) -> None:
    """Wait until the log has the start of so many workers."""
    while served.log.read_text().count('"serve.started"') < count:
        time.sleep(0.05)


def one_of_each(served: Served, count: int) -> dict[str, HTTPConnection]:
    """A connection to each worker: the system gives new ones to whichever accepts first."""
    # All stay open, so that the workers that have some are busier.
    opened = [served.http() for _ in range(100 * count)]
    found = {worker_of(connection): connection for connection in opened}
    for connection in {*opened} - {*found.values()}:
        connection.close()
    assert len(found) == count
    return found


@needs_server
@pytest.mark.timeout(300)
def test_every_worker_sees_a_new_generation_and_a_dead_one_is_replaced(home: Path) -> None:
    prefix = f"test-{secrets.token_hex(4)}"
    place = {"qdrant_url": URL, "qdrant_collection_prefix": prefix}
    book = make_book(home / "lamps", pages=2)
    try:
        settings = ingested(home / "state", book, **place)
        environment = {"QDRANT_URL": URL, "RAG_QDRANT_COLLECTION_PREFIX": prefix}
        with served_process(settings.home, None, RAG_WORKERS=str(WORKERS), **environment) as served:
            await_workers(served, WORKERS)
            connections = one_of_each(served, WORKERS)
            for number in range(2):
                word = f"xylophone{number}"
                for connection in connections.values():
                    assert word not in asked(connection, word)
                edit(book / "page0.md", "beam", f"beam {word}")
                ingested(settings.home, book, **place)
                published = time.perf_counter()
                waiting = list(connections.values())
                while waiting:
                    waiting = [one for one in waiting if word not in asked(one, word)]
                print(f"seen by {WORKERS} workers after {time.perf_counter() - published:.2f} s")  # noqa: T201 - the figure of measurements/server.md
            (killed, *_) = re.findall(r'"serve.started".*"pid": (\d+)', served.log.read_text())
            os.kill(int(killed), signal.SIGKILL)
            await_workers(served, WORKERS + 1)
            after = one_of_each(served, WORKERS)
            assert len(connections.keys() & after.keys()) == WORKERS - 1
            served.process.terminate()
            assert served.process.wait(60) == 0
    finally:
        asyncio.run(delete_collections(prefix))


async def delete_collections(prefix: str) -> None:
    async with real_server(prefix):
        """At its end it deletes them."""
