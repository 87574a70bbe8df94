"""The server store: the requests it sends, what it makes of refusals, who may write."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.manifest import manifest_from_json, manifest_to_json
from app.adapters.qdrant.payload import to_payload
from app.adapters.qdrant.server import ServerIndex, server_client
from app.adapters.qdrant.server_catalogue import LEASE_SECONDS, Lease, new_lease
from app.adapters.qdrant.server_errors import public_address
from app.adapters.qdrant.server_options import ServerOptions
from app.domain.book_id import BookId
from app.domain.errors import ConfigError, IndexBusy, RagError, StorageError
from app.domain.retrieval.query import SearchFilter, SparseVector
from app.services.ports import IndexPoint
from tests.index_points import DIMENSION, chunk, chunk_id, manifest, points, publish, vector
from tests.qdrant_double import Json, QdrantDouble, Reply, Request, qdrant_double

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
    pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning"),
]

SECRET = "secret-key"
QUERY = vector(*[1.0] * DIMENSION)
ALL = SearchFilter()
DONE = Reply(result={"operation_id": 1, "status": "completed"})


def metadata(number: int, previous: str = "") -> Json:
    published = manifest_to_json(manifest("book", 3)) | {"generation": number}
    return {
        "prefix": "textbook",
        "book": "book",
        "previous": previous,
        "manifest": published,
    }


def serve(
    double: QdrantDouble, collections: dict[str, Json], aliases: dict[str, str]
) -> QdrantDouble:
    """Answer as a server that holds these collections, by their metadata, and these aliases."""

    def collection(request: Request) -> Reply:
        name = request.path.split("/")[2]
        if name not in collections:
            return Reply(404, None, f"Not found: Collection `{name}` doesn't exist!")
        config = {
            "params": {},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
            "optimizer_config": {
                "deleted_threshold": 0.2,
                "vacuum_min_vector_number": 1_000,
                "default_segment_number": 0,
                "flush_interval_sec": 5,
            },
            "metadata": collections[name],
        }
        info = {"status": "green", "optimizer_status": "ok", "segments_count": 1}
        return Reply(result={**info, "payload_schema": {}, "config": config})

    def hits(request: Request) -> Reply:
        searches = request.body["searches"]
        assert isinstance(searches, list)
        point = {"id": chunk_id("book", 1), "version": 1, "score": 0.5}
        return Reply(result=[{"points": [point]} for _ in searches])

    named = [{"alias_name": a, "collection_name": c} for a, c in aliases.items()]
    double.routes = {
        "GET /aliases": lambda _: Reply(result={"aliases": named}),
        "GET /collections": lambda _: Reply(
            result={"collections": [{"name": name} for name in collections]}
        ),
        "GET /collections/": collection,
        "PUT /collections/": lambda request: DONE if "?wait" in request.path else Reply(),
        "PATCH /collections/": lambda _: Reply(),
        "DELETE /collections/": lambda _: Reply(),
        "POST /collections/aliases": lambda _: Reply(),
    }
    for name in collections:
        double.routes[f"POST /collections/{name}/points/query/batch"] = hits
    return double


def hold(double: QdrantDouble, collection: str, held: Sequence[IndexPoint]) -> None:
    """Answer for a collection with these points; a search finds the first of them."""
    by_id = {point.chunk.chunk_id: _record(point) for point in held}
    found = [{"id": name, "version": 1, "score": 1.0} for name in list(by_id)[:10]]

    def retrieve(request: Request) -> Reply:
        ids = request.body["ids"]
        assert isinstance(ids, list)
        return Reply(result=[by_id[name] for name in ids if name in by_id])

    def search(request: Request) -> Reply:
        searches = request.body["searches"]
        assert isinstance(searches, list)
        return Reply(result=[{"points": found} for _ in searches])

    path = f"POST /collections/{collection}/points"
    double.routes[path] = retrieve
    double.routes[f"{path}/count"] = lambda _: Reply(result={"count": len(held)})
    double.routes[f"{path}/query/batch"] = search


def _record(point: IndexPoint) -> Json:
    sparse = {"indices": point.sparse.indices, "values": point.sparse.values}
    return {
        "id": point.chunk.chunk_id,
        "payload": to_payload(point.chunk),
        "vector": {"dense": point.dense.tolist(), "bm25": sparse},
    }


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with qdrant_double() as running:
        yield running


@asynccontextmanager
async def index_at(
    url: str, options: ServerOptions | None = None, seconds: int = 30
) -> AsyncIterator[ServerIndex]:
    client = server_client(url, SECRET, timeout_seconds=seconds)
    try:
        yield ServerIndex(client, "textbook", url, options)
    finally:
        await client.close()


def test_a_generation_is_a_collection_whose_alias_is_switched_in_one_request(
    double: QdrantDouble,
) -> None:
    serve(
        double,
        {
            "textbook_book_v2": metadata(2),
            "textbook_book_v3": metadata(3, "textbook_book_v2"),
            "textbook_book_v1": metadata(1),
            "textbook_other_v9": metadata(9),
        },
        {"textbook_book": "textbook_book_v3"},
    )
    new = "/collections/textbook_book_v4"
    hold(double, "textbook_book_v4", points("book", range(300)))

    async def scenario() -> None:
        async with index_at(double.url) as index:
            writer = await index.begin(BookId("book"), DIMENSION)
            await writer.write(points("book", range(300)))
            assert (await writer.publish(manifest("book", 300))).generation == 4

    asyncio.run(scenario())
    changes = [line for line in double.lines() if not line.startswith("GET")]
    assert changes == [
        "DELETE /collections/textbook_book_v1",
        f"PUT {new}",
        *[f"PUT {new}/index?wait=true"] * 9,
        *[f"PUT {new}/points?wait=true"] * 2,
        f"POST {new}/points/count",
        f"POST {new}/points",
        *[f"POST {new}/points/query/batch"] * 8,
        f"PATCH {new}",
        "POST /collections/aliases",
        # The double still lists the old one; a server would not.
        "DELETE /collections/textbook_book_v1",
    ]
    assert double.bodies("POST /collections/aliases") == [
        {
            "actions": [
                {"delete_alias": {"alias_name": "textbook_book"}},
                {
                    "create_alias": {
                        "collection_name": "textbook_book_v4",
                        "alias_name": "textbook_book",
                    }
                },
            ]
        }
    ]
    (described,) = double.bodies(f"PATCH {new}")
    assert described == {
        "metadata": {
            "manifest": manifest_to_json(manifest("book", 300)) | {"generation": 4},
            "previous": "textbook_book_v3",
            "lease": None,
        }
    }
    assert double.bodies(f"POST {new}/points/count") == [{"exact": True}]
    assert [len(body["points"]) for body in double.bodies(f"PUT {new}/points")] == [256, 44]  # type: ignore[arg-type]
    assert {request.headers["api-key"] for request in double.requests} == {SECRET}


@pytest.mark.parametrize("fault", ["another chunk", "another vector", "not there", "not found"])
def test_what_cannot_be_read_back_is_not_published(double: QdrantDouble, fault: str) -> None:
    serve(double, {"textbook_book_v1": metadata(1)}, {"textbook_book": "textbook_book_v1"})
    written = points("book", range(20))
    stored = list(written)
    if fault == "another chunk":
        stored = [replace(one, chunk=replace(one.chunk, text_content="x")) for one in written]
    elif fault == "another vector":
        stored = [replace(one, dense=QUERY) for one in written]
    hold(double, "textbook_book_v2", [] if fault == "not there" else stored)
    path = "POST /collections/textbook_book_v2/points"
    double.routes[f"{path}/count"] = lambda _: Reply(result={"count": 20})
    if fault == "not found":
        nothing = Reply(result=[{"points": []}] * 2)
        double.routes[f"{path}/query/batch"] = lambda _: nothing

    async def scenario() -> None:
        async with index_at(double.url) as index:
            writer = await index.begin(BookId("book"), DIMENSION)
            await writer.write(written)
            with pytest.raises(StorageError, match=r"textbook_book_v2: .*: not published"):
                await writer.publish(manifest("book", 20))
            await writer.abandon()

    asyncio.run(scenario())
    assert not double.bodies("POST /collections/aliases")
    assert "DELETE /collections/textbook_book_v2" in double.lines()


def test_a_run_that_writes_nothing_for_long_keeps_its_lease(
    double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To embed a book can take hours, in which the index hears nothing else."""
    serve(double, {}, {})
    monkeypatch.setattr("app.adapters.qdrant.server_writer.RENEW_SECONDS", 0.01)
    renewed = threading.Event()

    def note(_: Request) -> Reply:
        renewed.set()
        return Reply()

    double.routes["PATCH /collections/textbook_book_v1"] = note

    async def scenario() -> None:
        async with index_at(double.url) as index:
            writer = await index.begin(BookId("book"), DIMENSION)
            assert await asyncio.to_thread(renewed.wait, 10)
            await writer.abandon()

    asyncio.run(scenario())
    lease = double.bodies("PATCH /collections/textbook_book_v1")[0]["metadata"]
    assert isinstance(lease, dict)
    assert lease["lease"]["pid"] == os.getpid()
    assert double.lines()[-1] == "DELETE /collections/textbook_book_v1"


