"""A cluster's transport: failures go to the next node, slow reads to a second one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest

from app.adapters.qdrant import server_nodes
from app.adapters.qdrant.server_nodes import Nodes, addresses
from app.domain.errors import ConfigError

URLS = ["http://a:1", "http://b:2", "http://c:3"]
READ, WRITE = "/collections/x/points/query/batch", "/collections/x/points"


class Cluster(httpx.AsyncBaseTransport):
    """Nodes by host; what `faults` says of one happens, else it answers with its name."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ready = {"a": True, "b": False, "c": False}
        self.faults: dict[str, Callable[[], Awaitable[httpx.Response]]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if request.url.path == "/readyz":
            return httpx.Response(200 if self.ready[host] else 503)
        self.asked.append(host)
        assert request.headers["host"] == f"{host}:{request.url.port}"
        if host in self.faults:
            return await self.faults[host]()
        return httpx.Response(200, content=f"{host} {request.content.decode()}")

    async def lost(self) -> httpx.Response:
        message = "gone"
        raise httpx.ReadError(message)

    async def silent(self) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError


def play(scenario: Callable[[Cluster, httpx.AsyncClient], Awaitable[None]]) -> None:
    async def run() -> None:
        cluster = Cluster()
        async with httpx.AsyncClient(transport=Nodes(URLS, cluster), base_url=URLS[0]) as client:
            await scenario(cluster, client)

    asyncio.run(run())


def only(cluster: Cluster, host: str) -> None:
    cluster.ready = {name: name == host for name in cluster.ready}


@pytest.mark.parametrize("status", [0, 408, 500, 503])
@pytest.mark.parametrize(("method", "path"), [("POST", READ), ("PUT", WRITE)])
def test_what_fails_on_one_node_is_asked_of_one_that_is_ready(
    status: int, method: str, path: str
) -> None:
    async def scenario(cluster: Cluster, client: httpx.AsyncClient) -> None:
        assert (await client.request(method, path, content="body")).text == "a body"

        async def refused() -> httpx.Response:
            return httpx.Response(status)

        cluster.faults["a"] = refused if status else cluster.lost
        only(cluster, "c")
        assert (await client.request(method, path, content="body")).text == "c body"
        assert cluster.asked == ["a", "a", "c"]

    play(scenario)


def test_a_refusal_is_not_asked_again() -> None:
    async def scenario(cluster: Cluster, client: httpx.AsyncClient) -> None:
        async def missing() -> httpx.Response:
            return httpx.Response(404)

        cluster.faults["a"] = missing
        assert (await client.post(READ)).status_code == 404
        assert cluster.asked == ["a"]

    play(scenario)


def test_a_read_without_an_answer_is_sent_to_a_second_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_nodes, "HEDGE_SECONDS", 0.01)

    async def scenario(cluster: Cluster, client: httpx.AsyncClient) -> None:
        await client.post(READ)
        cluster.faults["a"] = cluster.silent
        cluster.ready["b"] = True
        assert (await client.post(READ)).text == "b "

    play(scenario)


def test_a_node_that_is_not_ready_is_not_asked() -> None:
    """One that came back holds what it held when it went; it may be the fastest to answer."""

    async def scenario(cluster: Cluster, client: httpx.AsyncClient) -> None:
        await client.post(READ)
        only(cluster, "b")
        cluster.faults["a"] = cluster.lost
        await client.post(READ)
        del cluster.faults["a"]
        assert [(await client.post(READ)).text for _ in range(3)] == ["b "] * 3
        assert cluster.asked == ["a", "a", "b", "b", "b", "b"]

    play(scenario)


def test_when_no_node_answers_the_last_failure_is_raised_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_nodes, "READ_SECONDS", 0.01)

    async def scenario(cluster: Cluster, client: httpx.AsyncClient) -> None:
        cluster.faults["a"] = cluster.lost
        with pytest.raises(httpx.ReadError):
            await client.post(READ)
        only(cluster, "")
        with pytest.raises(httpx.ConnectError):
            await client.post(READ)

    play(scenario)


def test_addresses_are_separated_by_commas_and_get_a_scheme() -> None:
    assert addresses("https://a:1, b:2,") == ["https://a:1", "http://b:2"]
    with pytest.raises(ConfigError, match="QDRANT_URL"):
        addresses(" ,")
