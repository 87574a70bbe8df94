"""The server store: the requests it sends, what it makes of refusals, who may write."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import public_address, server_client
from app.adapters.qdrant.server_store import ServerOptions
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, ConfigError, RagError, StorageError
from app.domain.retrieval.query import SparseVector
from tests.index_points import DIMENSION, points, publish
from tests.index_stores import ALL, QUERY, Recorded, memory_client, only

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
    pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning"),
]

SECRET = "secret-key"


@contextmanager
def answering(status: int, body: str) -> Iterator[str]:
    """Yield the address of a server that gives this answer to every request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def without_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the double refuses, it refuses for good."""
    monkeypatch.setattr("app.adapters.qdrant.server_client.READ_SECONDS", 0.0)
    monkeypatch.setattr("app.adapters.qdrant.server_client.WRITE_SECONDS", 0.0)


@asynccontextmanager
async def index_at(url: str, seconds: int = 30) -> AsyncIterator[ServerIndex]:
    client = server_client(url, SECRET, timeout_seconds=seconds, grpc=False)
    try:
        yield ServerIndex(client, "textbook", url)
    finally:
        await client.close()


@pytest.fixture
async def recorded() -> AsyncIterator[Recorded]:
    async with memory_client() as client:
        yield Recorded(client)


def index_of(client: Recorded, options: ServerOptions | None = None) -> ServerIndex:
    return ServerIndex(cast("AsyncQdrantClient", client), "textbook", "http://q:1", options)


async def test_what_is_missing_is_created_with_an_index_for_each_field_that_is_filtered(
    recorded: Recorded,
) -> None:
    options = ServerOptions(replicas=3, quantization="int8")
    await (await index_of(recorded, options).begin(BookId("book"), 1_024)).abandon()
    made = {name: settings for (name,), settings in recorded.called("create_collection")}
    assert made.keys() == {"textbook~books", "textbook~1024"}
    for settings, replicas_to_confirm in zip(made.values(), (1, 2), strict=True):
        assert (settings["shard_number"], settings["replication_factor"]) == (1, 3)
        assert settings["write_consistency_factor"] == replicas_to_confirm
    dense = made["textbook~1024"]["vectors_config"]["dense"]
    assert (dense.size, dense.on_disk, dense.quantization_config.scalar.type) == (
        (1_024, True, "int8")
    )
    indexes: dict[str, dict[str, Any]] = {name: {} for name in made}
    for (name, field), settings in recorded.called("create_payload_index"):
        indexes[name][field] = settings["field_schema"]
    assert indexes["textbook~books"].keys() == {"book", "revision"}
    types = indexes["textbook~1024"]
    assert types.pop("book").is_tenant
    assert types.keys() == {"generation", "tags", "position"}
    assert not any(one.enable_hnsw for one in types.values())


async def test_a_server_that_was_emptied_has_no_books(recorded: Recorded) -> None:
    """As a new process says, and `operations.md` for the time until a `restore`; not an error."""
    now = 0.0
    client = cast("AsyncQdrantClient", recorded)
    index = ServerIndex(client, "textbook", "http://q:1", clock=lambda: now)
    await publish(index_of(recorded), "book", points("book", range(3)))
    assert (await index.books()).named()
    for name in ("textbook~books", f"textbook~{DIMENSION}"):
        await client.delete_collection(name)
    now = 1.0
    with pytest.raises(BookNotFound):
        await index.search(QUERY, None, 9, only("book"))
    assert not await index.books()


async def test_a_search_is_one_request_whatever_number_of_books(recorded: Recorded) -> None:
    for book in ("book", "other"):
        await publish(index_of(recorded), book, points(book, range(3)))
    recorded.calls.clear()
    index = index_of(recorded, ServerOptions(quantization="int8"))
    for _ in range(3):
        await index.search(QUERY, SparseVector((7, 9), (1.0, 2.0)), 20, ALL)
    # Revisions are asked for once in half a second, records once.
    assert (len(recorded.called("scroll")), len(recorded.called("retrieve"))) == (1, 1)
    called = recorded.called("query_batch_points")
    _, *asked = [searches for (_, searches), _ in called]  # the first reads a sample
    assert asked == [asked[0]] * 3
    dense, terms = asked[0]
    assert dense.params.quantization.rescore
    ((condition,), (same,)) = dense.filter.must, terms.filter.must
    assert (condition.key, len(condition.match.any), same) == ("generation", 2, condition)
    # The document frequencies are those of the same books, whatever else is filtered.
    assert terms.params.idf.corpus.must == [condition]


async def test_a_run_that_writes_nothing_for_long_keeps_its_lease(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To embed a book can take hours, in which the index hears nothing else."""
    monkeypatch.setattr("app.adapters.qdrant.server_writer.RENEW_SECONDS", 0.01)
    writer = await index_of(recorded).begin(BookId("book"), DIMENSION)
    while len(recorded.called("overwrite_payload")) < 2:  # noqa: ASYNC110 - the client tells nobody
        await asyncio.sleep(0.01)
    first, second = (call["payload"]["lease"] for _, call in recorded.called("overwrite_payload"))
    assert first["seen_at"] < second["seen_at"]
    await writer.abandon()


def error(text: str) -> str:
    return json.dumps({"status": {"error": text}})


REFUSALS = [
    (401, error("Must provide an API key"), ConfigError, "QDRANT_API_KEY"),
    (403, error("Forbidden"), ConfigError, "QDRANT_API_KEY"),
    (500, error("Service internal error: disk"), StorageError, "500: Service inter"),
    (503, "<html>busy</html>", StorageError, "answered 503"),
    (429, error("Rate limit exceeded"), StorageError, "429"),
    (200, '{"hello": "world"}', StorageError, "QDRANT_URL"),
    (200, "<html></html>", StorageError, "QDRANT_URL"),
    *(
        (200, json.dumps({"title": "qdrant", "version": number}), ConfigError, f"{number}, {part}")
        for number, part in (
            ("1.18.2", "which is too old: 1.19"),
            ("0.9", "which is too old"),
            ("2.0.0", "which is too new"),
            ("dev", "which is too old"),
        )
    ),
]


def refused(url: str, seconds: int = 30) -> RagError:
    async def scenario() -> None:
        async with index_at(url, seconds=seconds) as index:
            await index.check()

    with pytest.raises(RagError) as caught:
        asyncio.run(scenario())
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(("status", "body", "kind", "part"), REFUSALS)
def test_a_refusal_is_one_clear_line_without_the_key(
    status: int, body: str, kind: type[RagError], part: str
) -> None:
    with answering(status, body) as url:
        error = refused(url)
    assert type(error) is kind
    assert part in str(error)
    assert url in str(error)


def test_a_server_that_is_down_is_a_storage_error_that_names_it() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        error = refused(url)
    assert isinstance(error, StorageError)
    assert f"cannot reach Qdrant at {url}" in str(error)


def test_a_server_that_does_not_answer_is_a_storage_error() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        error = refused(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=1)
    assert isinstance(error, StorageError)
    assert "in time" in str(error)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pass@qdrant.example:6333/path?key=1", "https://qdrant.example:6333"),
        ("http://localhost", "http://localhost"),
        ("localhost:6333", "http://localhost:6333"),
        ("http://a:1?key=1, http://b:2", "http://a:1, http://b:2"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert public_address(url) == shown