def test_a_point_carries_both_vectors_and_the_whole_chunk(double: QdrantDouble) -> None:
    serve(double, {}, {})

    async def scenario() -> None:
        async with index_at(double.url) as index:
            writer = await index.begin(BookId("book"), 2)
            point = points("book", [1])[0]
            sparse = SparseVector((7, 4_294_967_295), (0.5, 1.5))
            await writer.write([type(point)(point.chunk, vector(0.25, 0.5), sparse)])

    asyncio.run(scenario())
    (body,) = double.bodies("PUT /collections/textbook_book_v1/points")
    assert isinstance(body["points"], list)
    (stored,) = body["points"]
    payload = stored.pop("payload")
    assert stored == {
        "id": chunk_id("book", 1),
        "vector": {
            "dense": [0.25, 0.5],
            "bm25": {"indices": [7, 4_294_967_295], "values": [0.5, 1.5]},
        },
    }
    assert payload["text_content"] == chunk("book", 1).text_content
    assert payload["paragraph_id"] == chunk("book", 1).paragraph_id
    assert payload["spans"] == [[0, 7], [9, 12]]


def test_payload_indexes_and_limits_are_set_before_the_first_point(double: QdrantDouble) -> None:
    serve(double, {}, {})
    options = ServerOptions(
        shard_number=6,
        replication_factor=2,
        write_consistency_factor=2,
        quantization="int8",
        on_disk_vectors=True,
    )

    async def scenario() -> None:
        async with index_at(double.url, options) as index:
            await index.begin(BookId("book"), 1_024)

    asyncio.run(scenario())
    created, *indexes = double.bodies("PUT ")
    lease = created["metadata"].pop("lease")  # type: ignore[attr-defined]
    assert lease["pid"] == os.getpid()
    assert created == {
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
        "sparse_vectors": {"bm25": {"modifier": "idf"}},
        "shard_number": 6,
        "replication_factor": 2,
        "write_consistency_factor": 2,
        "strict_mode_config": {
            "enabled": True,
            "max_query_limit": 1_000,
            "unindexed_filtering_retrieve": False,
            "unindexed_filtering_update": False,
            "upsert_max_batchsize": 256,
            "search_max_batchsize": 8,
            "filter_max_conditions": 64,
        },
        "metadata": {"prefix": "textbook", "book": "book"},
    }
    assert {body["field_name"]: body["field_schema"] for body in indexes} == {
        "book": {"type": "keyword", "is_tenant": True},
        "file": "keyword",
        "chapter": "keyword",
        "content_type": "keyword",
        "page": "keyword",
        "kinds": "keyword",
        "language": "keyword",
        "paragraph_ids": "keyword",
        "position": "integer",
    }


