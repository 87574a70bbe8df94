"""The server store: the requests it sends, what it makes of refusals, who may write."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from app.adapters.qdrant.manifest import manifest_to_json
from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import public_address, server_client
from app.adapters.qdrant.server_collections import ServerOptions
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, ConfigError, RagError, StorageError
from app.domain.retrieval.query import SearchFilter, SparseVector
from tests.index_points import DIMENSION, manifest
from tests.index_stores import ALL, QUERY
from tests.qdrant_double import (
    BOOKS,
    POINTS,
    QdrantDouble,
    Reply,
    Request,
    qdrant_double,
    serve,
    version,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
    pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning"),
]

SECRET = "secret-key"


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with qdrant_double() as running:
        yield running


@pytest.fixture(autouse=True)
def without_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the double refuses, it refuses for good."""
    monkeypatch.setattr("app.adapters.qdrant.server_client.READ_SECONDS", 0.0)
    monkeypatch.setattr("app.adapters.qdrant.server_client.WRITE_SECONDS", 0.0)


@asynccontextmanager
async def index_at(
    url: str, options: ServerOptions | None = None, seconds: int = 30
) -> AsyncIterator[ServerIndex]:
    client = server_client(url, SECRET, timeout_seconds=seconds, grpc=False)
    try:
        yield ServerIndex(client, "textbook", url, options)
    finally:
        await client.close()


async def put_record(double: QdrantDouble, *books: str) -> None:
    """Records of published books of three chunks."""
    client = server_client(double.url, SECRET, grpc=False)
    records = Records(client, "textbook~books", double.url)
    for book in books:
        made = replace(manifest(book, 3), generation=1)
        current = GenerationRecord(f"key-{book}", manifest_to_json(made))
        await records.put(BookRecord(BookId(book)), BookRecord(BookId(book), current=current))
    await client.close()
    double.requests.clear()


def searches_of(double: QdrantDouble) -> list[dict[str, object]]:
    """The requests of searches, without those that read a sample of a generation."""
    bodies = double.bodies(f"POST {POINTS}/points/query/batch")
    return [body for body in bodies if "sample" not in str(body)]


async def test_what_is_missing_is_created_with_an_index_for_each_field_that_is_filtered(
    double: QdrantDouble,
) -> None:
    """`test_ingest_cli` has the settings."""
    serve(double, exists=False)
    async with index_at(double.url, ServerOptions(replicas=2)) as index:
        await (await index.begin(BookId("book"), 1_024)).abandon()
    created = double.bodies(f"PUT {BOOKS}")[0]
    assert (created["shard_number"], created["replication_factor"]) == (1, 2)
    created = double.bodies("PUT /collections/textbook~1024")[0]
    assert created["vectors"]["dense"]["size"] == 1_024  # type: ignore[index]
    indexes = double.bodies("PUT /collections/textbook~1024/index")
    types = {body["field_name"]: body["field_schema"] for body in indexes}
    assert types.pop("book") == {"type": "keyword", "is_tenant": True}
    assert types.pop("position") == {"type": "integer", "enable_hnsw": False}
    fields = {"generation", "file", "chapter", "page", "kinds", "paragraph_ids"}
    assert types == {key: {"type": "keyword", "enable_hnsw": False} for key in fields}
    indexed = {body["field_name"] for body in double.bodies(f"PUT {BOOKS}/index")}
    assert indexed == {"book", "revision"}


async def test_a_server_that_was_emptied_has_no_books(double: QdrantDouble) -> None:
    """As a new process says, and `operations.md` for the time until a `restore`; not an error."""
    serve(double)

    await put_record(double, "book")
    now = 0.0
    client = server_client(double.url, SECRET, grpc=False)
    index = ServerIndex(client, "textbook", double.url, clock=lambda: now)
    assert (await index.books()).named()
    serve(double, exists=False)
    gone = "Not found: Collection `textbook~books` doesn't exist!"
    for path in ("", "/scroll"):
        double.routes[f"POST {BOOKS}/points{path}"] = lambda _: Reply(404, None, gone)
    now = 1.0
    with pytest.raises(BookNotFound):
        await index.search(QUERY, None, 9, SearchFilter(books=(BookId("book"),)))
    assert not await index.books()
    await client.close()


