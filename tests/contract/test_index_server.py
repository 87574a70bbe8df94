"""The server store: the requests it sends, what it makes of refusals, who may write."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.contents import ContentsCounter
from app.adapters.qdrant.document_frequencies import (
    Frequencies,
    FrequencyCounter,
    document_frequency,
    idf,
)
from app.adapters.qdrant.manifest import LAYOUT, manifest_from_json, manifest_to_json
from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import public_address, server_client
from app.adapters.qdrant.server_lease import LEASE_SECONDS, Lease, new_lease
from app.adapters.qdrant.server_points import chunk_id_of, point_id
from app.adapters.qdrant.server_records import BookRecord, GenerationRecord, Records
from app.adapters.qdrant.server_schema import ServerOptions
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, ConfigError, IndexBusy, RagError, StorageError
from app.domain.retrieval.query import SearchFilter, SparseVector
from tests.index_points import DIMENSION, chunk, chunk_id, manifest, points, publish, vector
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
QUERY = vector(*[1.0] * DIMENSION)
ALL = SearchFilter()


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


def in_memory(scenario: Callable[[AsyncQdrantClient], Awaitable[None]]) -> None:
    """Run with the engine that the client has for tests: no HTTP, no indexes, exact scores."""

    async def run() -> None:
        client = AsyncQdrantClient(":memory:")
        try:
            await scenario(client)
        finally:
            await client.close()

    asyncio.run(run())


def index_of(client: AsyncQdrantClient) -> ServerIndex:
    return ServerIndex(client, "textbook", "http://localhost")


def records_of(client: AsyncQdrantClient) -> Records:
    return Records(client, "textbook~books", "http://localhost")


async def put_record(double: QdrantDouble, *books: str) -> None:
    """Records of published books of three chunks."""
    client = server_client(double.url, SECRET, grpc=False)
    records = Records(client, "textbook~books", double.url)
    for book in books:
        current = GenerationRecord(f"key-{book}", 1, DIMENSION, manifest_to_json(manifest(book, 3)))
        new = BookRecord(BookId(book), current=current)
        assert await records.replace(BookRecord(BookId(book)), new)
        counter, contents = FrequencyCounter(), ContentsCounter()
        for number, point in enumerate(points(book, range(3))):
            counter.add(SparseVector((7, 9) if number else (7,), (1.0, 1.0)[: 1 + bool(number)]))
            contents.add(point)
        await records.write_contents(BookId(book), current.key, counter.result(), contents.result())
    await client.close()
    double.requests.clear()


def searches_of(double: QdrantDouble) -> list[dict[str, object]]:
    """The requests of searches, without those that read a sample of a generation."""
    bodies = double.bodies(f"POST {POINTS}/points/query/batch")
    return [body for body in bodies if "sample" not in str(body)]


def test_what_is_missing_is_created_with_indexes_and_limits_before_the_first_point(
    double: QdrantDouble,
) -> None:
    serve(double, exists=False)
    options = ServerOptions(replicas=3, quantization="int8")

    async def scenario() -> None:
        async with index_at(double.url, options) as index:
            with pytest.raises(IndexBusy):  # the double says that there are no records
                await index.begin(BookId("book"), 1_024)

    asyncio.run(scenario())
    common = {
        "replication_factor": 3,
        "shard_number": 1,
        "strict_mode_config": {
            "enabled": True,
            "max_query_limit": 1_000,
            "unindexed_filtering_retrieve": False,
            "unindexed_filtering_update": False,
            "upsert_max_batchsize": 256,
            "search_max_batchsize": 64,
            "filter_max_conditions": 64,
        },
    }
    bodies = {
        request.path: request.body
        for request in double.requests
        if request.method == "PUT" and request.path.count("/") == 2
    }
    assert bodies == {
        BOOKS: {"vectors": {}, "write_consistency_factor": 1, **common},
        "/collections/textbook~1024": {
            "vectors": {
                "dense": {
                    "size": 1_024,
                    "distance": "Cosine",
                    "on_disk": True,
                    "quantization_config": {
                        "scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}
                    },
                }
            },
            "sparse_vectors": {"bm25": {}},
            "hnsw_config": {"m": 16, "payload_m": 16},
            "write_consistency_factor": 2,
            **common,
        },
    }
    indexes = double.bodies("PUT /collections/textbook~1024/index")
    assert {body["field_name"]: body["field_schema"] for body in indexes} == {
        "book": {"type": "keyword", "is_tenant": True},
        **{
            key: {"type": "keyword", "enable_hnsw": False}
            for key in (
                "generation",
                "file",
                "chapter",
                "page",
                "kinds",
                "paragraph_ids",
            )
        },
        "position": {"type": "integer", "enable_hnsw": False},
    }
    indexes = double.bodies(f"PUT {BOOKS}/index")
    names = ["kind", "book", "revision", "generation", "changed"]
    assert [body["field_name"] for body in indexes] == names


def test_a_point_carries_both_vectors_the_generation_and_the_whole_chunk(
    double: QdrantDouble,
) -> None:
    serve(double)

    async def scenario() -> None:
        async with index_at(double.url) as index:
            writer = await index.begin(BookId("book"), 2)
            point = points("book", [1])[0]
            sparse = SparseVector((7, 4_294_967_295), (0.5, 1.5))
            await writer.write([type(point)(point.chunk, vector(0.25, 0.5), sparse)])

    asyncio.run(scenario())
    (body,) = double.bodies("PUT /collections/textbook~2/points")
    assert isinstance(body["points"], list)
    (stored,) = body["points"]
    payload = stored.pop("payload")
    key = payload["generation"]
    assert chunk_id_of(key, stored.pop("id")) == chunk_id("book", 1)
    assert stored == {
        "vector": {
            "dense": [0.25, 0.5],
            "bm25": {"indices": [7, 4_294_967_295], "values": [0.5, 1.5]},
        },
    }
    assert payload["text_content"] == chunk("book", 1).text_content
    assert payload["paragraph_id"] == chunk("book", 1).paragraph_id
    assert payload["spans"] == [[0, 7], [9, 12]]
    assert {request.headers["api-key"] for request in double.requests} == {SECRET}


def test_a_generation_becomes_current_by_one_write_of_the_record(double: QdrantDouble) -> None:
    """Which the server makes only if the record is the one that was read."""
    serve(double)

    async def scenario() -> None:
        async with index_at(double.url) as index:
            writer = await index.begin(BookId("book"), DIMENSION)
            await writer.write(points("book", range(3)))
            assert (await writer.publish(manifest("book", 3))).generation == 1

    asyncio.run(scenario())
    taken, published = (
        request
        for request in double.requests
        if request.line.startswith(f"PUT {BOOKS}/points") and "ordering=medium" in request.path
    )
    made = taken.body["points"]
    assert isinstance(made, list)
    before = made[0]["payload"]
    lease = before["lease"]
    assert isinstance(lease, dict)
    assert lease["pid"] == os.getpid()
    assert taken.body["update_filter"] == {"must": [{"key": "revision", "match": {"any": [""]}}]}
    expected = {"key": "revision", "match": {"any": [before["revision"]]}}
    assert published.body["filter"] == {"must": [{"has_id": [made[0]["id"]]}, expected]}
    after = published.body["payload"]
    assert isinstance(after, dict)
    current = after["current"]
    assert isinstance(current, dict)
    assert current["manifest"] == manifest_to_json(manifest("book", 3)) | {"generation": 1}
    assert (after["previous"], after["lease"]) == (None, None)


def test_a_server_that_was_emptied_has_no_books(double: QdrantDouble) -> None:
    """As a new process says, and `operations.md` for the time until a `restore`; not an error."""
    serve(double)

    async def scenario() -> None:
        await put_record(double, "book")
        now = 0.0
        client = server_client(double.url, SECRET, grpc=False)
        index = ServerIndex(client, "textbook", double.url, clock=lambda: now)
        assert (await index.books()).named()
        serve(double, exists=False)
        gone = "Not found: Collection `textbook~books` doesn't exist!"
        for path in ("", "/scroll", "/count"):
            double.routes[f"POST {BOOKS}/points{path}"] = lambda _: Reply(404, None, gone)
        now = 1.0
        with pytest.raises(BookNotFound):
            await index.search(QUERY, None, 9, SearchFilter(books=(BookId("book"),)))
        assert not await index.books()
        await client.close()

    asyncio.run(scenario())


def test_a_search_is_one_request_whatever_number_of_books(double: QdrantDouble) -> None:
    serve(double)
    asked = SearchFilter(
        books=(BookId("book"),), files=("a.md",), chapters=("One", "Two"), max_position=4
    )
    sparse = SparseVector((7, 9), (1.0, 2.0))

    async def scenario() -> None:
        await put_record(double, "book", "other")
        async with index_at(double.url, ServerOptions(quantization="int8")) as index:
            for _ in range(3):
                found = await index.search(QUERY, sparse, 20, asked)
            assert [hit.score for hit in (*found.dense, *found.sparse)] == [0.5, 0.5]
            await index.search(None, sparse, 20, ALL)

    asyncio.run(scenario())
    # Records are asked for once in half a second, contents and frequencies once a generation.
    lines = [line for line in double.lines() if line == f"POST {BOOKS}/points"]
    assert len(lines) <= 6
    *searches, over_all = searches_of(double)
    condition = {
        "must": [
            {"key": "generation", "match": {"any": ["key-book"]}},
            {"key": "book", "match": {"any": ["book"]}},
            {"key": "file", "match": {"any": ["a.md"]}},
            {"key": "chapter", "match": {"any": ["One", "Two"]}},
            {"key": "position", "range": {"lte": 4.0}},
        ]
    }
    common = {"filter": condition, "limit": 20, "with_payload": False}
    weights = [idf(3, 3), 2.0 * idf(3, 2)]
    assert (
        searches
        == [
            {
                "searches": [
                    {
                        **common,
                        "query": {"nearest": [1.0] * DIMENSION},
                        "using": "dense",
                        "params": {"quantization": {"rescore": True, "oversampling": 2.0}},
                    },
                    {
                        **common,
                        "query": {"nearest": {"indices": [7, 9], "values": weights}},
                        "using": "bm25",
                    },
                ]
            }
        ]
        * 3
    )
    assert isinstance(over_all["searches"], list)
    (only,) = over_all["searches"]
    assert only["filter"]["must"] == [
        {"key": "generation", "match": {"any": ["key-book", "key-other"]}}
    ]
    assert only["query"]["nearest"]["values"] == [idf(6, 6), 2.0 * idf(6, 4)]


def test_no_request_holds_more_searches_than_strict_mode_allows(double: QdrantDouble) -> None:
    """However many terms a question has."""
    serve(double)

    async def scenario() -> None:
        await put_record(double, "book")
        async with index_at(double.url) as index:
            assert await index.best_scores(range(150)) == [0.5] * 150

    asyncio.run(scenario())
    searches = [body["searches"] for body in searches_of(double)]
    assert [len(one) for one in searches if isinstance(one, list)] == [64, 64, 22]


@pytest.mark.parametrize("fault", ["another chunk", "another vector", "not found"])
def test_what_cannot_be_read_back_is_not_published(
    fault: str,
) -> None:
    async def scenario(client: AsyncQdrantClient) -> None:
        index = index_of(client)
        await publish(index, "book", points("book", [1]))
        writer = await index.begin(BookId("book"), DIMENSION)
        await writer.write(points("book", range(20)))
        stored = (await client.scroll("textbook~8", limit=100))[0]
        ids = [one.id for one in stored if (one.payload or {})["chunk_index"] != 1]
        if fault == "another chunk":
            await client.set_payload("textbook~8", {"text_content": "x"}, ids)
        elif fault == "another vector":
            turned = [models.PointVectors(id=one, vector={"dense": [*QUERY]}) for one in ids]
            await client.update_vectors("textbook~8", turned)
        else:
            await client.delete_vectors("textbook~8", ["bm25"], ids)
        with pytest.raises(StorageError, match=r"not published"):
            await writer.publish(manifest("book", 20))
        await writer.abandon()
        assert [one.chunks for one in (await index.books()).named()] == [1]

    in_memory(scenario)


def test_a_run_that_writes_nothing_for_long_keeps_its_lease(
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

    async def scenario() -> None:
        async with index_at(double.url) as index:
            writer = await index.begin(BookId("book"), DIMENSION)
            assert await asyncio.to_thread(renewed.wait, 10)
            await writer.abandon()

    asyncio.run(scenario())
    assert double.lines()[-1].startswith(f"POST {BOOKS}/points/delete")


def test_a_run_that_was_taken_over_publishes_nothing_and_deletes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(client: AsyncQdrantClient) -> None:
        index, records = index_of(client), records_of(client)
        silent = await index.begin(BookId("book"), DIMENSION)
        await silent.write(points("book", [1]))
        held = await records.read(BookId("book"))
        assert held.lease
        dead = replace(held.lease, host="elsewhere", process="x", seen_at=0.0)
        assert await records.replace(held, replace(held, lease=dead))
        monkeypatch.setattr("app.adapters.qdrant.server_lease._this_process", lambda: "other")
        other = await index.begin(BookId("book"), DIMENSION)
        await other.write(points("book", [2, 3]))
        await silent.write(points("book", [4]))
        with pytest.raises(StorageError):
            await silent.publish(manifest("book", 2))
        await silent.abandon()
        assert (await other.publish(manifest("book", 2))).generation == 1
        found = (await index.search(QUERY, None, 9, ALL)).dense
        assert {hit.chunk_id for hit in found} == {chunk_id("book", 2), chunk_id("book", 3)}

    in_memory(scenario)


def test_of_two_who_read_one_record_only_one_writes_it() -> None:
    async def scenario(client: AsyncQdrantClient) -> None:
        await publish(index_of(client), "other", points("other", [1]))
        records = records_of(client)
        for book in ("other", "new"):
            read = await records.read(BookId(book))
            assert await records.replace(read, read)
            assert await records.replace(read, read) is None

    in_memory(scenario)


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
    [("1.15.9", "too old: 1.16"), ("0.9", "too old"), ("2.0.0", "too new"), ("dev", "too old")],
)
def test_a_server_too_old_or_too_new_is_refused(
    double: QdrantDouble, number: str, part: str
) -> None:
    double.routes["GET /"] = lambda _: version(number)
    error = refused(double.url)
    assert isinstance(error, ConfigError)
    assert part in str(error)
    assert number in str(error)


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


HERE = socket.gethostname()


def lease(host: str, pid: int, age: float = 0.0) -> Lease:
    return Lease(host, pid, "another", "2026-01-01T00:00:00Z", new_lease().seen_at - age)


@pytest.mark.parametrize(
    ("make", "held"),
    [
        (new_lease, True),
        (lambda: lease(HERE, os.getppid(), LEASE_SECONDS / 2), True),
        # A process that got the id of one that died.
        (lambda: lease(HERE, os.getppid(), LEASE_SECONDS * 2), False),
        (lambda: lease(HERE, dead_process()), False),
        # A process of our own id before us: the container was started again.
        (lambda: lease(HERE, os.getpid()), False),
        (lambda: lease("elsewhere", 1, LEASE_SECONDS / 2), True),
        (lambda: lease("elsewhere", 1, LEASE_SECONDS * 2), False),
    ],
    ids=[
        "this process",
        "running here",
        "silent here",
        "died here",
        "same id",
        "elsewhere",
        "silent elsewhere",
    ],
)
def test_an_unfinished_generation_is_cleared_away_only_when_its_writer_is_dead(
    make: Callable[[], Lease], held: bool
) -> None:
    writer = make()

    async def scenario(client: AsyncQdrantClient) -> None:
        index, records = index_of(client), records_of(client)
        await publish(index, "other", points("other", [1]))
        unfinished = await index.begin(BookId("book"), DIMENSION)
        await unfinished.write(points("book", [1]))
        record = await records.read(BookId("book"))
        assert await records.replace(record, replace(record, lease=writer))
        if held:
            who = f"process {writer.pid} on {writer.host}, started 20"
            with pytest.raises(IndexBusy, match=who):
                await index.begin(BookId("book"), DIMENSION)
        else:
            await index.begin(BookId("book"), DIMENSION)
        assert (await client.count("textbook~8")).count == (2 if held else 1)

    in_memory(scenario)


def test_another_process_sees_a_switch_half_a_second_later() -> None:
    async def scenario(client: AsyncQdrantClient) -> None:
        now = 0.0
        writer = index_of(client)
        reader = ServerIndex(client, "textbook", "http://localhost", clock=lambda: now)
        book = SearchFilter(books=(BookId("book"),))

        async def seen() -> set[str]:
            each = [(await reader.search(QUERY, None, 9, scope)).dense for scope in (book, ALL)]
            assert each[0] == each[1]
            return {hit.chunk_id for hit in each[0]}

        await publish(writer, "book", points("book", [1]))
        assert await seen() == {chunk_id("book", 1)}
        await publish(writer, "book", points("book", [2]))
        now = 0.4
        assert await seen() == {chunk_id("book", 1)}
        now = 0.6
        assert await seen() == {chunk_id("book", 2)}
        await writer.remove(BookId("book"))
        await publish(writer, "book", points("book", [3]))
        now = 20.0
        assert [one.chunks for one in (await reader.books()).named()] == [1]
        assert await seen() == {chunk_id("book", 3)}
        await writer.remove(BookId("book"))
        now = 21.0
        with pytest.raises(BookNotFound):
            await seen()

    in_memory(scenario)


def test_a_reader_whose_generation_was_deleted_looks_again() -> None:
    """Two switches within the half second in which a reader does not look."""

    async def scenario(client: AsyncQdrantClient) -> None:
        writer = index_of(client)
        reader = ServerIndex(client, "textbook", "http://localhost", clock=lambda: 0.0)
        scopes = (ALL, SearchFilter(books=(BookId("book"),)))
        await publish(writer, "book", points("book", [1]))
        for number, scope in enumerate(scopes):
            await reader.search(QUERY, None, 9, scope)
            for more in (2, 3):
                await publish(writer, "book", points("book", [more + 10 * number]))
            found = (await reader.search(QUERY, None, 9, scope)).dense
            assert [hit.chunk_id for hit in found] == [chunk_id("book", 3 + 10 * number)]

    in_memory(scenario)


def test_a_manifest_of_another_layout_is_a_clear_error_and_leaves_other_books_alone() -> None:
    async def scenario(client: AsyncQdrantClient) -> None:
        index, records = index_of(client), records_of(client)
        await publish(index, "broken", points("broken", [1]))
        record = await records.read(BookId("broken"))
        assert record.current
        broken = replace(record, current=replace(record.current, manifest={"layout": 0}))
        assert await records.replace(record, broken)
        with pytest.raises(StorageError, match=f"broken: not an index of layout {LAYOUT}"):
            await index.check()
        await publish(index, "book", points("book", [1]))
        await index.check()
        assert [*await index.books()] == ["book"]
        assert list(await index.damaged()) == ["broken"]
        found = await index.search(QUERY, None, 5, ALL)
        assert [hit.book for hit in found.dense] == ["book"]
        with pytest.raises(StorageError):
            await index.search(QUERY, None, 5, SearchFilter(books=(BookId("broken"),)))
        faults = await index.faults(BookId("broken"))
        assert [f"not an index of layout {LAYOUT}" in line for line in faults] == [True]
        await publish(index, "broken", points("broken", [2]))
        await index.check()
        assert await index.damaged() == {}

    in_memory(scenario)


def test_nothing_is_left_of_a_removed_book_or_an_abandoned_run() -> None:
    async def scenario(client: AsyncQdrantClient) -> None:
        index = index_of(client)
        for edition in ("v1", "v2", "v3"):
            await publish(index, "book", points("book", range(5), version=edition))
        assert (await client.count("textbook~8")).count == 10
        assert (await client.count("textbook~books")).count == 3
        await index.remove(BookId("book"))
        writer = await index.begin(BookId("book"), DIMENSION)
        await writer.write(points("book", [1]))
        await writer.abandon()
        assert (await client.count("textbook~8")).count == 0
        assert (await client.count("textbook~books")).count == 0

    in_memory(scenario)


def test_frequencies_survive_their_text_and_damage_is_an_error() -> None:
    counter = FrequencyCounter()
    for point in points("book", range(50)):
        counter.add(point.sparse)
    counter.add(SparseVector((), ()))
    found = counter.result()
    assert found.documents == 50
    assert Frequencies.from_text(found.to_text(), "here") == found
    assert found.of(1) == 0
    for term, count in zip(found.terms, found.counts, strict=True):
        assert found.of(term) == count
        assert document_frequency(50, idf(50, count)) == count
    for text in ("", "x", None, found.to_text()[:-8]):
        with pytest.raises(StorageError, match="here: damaged document frequencies"):
            Frequencies.from_text(text, "here")


def test_a_point_id_tells_the_chunk_to_who_knows_the_generation() -> None:
    made = point_id("a", chunk_id("book", 1))
    assert made != point_id("b", chunk_id("book", 1))
    assert chunk_id_of("a", made) == chunk_id("book", 1)


def test_a_manifest_written_before_an_optional_field_existed_is_read() -> None:
    data = manifest_to_json(manifest("book", 3))
    del data["size_bytes"]
    assert manifest_from_json(data, "here") == manifest("book", 3)


@pytest.mark.parametrize("is_read_back", [True, False])
def test_a_publication_whose_answer_is_lost_stays_published(is_read_back: bool) -> None:
    """The write was applied, then the node was gone: neither the run nor its end undoes it."""

    async def scenario(client: AsyncQdrantClient) -> None:
        index = index_of(client)
        await publish(index, "book", points("book", [1]))
        writer = await index.begin(BookId("book"), DIMENSION)
        await writer.write(points("book", [2, 3]))
        overwrite, retrieve = client.overwrite_payload, client.retrieve
        methods = cast("Any", client)

        async def gone(*_: object, **__: object) -> None:
            message = "cannot reach Qdrant"  # as `server_client` reports a lost connection
            raise StorageError(message)

        async def overwrite_and_fail(name: str, **arguments: Any) -> None:
            await overwrite(name, **arguments)
            methods.overwrite_payload = gone
            if not is_read_back:
                methods.retrieve = gone
            await gone()

        methods.overwrite_payload = overwrite_and_fail
        if is_read_back:
            await writer.publish(manifest("book", 2))
        else:
            with pytest.raises(StorageError, match="may have been published"):
                await writer.publish(manifest("book", 2))
        await writer.abandon()
        methods.overwrite_payload, methods.retrieve = overwrite, retrieve
        assert [one.generation for one in (await index_of(client).books()).named()] == [2]
        found = (await index_of(client).search(QUERY, None, 9, ALL)).dense
        assert {hit.chunk_id for hit in found} == {chunk_id("book", 2), chunk_id("book", 3)}

    in_memory(scenario)


def test_a_write_that_another_follows_before_it_is_read_back_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A publication, then at once an ingest of the same book by another process."""

    async def scenario(client: AsyncQdrantClient) -> None:
        index = index_of(client)
        writer = await index.begin(BookId("book"), DIMENSION)
        await writer.write(points("book", [1]))
        overwrite, methods = client.overwrite_payload, cast("Any", client)

        async def overwrite_and_be_followed(name: str, **arguments: Any) -> None:
            await overwrite(name, **arguments)
            methods.overwrite_payload = overwrite
            monkeypatch.setattr("app.adapters.qdrant.server_lease._this_process", lambda: "other")
            await index_of(client).begin(BookId("book"), DIMENSION)

        methods.overwrite_payload = overwrite_and_be_followed
        assert (await writer.publish(manifest("book", 1))).generation == 1

    in_memory(scenario)