def test_without_strict_mode_and_quantization_neither_is_asked_for(double: QdrantDouble) -> None:
    serve(double, {}, {})

    async def scenario() -> None:
        async with index_at(double.url, ServerOptions(strict_mode=False)) as index:
            await index.begin(BookId("book"), 8)

    asyncio.run(scenario())
    created = double.bodies("PUT ")[0]
    assert "strict_mode_config" not in created
    assert created["vectors"] == {"dense": {"size": 8, "distance": "Cosine", "on_disk": False}}


def test_both_searches_go_in_one_request_without_payload(double: QdrantDouble) -> None:
    serve(double, {"textbook_book_v1": metadata(1)}, {"textbook_book": "textbook_book_v1"})
    asked = SearchFilter(
        books=(BookId("book"),), files=("a.md",), content_types=("code", "table"), max_position=4
    )
    sparse = SparseVector((7, 9), (1.0, 2.0))

    async def scenario() -> None:
        async with index_at(double.url, ServerOptions(quantization="int8")) as index:
            for _ in range(3):
                found = await index.search(QUERY, sparse, 20, asked)
            assert [hit.score for hit in (*found.dense, *found.sparse)] == [0.5, 0.5]

    asyncio.run(scenario())
    # The catalogue is asked once in half a second, not once a search.
    assert [line for line in double.lines() if line.startswith("GET")] == [
        "GET /aliases",
        "GET /collections/textbook_book_v1",
    ]
    bodies = double.bodies("POST /collections/textbook_book_v1/points/query/batch")
    condition = {
        "must": [
            {"key": "file", "match": {"any": ["a.md"]}},
            {"key": "content_type", "match": {"any": ["code", "table"]}},
            {"key": "position", "range": {"lte": 4.0}},
        ]
    }
    common = {"filter": condition, "limit": 20, "with_payload": False}
    assert bodies == 3 * [
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
                    "query": {"nearest": {"indices": [7, 9], "values": [1.0, 2.0]}},
                    "using": "bm25",
                },
            ]
        }
    ]