async def test_a_search_is_one_request_whatever_number_of_books(double: QdrantDouble) -> None:
    serve(double)
    sparse = SparseVector((7, 9), (1.0, 2.0))
    await put_record(double, "book", "other")
    async with index_at(double.url, ServerOptions(quantization="int8")) as index:
        for _ in range(3):
            found = await index.search(QUERY, sparse, 20, ALL)
        assert [hit.score for hit in (*found.dense, *found.sparse)] == [0.5, 0.5]
    # Revisions are asked for once in half a second, records once.
    assert double.lines().count(f"POST {BOOKS}/points") == 1
    first, *others = searches_of(double)
    assert others == [first] * 2
    searches: Any = first["searches"]
    dense, terms = searches
    assert dense["params"] == {"quantization": {"rescore": True, "oversampling": 2.0}}
    generations = {"key": "generation", "match": {"any": ["key-book", "key-other"]}}
    assert dense["filter"]["must"] == terms["filter"]["must"] == [generations]
    # The document frequencies are those of the same books, whatever else is filtered.
    assert terms["params"]["idf"]["corpus"]["must"] == [generations]
    assert {request.headers["api-key"] for request in double.requests} == {SECRET}


async def test_a_run_that_writes_nothing_for_long_keeps_its_lease(
    double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To embed a book can take hours, in which the index hears nothing else."""
    serve(double)
    monkeypatch.setattr("app.adapters.qdrant.server_writer.RENEW_SECONDS", 0.01)
    renewed = threading.Event()
    replace_record = double.routes[f"PUT {BOOKS}/points/payload"]

    def note(request: Request) -> Reply:
        renewed.set()
        return replace_record(request)

    double.routes[f"PUT {BOOKS}/points/payload"] = note

    async with index_at(double.url) as index:
        writer = await index.begin(BookId("book"), DIMENSION)
        assert await asyncio.to_thread(renewed.wait, 10)
        await writer.abandon()
    assert double.lines()[-1].startswith(f"POST {BOOKS}/points/delete")


REFUSALS = {
    "401": (Reply(401, None, "Must provide an API key"), ConfigError, "QDRANT_API_KEY"),
    "403": (Reply(403, None, "Forbidden"), ConfigError, "QDRANT_API_KEY"),
    "500": (Reply(500, None, "Service internal error: disk"), StorageError, "500: Service inter"),
    "503": (Reply(503, raw=b"<html>busy</html>"), StorageError, "answered 503"),
    "429": (Reply(429, None, "Rate limit exceeded"), StorageError, "429"),
    "not Qdrant": (Reply(200, raw=b'{"hello": "world"}'), StorageError, "QDRANT_URL"),
    "not JSON": (Reply(200, raw=b"<html></html>"), StorageError, "QDRANT_URL"),
}


def refused(url: str, seconds: int = 30) -> RagError:
    async def scenario() -> None:
        async with index_at(url, seconds=seconds) as index:
            await index.check()

    with pytest.raises(RagError) as caught:
        asyncio.run(scenario())
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(("reply", "kind", "part"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_one_clear_line_without_the_key(
    double: QdrantDouble, reply: Reply, kind: type[RagError], part: str
) -> None:
    double.routes["GET /"] = lambda _: reply
    error = refused(double.url)
    assert type(error) is kind
    assert part in str(error)
    assert double.url in str(error)


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


@pytest.mark.parametrize(
    ("number", "part"),
    [("1.18.2", "too old: 1.19"), ("0.9", "too old"), ("2.0.0", "too new"), ("dev", "too old")],
)
def test_a_server_too_old_or_too_new_is_refused(
    double: QdrantDouble, number: str, part: str
) -> None:
    double.routes["GET /"] = lambda _: version(number)
    error = refused(double.url)
    assert isinstance(error, ConfigError)
    assert part in str(error)
    assert number in str(error)
