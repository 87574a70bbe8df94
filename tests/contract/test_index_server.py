"""The server store: the requests it sends, what it makes of refusals, who may write."""

from __future__ import annotations  # gRPC's classes are generic only to mypy

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any, cast

import pytest
from grpc import (
    GenericRpcHandler,
    RpcMethodHandler,
    StatusCode,
    aio,
    unary_unary_rpc_method_handler,
)
from grpc.aio import ServicerContext
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import public_address, server_client
from app.adapters.qdrant.server_errors import check_version
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, ConfigError, RagError, StorageError
from app.domain.retrieval.query import SparseVector
from tests.index_points import DIMENSION, points, publish
from tests.index_stores import ALL, QUERY, Recorded, memory_client, only

pytestmark = [
    pytest.mark.usefixtures("loop_of_grpc"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
    pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning"),
]

SECRET = "secret-key"


@asynccontextmanager
async def refusing(code: StatusCode, details: str = "", seconds: float = 0) -> AsyncIterator[str]:
    """Yield the address of a server that refuses every call after so many seconds."""

    async def refuse(_: bytes, context: ServicerContext[bytes, bytes]) -> bytes:
        await asyncio.sleep(seconds)
        await context.abort(code, details)
        raise AssertionError  # it raises

    class Handler(GenericRpcHandler):
        def service(self, _: object) -> RpcMethodHandler[bytes, bytes]:
            return unary_unary_rpc_method_handler(refuse)

    server = aio.server()
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"http://127.0.0.1:{port - 1}"
    await server.stop(0)


@pytest.fixture(autouse=True)
def without_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the double refuses, it refuses for good."""
    monkeypatch.setattr("app.adapters.qdrant.server_client.READ_SECONDS", 0.0)
    monkeypatch.setattr("app.adapters.qdrant.server_client.WRITE_SECONDS", 0.0)


@pytest.fixture
async def recorded() -> AsyncIterator[Recorded]:
    async with memory_client() as client:
        yield Recorded(client)


def index_of(client: Recorded, replicas: int = 1) -> ServerIndex:
    return ServerIndex(cast("AsyncQdrantClient", client), "textbook", "http://q:1", replicas)


async def test_what_is_missing_is_created_with_an_index_for_each_field_that_is_filtered(
    recorded: Recorded,
) -> None:
    await (await index_of(recorded, replicas=3).begin(BookId("book"), 1_024)).abandon()
    made = {name: settings for (name,), settings in recorded.called("create_collection")}
    assert made.keys() == {"textbook~books", "textbook~1024"}
    for settings, replicas_to_confirm in zip(made.values(), (1, 2), strict=True):
        assert (settings["shard_number"], settings["replication_factor"]) == (1, 3)
        assert settings["write_consistency_factor"] == replicas_to_confirm
    assert made["textbook~1024"]["vectors_config"]["dense"].size == 1_024
    indexes: dict[str, dict[str, Any]] = {name: {} for name in made}
    for (name, field), settings in recorded.called("create_payload_index"):
        indexes[name][field] = settings["field_schema"]
    assert indexes["textbook~books"].keys() == {"revision"}
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
    index = index_of(recorded)
    for _ in range(3):
        await index.search(QUERY, SparseVector((7, 9), (1.0, 2.0)), 20, ALL)
    # Revisions are asked for once in half a second, records once.
    assert (len(recorded.called("scroll")), len(recorded.called("retrieve"))) == (1, 1)
    called = recorded.called("query_batch_points")
    asked = [searches for (_, searches), _ in called]
    assert asked == [asked[0]] * 3
    dense, terms = asked[0]
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
    while len(recorded.called("upsert")) < 3:  # noqa: ASYNC110 - the client tells nobody
        await asyncio.sleep(0.01)
    written = [
        call["points"][0].payload["lease"]["seen_at"] for _, call in recorded.called("upsert")
    ]
    assert written[0] < written[1] < written[2]
    await writer.abandon()


async def refused(url: str, seconds: int = 30) -> RagError:
    client = server_client(url, SECRET, timeout_seconds=seconds)
    try:
        with pytest.raises(RagError) as caught:
            await ServerIndex(client, "textbook", url).check()
    finally:
        await client.close()
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    assert url in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("code", "details", "kind", "part"),
    [
        (StatusCode.UNAUTHENTICATED, "Must provide an API key", ConfigError, "QDRANT_API_KEY"),
        (StatusCode.PERMISSION_DENIED, "Forbidden", ConfigError, "QDRANT_API_KEY"),
        (StatusCode.INTERNAL, "Service\ninternal error", StorageError, "INTERNAL: Service inter"),
        (StatusCode.RESOURCE_EXHAUSTED, "Rate limit", StorageError, "RESOURCE_EXHAUSTED"),
        (StatusCode.UNIMPLEMENTED, "", StorageError, "UNIMPLEMENTED: no reason given"),
    ],
)
async def test_a_refusal_is_one_clear_line_without_the_key(
    code: StatusCode, details: str, kind: type[RagError], part: str
) -> None:
    async with refusing(code, details) as url:
        error = await refused(url)
    assert type(error) is kind
    assert part in str(error)


async def test_a_server_that_does_not_answer_is_a_storage_error() -> None:
    async with refusing(StatusCode.OK, seconds=9) as url:
        error = await refused(url, seconds=1)
    assert isinstance(error, StorageError)
    assert "in time" in str(error)


async def test_a_server_that_is_down_is_a_storage_error_that_names_it() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1] - 1}"
        error = await refused(url)
    assert isinstance(error, StorageError)
    assert f"cannot reach Qdrant at {url}" in str(error)


@pytest.mark.parametrize(
    ("version", "part"),
    [
        ("1.18.2", "version 1.18.2: 1.19 or newer"),
        ("0.9", "1.19 or newer"),
        ("dev", "1.19 or newer"),
        ("1.19.0", ""),
    ],
)
def test_a_server_of_another_version_is_refused(version: str, part: str) -> None:
    with pytest.raises(ConfigError, match=part) if part else nullcontext():
        check_version("http://q:1", version)


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