def test_no_request_holds_more_searches_than_strict_mode_allows(double: QdrantDouble) -> None:
    """However many terms a question has."""
    serve(double, {"textbook_book_v1": metadata(1)}, {"textbook_book": "textbook_book_v1"})
    hold(double, "textbook_book_v1", points("book", [1]))

    async def scenario() -> None:
        async with index_at(double.url) as index:
            assert await index.best_scores(range(20)) == [1.0] * 20

    asyncio.run(scenario())
    searches = [body["searches"] for body in double.bodies("POST ")]
    assert [len(one) for one in searches if isinstance(one, list)] == [8, 8, 4]


def test_a_collection_that_vanished_is_looked_up_again(double: QdrantDouble) -> None:
    serve(double, {"textbook_book_v1": metadata(1)}, {"textbook_book": "textbook_book_v1"})

    async def scenario() -> None:
        async with index_at(double.url) as index:
            await index.search(QUERY, None, 5, ALL)
            serve(double, {"textbook_book_v3": metadata(3)}, {"textbook_book": "textbook_book_v3"})
            found = await index.search(QUERY, None, 5, ALL)
            assert [hit.chunk_id for hit in found.dense] == [chunk_id("book", 1)]

    asyncio.run(scenario())
    assert double.lines()[-1].startswith("POST /collections/textbook_book_v3/")


def test_collections_of_other_programs_are_neither_listed_nor_touched(
    double: QdrantDouble,
) -> None:
    theirs = metadata(1) | {"prefix": "textbook_x", "book": "book"}
    serve(
        double,
        {
            "textbook_x_book_v1": theirs,
            "textbook_x_book_v2": theirs,
            "textbook_plain_v1": {},
            "textbook_plain_v2": {},
        },
        {"textbook_x_book": "textbook_x_book_v1", "textbook_plain": "textbook_plain_v1"},
    )

    async def scenario() -> None:
        async with index_at(double.url) as index:
            assert await index.books() == []
            await index.begin(BookId("x_book"), 8)
            await index.begin(BookId("plain"), 8)

    asyncio.run(scenario())
    assert not [line for line in double.lines() if line.startswith("DELETE")]


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
    double.routes["GET /aliases"] = lambda _: reply
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
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert public_address(url) == shown


