"""What the server refuses to give one client, and what it refuses to wait for."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.limits import ANSWER, MAX_BUCKETS, FairQueue, RateLimit, network_of
from app.domain.errors import Overloaded
from tests.owl_server import QUESTION, assert_problem, events_of
from tests.serving import ScriptedGenerator, connected, offline_settings


class Clock:
    def __init__(self) -> None:
        self.time = 50.0

    def __call__(self) -> float:
        return self.time


def test_a_bucket_gives_a_minutes_questions_at_once_and_then_its_rate() -> None:
    clock = Clock()
    limit = RateLimit(per_minute=3, clock=clock)
    for passed, waits in ((0, [0, 0, 0, 20]), (15, [5]), (5.1, [0, 19.9]), (3_600, [0, 0, 0, 20])):
        clock.time += passed
        assert [limit.admit("a", ANSWER) for _ in waits] == pytest.approx(waits)
    assert limit.admit("b", ANSWER) == 0, "another client has a bucket of its own"


def test_clients_beyond_the_memory_are_forgotten_oldest_first() -> None:
    limit = RateLimit(per_minute=1, clock=Clock())
    for client in (*map(str, range(MAX_BUCKETS)), "newcomer"):
        assert limit.admit(client, ANSWER) == 0
    assert limit.admit("1", ANSWER) > 0
    assert limit.admit("0", ANSWER) == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", True),
        ("2001:db8:1:2::1", "2001:db8:2:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("testclient", "testclient", True),
        ("testclient", "", False),
    ],
)
def test_a_client_is_an_address_or_an_ipv6_site(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) == same


@pytest.fixture
def strict(own_home: Path, generator: ScriptedGenerator) -> Iterator[httpx.Client]:
    """A client of a server that takes four questions and waits a second for an answer."""
    settings = offline_settings(own_home, questions_per_minute=4)
    with pytest.MonkeyPatch.context() as patch, connected(settings, generator.open) as client:
        patch.setattr("app.api.asking.ANSWER_SECONDS", 1.0)
        yield client


def test_an_answer_takes_so_long_and_no_longer_and_a_client_gets_so_many(
    strict: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The flight makes ", hangs=True)
    events = events_of(strict.post("/v1/chat", json={"question": QUESTION, "stream": True}))
    assert events[-1][0] == "error"
    assert events[-1][1]["code"] == "provider_unavailable"
    assert generator.cancelled.wait(20)
    generator.play("The flight makes ", hangs=True)
    whole = strict.post("/v1/chat", json={"question": QUESTION})
    assert_problem(whole, 503, "provider_unavailable")
    assert generator.cancelled.wait(20)

    for _ in range(2):
        assert strict.post("/v1/search", json={"question": QUESTION}).status_code == 200
    generator.play("No sound.")
    assert strict.post("/v1/chat", json={"question": QUESTION}).status_code == 200
    for path in ("/v1/chat", "/v1/search"):
        refused = strict.post(path, json={"question": QUESTION})
        problem = assert_problem(refused, 429, "too_many_requests")
        assert 0 < problem["retry_after"] <= 60
        assert problem["retry_after"] <= int(refused.headers["retry-after"]) <= 60
    for path in ("/v1/books", "/v1/glossary?page=/owls", "/readyz"):
        assert strict.get(path).status_code == 200


CALL = {"name": "ask_book", "arguments": {"question": QUESTION}}
COSTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "owls", "messages": [{"role": "user", "content": QUESTION}]},
    "/v1/ai-sdk": {"messages": [{"role": "user", "parts": [{"type": "text", "text": QUESTION}]}]},
    "/v1/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL},
}


def test_a_question_costs_the_same_in_every_protocol(owl_home: Path) -> None:
    proxied = {"questions_per_minute": 1, "trusted_proxies": "127.0.0.1", "open": True}
    with connected(offline_settings(owl_home, **proxied)) as client:
        client.headers["Accept"] = "application/json, text/event-stream"
        for number, (path, body) in enumerate(COSTS.items()):
            reader = {"X-Forwarded-For": f"1.1.1.{number}"}
            first, second = (client.post(path, json=body, headers=reader) for _ in range(2))
            assert first.status_code == 200, path
            assert "too_many_requests" not in first.text
            assert "too_many_requests" in second.text, path
            assert second.status_code == (200 if path == "/v1/mcp" else 429)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("trusted", "first", "second", "admitted"),
    [
        ("", "1.1.1.1", "2.2.2.2", False),
        ("127.0.0.0/8", "1.1.1.1", "2.2.2.2", True),
        ("127.0.0.1", "8.8.8.8, 1.1.1.1", "9.9.9.9, 1.1.1.1", False),
        ("127.0.0.1, 10.0.0.0/8", "1.1.1.1, 10.0.0.1", "2.2.2.2, 10.0.0.1", True),
    ],
)
def test_only_a_trusted_proxy_says_who_asks(
    state: Path, trusted: str, first: str, second: str, admitted: bool
) -> None:
    settings = offline_settings(state, questions_per_minute=1, trusted_proxies=trusted, open=True)
    with connected(settings) as client:
        for forwarded, status in ((first, 422), (second, 422 if admitted else 429)):
            sent = {"X-Forwarded-For": forwarded}
            assert client.post("/v1/chat", json={}, headers=sent).status_code == status


@pytest.mark.attack
def test_an_answer_that_waits_for_its_model_holds_up_no_search(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.limits.SEARCHES_AT_ONCE", 1)
    generator = ScriptedGenerator()
    generator.play("The flight ", hangs=True)
    body = {"question": QUESTION, "stream": True}
    with connected(offline_settings(state), generator.open) as client:
        with client.stream("POST", "/v1/chat", json=body):
            assert generator.hanging.wait(20)
            assert client.post("/v1/search", json={"question": QUESTION}).status_code == 200
        assert generator.cancelled.wait(20)


async def waiting(queue: FairQueue, clients: str, served: list[str]) -> list[asyncio.Task[None]]:
    """Return tasks that have asked for a place, in this order."""

    async def hold(client: str) -> None:
        async with queue.place(client):
            served.append(client)

    tasks = [asyncio.create_task(hold(client)) for client in clients]
    await asyncio.sleep(0)
    return tasks


def test_clients_that_wait_are_served_in_turn_and_one_alone_has_all_places() -> None:
    async def run() -> list[str]:
        queue, served = FairQueue(2), list[str]()
        async with queue.place("a"), queue.place("a"):
            tasks = await waiting(queue, "aaaabbc", served)
            assert not served
        await asyncio.gather(*tasks)
        return served

    assert "".join(asyncio.run(run())) == "abcabaa"


async def test_a_request_waits_for_its_turn_no_longer_than_allowed_and_leaves_no_trace() -> None:
    queue, served = FairQueue(1, longest_wait=0.01), list[str]()
    async with queue.place("a"):
        late = await waiting(queue, "ab", served)
        failures = await asyncio.gather(*late, return_exceptions=True)
        assert [type(one) for one in failures] == [Overloaded, Overloaded]
    await asyncio.gather(*await waiting(queue, "ab", served))
    assert served == ["a", "b"]