def test_a_rollback_that_comes_second_says_so() -> None:
    async def scenario(client: AsyncQdrantClient) -> None:
        index, records = index_of(client), records_of(client)
        await publish(index, "book", points("book", [1]))
        await publish(index, "book", points("book", [2]))
        overwrite, methods = client.overwrite_payload, cast("Any", client)

        async def come_second(name: str, **arguments: Any) -> None:
            methods.overwrite_payload = overwrite
            record = await records.read(BookId("book"))
            assert await records.replace(record, replace(record, previous=None))
            await overwrite(name, **arguments)

        methods.overwrite_payload = come_second
        with pytest.raises(IndexBusy, match="changed by another run just now"):
            await index.rollback(BookId("book"))

    in_memory(scenario)


def test_a_write_of_a_record_that_was_read_before_its_book_was_removed_changes_nothing() -> None:
    """A `rollback` or an ingest overtaken by a `remove` would bring back a book without chunks."""

    async def scenario(client: AsyncQdrantClient) -> None:
        index, records = index_of(client), records_of(client)
        await publish(index, "book", points("book", [1]))
        record = await records.read(BookId("book"))
        await index.remove(BookId("book"))
        assert await records.replace(record, replace(record, lease=new_lease())) is None
        assert not await index_of(client).books()

    in_memory(scenario)


def test_a_publication_that_a_copy_behind_does_not_show_yet_counts() -> None:
    """The first reads after the write of the record come from a copy that lacks it."""

    async def scenario(client: AsyncQdrantClient) -> None:
        index = index_of(client)
        await publish(index, "book", points("book", [1]))
        writer = await index.begin(BookId("book"), DIMENSION)
        await writer.write(points("book", [2, 3]))
        behind = await records_of(client).read(BookId("book"))
        read, stale = Records.read, [behind, behind]

        async def read_behind(records: Records, book: BookId) -> BookRecord:
            return stale.pop() if stale else await read(records, book)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Records, "read", read_behind)
            assert (await writer.publish(manifest("book", 2))).generation == 2
        await writer.abandon()
        found = (await index_of(client).search(QUERY, None, 9, ALL)).dense
        assert {hit.chunk_id for hit in found} == {chunk_id("book", 2), chunk_id("book", 3)}

    in_memory(scenario)