def test_losing_the_race_for_a_collection_is_index_busy(double: QdrantDouble) -> None:
    serve(double, {}, {})
    taken = Reply(409, None, "Wrong input: Collection `textbook_book_v1` already exists!")
    double.routes["PUT /collections/textbook_book_v1"] = lambda _: taken

    async def scenario() -> None:
        async with index_at(double.url) as index:
            await index.begin(BookId("book"), 8)

    with pytest.raises(IndexBusy, match="'book' is being written"):
        asyncio.run(scenario())


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
        (lambda: lease(HERE, os.getppid(), 10 * LEASE_SECONDS), True),
        (lambda: lease(HERE, dead_process()), False),
        # A process of our own id before us: the container was started again.
        (lambda: lease(HERE, os.getpid()), False),
        (lambda: lease("elsewhere", 1, LEASE_SECONDS / 2), True),
        (lambda: lease("elsewhere", 1, LEASE_SECONDS * 2), False),
    ],
    ids=["this process", "running here", "died here", "same id", "elsewhere", "silent elsewhere"],
)
def test_an_unfinished_collection_is_cleared_away_only_when_its_writer_is_dead(
    double: QdrantDouble, make: Callable[[], Lease], held: bool
) -> None:
    writer = make()
    unfinished: Json = {"prefix": "textbook", "book": "book", "lease": writer.to_json()}
    serve(double, {"textbook_book_v1": unfinished}, {})

    async def scenario() -> None:
        async with index_at(double.url) as index:
            await index.begin(BookId("book"), 8)

    if held:
        with pytest.raises(IndexBusy, match=f"process {writer.pid} on {writer.host}, started 20"):
            asyncio.run(scenario())
        assert not [line for line in double.lines() if not line.startswith("GET")]
    else:
        asyncio.run(scenario())
        assert double.lines().index("DELETE /collections/textbook_book_v1") < double.lines().index(
            "PUT /collections/textbook_book_v2"
        )


def test_another_process_sees_a_switch_half_a_second_later() -> None:
    async def scenario() -> None:
        now = 0.0
        client = AsyncQdrantClient(":memory:")
        writer = ServerIndex(client, "textbook", "http://localhost")
        reader = ServerIndex(client, "textbook", "http://localhost", clock=lambda: now)

        async def seen() -> set[str]:
            return {hit.chunk_id for hit in (await reader.search(QUERY, None, 9, ALL)).dense}

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
        assert [one.chunks for one in await reader.books()] == [1]
        assert await seen() == {chunk_id("book", 3)}
        await client.close()

    asyncio.run(scenario())


def test_a_manifest_of_another_layout_is_a_clear_error(double: QdrantDouble) -> None:
    old = metadata(1) | {"manifest": {"layout": 0}}
    serve(double, {"textbook_book_v1": old}, {"textbook_book": "textbook_book_v1"})
    error = refused(double.url)
    assert isinstance(error, StorageError)
    assert "textbook_book_v1: not an index of layout 2" in str(error)


def test_a_manifest_written_before_an_optional_field_existed_is_read() -> None:
    data = manifest_to_json(manifest("book", 3))
    del data["size_bytes"]
    assert manifest_from_json(data, "here") == manifest("book", 3)


def test_a_damaged_manifest_or_a_failing_collection_leaves_the_other_books_alone(
    double: QdrantDouble,
) -> None:
    broken = metadata(1) | {"book": "broken", "manifest": {"layout": 0}}
    failing = metadata(1) | {"book": "failing"}
    failing["manifest"] = manifest_to_json(manifest("failing", 3))
    collections = {
        "textbook_book_v1": metadata(1),
        "textbook_broken_v1": broken,
        "textbook_failing_v1": failing,
    }
    serve(double, collections, {name.removesuffix("_v1"): name for name in collections})
    error = Reply(500, None, "Service internal error: disk")
    double.routes["POST /collections/textbook_failing_v1/points/query/batch"] = lambda _: error

    async def scenario() -> None:
        async with index_at(double.url) as index:
            await index.check()
            assert [one.book for one in await index.books()] == ["book", "failing"]
            assert list(await index.damaged()) == ["broken"]
            found = await index.search(QUERY, None, 5, ALL)
            assert [hit.book for hit in found.dense] == ["book"]
            damage = await index.damaged()
            assert list(damage) == ["broken", "failing"]
            assert not any(one.answers for one in damage.values())
            for book in ("broken", "failing"):
                with pytest.raises(StorageError):
                    await index.search(QUERY, None, 5, SearchFilter(books=(BookId(book),)))
            faults = await index.faults(BookId("broken"))
            assert ["not an index of layout 2" in line for line in faults] == [True]
            serve(double, collections, {"textbook_failing": "textbook_failing_v1"})
            await index.check()
            found = await index.search(QUERY, None, 5, ALL)
            assert [hit.book for hit in found.dense] == ["failing"]
            assert await index.damaged() == {}

    asyncio.run(scenario())
