"""Calls to a cluster: failures go to the next node, slow reads to a second one."""

import asyncio
from typing import cast

import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server_client import Nodes, addresses, server_client
from app.adapters.qdrant.server_errors import CollectionMissing
from app.domain.errors import ConfigError, StorageError

pytestmark = pytest.mark.usefixtures("loop_of_grpc")

URLS = ["http://a:1", "http://b:2", "http://c:3"]
READ, WRITE = "query_batch_points", "upsert"


def rpc_error(code: StatusCode, details: str = "details") -> AioRpcError:
    return AioRpcError(code, Metadata(), Metadata(), details)


LOST = rpc_error(StatusCode.UNAVAILABLE)


class Cluster:
    """Nodes by letter: `faults` raises on one, `silent` ones never answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ready = "a"
        self.faults: dict[str, Exception] = {}
        self.silent = ""
        clients = {url: cast("AsyncQdrantClient", Node(self, url[7])) for url in URLS}
        self.nodes = Nodes(clients, self.is_ready)

    async def is_ready(self, address: str) -> bool:
        return address[7] in self.ready

    async def call(self, name: str = READ) -> str:
        answer: str = await getattr(self.nodes, name)("text")
        return answer


class Node:
    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name

    async def query_batch_points(self, text: str) -> str:
        self.cluster.asked.append(self.name)
        if self.name in self.cluster.silent:
            await asyncio.Event().wait()
        if error := self.cluster.faults.get(self.name):
            raise error
        return f"{self.name} {text}"

    upsert = query_batch_points


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.mark.parametrize(
    "code", [StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED, StatusCode.INTERNAL]
)
@pytest.mark.parametrize("name", [READ, WRITE])
async def test_what_fails_on_one_node_is_asked_of_one_that_is_ready(
    cluster: Cluster, code: StatusCode, name: str
) -> None:
    assert await cluster.call(name) == "a text"
    cluster.faults["a"] = rpc_error(code)
    cluster.ready = "c"
    assert await cluster.call(name) == "c text"
    assert cluster.asked == ["a", "a", "c"]


@pytest.mark.parametrize("code", [StatusCode.NOT_FOUND, StatusCode.INVALID_ARGUMENT])
async def test_a_refusal_is_not_asked_again(cluster: Cluster, code: StatusCode) -> None:
    error = cluster.faults["a"] = rpc_error(code)
    with pytest.raises(StorageError) as caught:
        await cluster.call()
    assert caught.value.__cause__ is error
    assert cluster.asked == ["a"]


async def test_a_missing_collection_is_an_error_of_its_own(cluster: Cluster) -> None:
    gone = "Not found: Collection `textbook~books` doesn't exist!"
    cluster.faults["a"] = rpc_error(StatusCode.NOT_FOUND, gone)
    with pytest.raises(CollectionMissing):
        await cluster.call()


async def test_a_read_without_an_answer_is_sent_to_a_second_node(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.adapters.qdrant.server_client.HEDGE_SECONDS", 0.01)
    await cluster.call()
    cluster.silent = "a"
    cluster.ready = "ab"
    assert await cluster.call() == "b text"


async def test_a_node_that_is_not_ready_is_not_asked(cluster: Cluster) -> None:
    """One that came back holds what it held when it went; it may be the fastest to answer."""
    await cluster.call()
    cluster.ready = "b"
    cluster.faults["a"] = LOST
    await cluster.call()
    del cluster.faults["a"]
    assert [await cluster.call() for _ in range(3)] == ["b text"] * 3
    assert cluster.asked == ["a", "a", "b", "b", "b", "b"]


async def test_when_no_node_answers_the_last_failure_is_raised_after_a_while(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.adapters.qdrant.server_client.READ_SECONDS", 0.01)
    cluster.faults["a"] = LOST
    with pytest.raises(StorageError, match=r"cannot reach Qdrant at http://a:1, .*details"):
        await cluster.call()
    cluster.ready = ""
    with pytest.raises(StorageError, match="no node of the cluster is ready"):
        await cluster.call()


def test_addresses_are_separated_by_commas_and_get_a_scheme() -> None:
    assert addresses("https://a:1, b:2,") == ["https://a:1", "http://b:2"]
    with pytest.raises(ConfigError, match="QDRANT_URL"):
        addresses(" ,")


@pytest.mark.parametrize(("scheme", "logged"), [("http", ["index.key_unencrypted"]), ("https", [])])
async def test_a_key_that_is_sent_unencrypted_is_logged_once(
    scheme: str,
    logged: list[str],
    caplog: pytest.LogCaptureFixture,
    recwarn: pytest.WarningsRecorder,
) -> None:
    await server_client(f"{scheme}://qdrant.example:6333", "a-secret-key").close()
    assert [one.message for one in caplog.records] == logged
    assert not [one for one in recwarn if "insecure" in str(one.message)]
    assert "a-secret-key" not in caplog.text
