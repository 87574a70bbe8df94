"""Whole server processes: what attacks and many connections get, the end, the log, workers."""

import asyncio
import json
import os
import re
import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.attacking import filled, table
from tests.cohere_double import CohereDouble, Fault
from tests.command_line import Run
from tests.index_stores import NOT_RUN, URL, real_server
from tests.ingesting import edit, make_book
from tests.openai_double import OpenAIDouble, event
from tests.owl_server import QUESTION, UNSURE
from tests.served_process import Served, free_port, served_process
from tests.serving import ingested

connections = pytest.mark.attack
NOT_OURS = (b"Invalid HTTP request received.", b"Range header: range must be requested")
"""What uvicorn and Starlette say to a request and a range that are none."""


@pytest.fixture(scope="module")
def served(own_home: Path) -> Iterator[Served]:
    """A server that may open 200 files."""
    with served_process(own_home, descriptors=200, RAG_QUESTIONS_PER_MINUTE="0") as server:
        yield server


def health(served: Served) -> int:
    connection = served.http()
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    except ConnectionResetError:  # one too many, closed before its request was read
        return 503
    finally:
        connection.close()


@pytest.mark.attack
@pytest.mark.parametrize("attack", table("requests"), ids=lambda attack: attack["name"])
def test_an_attack_is_answered_and_survived(served: Served, attack: dict[str, Any]) -> None:
    with served.connect() as connection:
        connection.sendall(bytes_of(attack))
        response = HTTPResponse(connection, method=attack.get("method"))
        response.begin()
        body = response.read()
        assert connection.recv(1) == b"", "one request has one response"
    wanted = attack["status"] if isinstance(attack["status"], list) else [attack["status"]]
    assert response.status in wanted, body
    assert response.status < 500 or response.status == 501
    kind = response.headers["content-type"]
    if body in NOT_OURS:
        assert "code" not in attack, body
    elif response.status >= 400 and body and not (response.status == 404 and "text/html" in kind):
        assert kind == "application/problem+json"
        problem = json.loads(body)
        assert (problem["status"], problem["request_id"] != "") == (response.status, True)
        assert problem["code"] == attack.get("code", problem["code"])
    else:
        assert "code" not in attack, body
    if "absent" in attack:
        assert attack["absent"].lower() not in f"{response.headers}\n{body.decode()}".lower()
    assert health(served) == 200


def bytes_of(attack: dict[str, Any]) -> bytes:
    """Return what goes over the wire."""
    repeat = attack.get("repeat", {})
    if "raw" in attack:
        return filled(attack["raw"], repeat).encode("latin-1")
    body = filled(attack.get("body", ""), repeat).encode()
    headers = {"Host": "127.0.0.1", "Connection": "close"} | attack.get("headers", {})
    if body:
        headers |= {"Content-Length": str(len(body))}
    head = [f"{attack['method']} {attack['path']} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    return filled("\r\n".join([*head, "", ""]), repeat).encode() + body


@connections
def test_more_connections_than_allowed_are_refused_and_no_outage(served: Served) -> None:
    with ExitStack() as stack:
        for _ in range(110):
            stack.enter_context(served.connect())
        assert health(served) == 503
    while health(served) != 200:
        time.sleep(0.05)
    assert "Too many open files" not in served.log.read_text()


@pytest.fixture
def endless(state: Path) -> Iterator[Served]:
    """A server whose model never comes to an end."""

    def words(_request: dict[str, Any]) -> Iterator[str]:
        while not double.left.wait(0.05):
            yield event("owl ")

    with OpenAIDouble() as double:
        double.answering = words  # read one by one
        with served_process(
            state,
            running="import app.api.server as served; served.SHUTDOWN_SECONDS = 1",
            RAG_GENERATOR="openai",
            RAG_OPENAI_BASE_URL=double.url,
        ) as server:
            yield server


def asked(server: Served, *, stream: bool) -> HTTPConnection:
    client = server.http()
    body = json.dumps({"question": QUESTION, "stream": stream})
    client.request("POST", "/v1/chat", body, {"Content-Type": "application/json"})
    return client


@connections
def test_a_stopped_server_ends_its_streams_with_an_error_event(endless: Served) -> None:
    stream, whole = asked(endless, stream=True), asked(endless, stream=False)
    response = stream.getresponse()
    begun = response.read1(10)
    endless.process.send_signal(signal.SIGTERM)
    events = (begun + response.read()).decode().strip().split("\n\n")
    name, data = events[-1].splitlines()
    assert name == "event: error"
    assert json.loads(data.removeprefix("data: "))["code"] == "shutting_down"
    refused = whole.getresponse()
    assert refused.status == 503
    assert json.loads(refused.read())["code"] == "shutting_down"
    endless.process.wait(30)
    assert '"serve.stopped"' in endless.log.read_text()
    stream.close()
    whole.close()


# --- the log

BODY = "what-the-provider-said"


@dataclass(frozen=True)
class Logging:
    """A server of which each test reads the log; it has what the tests before asked, too."""

    served: Served
    double: CohereDouble

    def ask(self, **body: object) -> httpx.Response:
        url = f"http://127.0.0.1:{self.served.port}/v1/chat"
        return httpx.post(url, json={"question": QUESTION, **body}, timeout=30)

    def lines(self) -> list[dict[str, Any]]:
        whole, _, _ = self.served.log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def line(self, event: str, response: httpx.Response) -> dict[str, Any]:
        """Return the only line of this event of the response's request, which may come late."""
        asked = (event, response.headers["x-request-id"])
        while True:
            found = [one for one in self.lines() if (one["event"], one["request_id"]) == asked]
            if found:
                (line,) = found
                return line
            time.sleep(0.01)


@pytest.fixture(scope="module")
def logging(own_home: Path) -> Iterator[Logging]:
    with CohereDouble() as double:
        provider = {"CO_API_KEY": double.key, "RAG_COHERE_BASE_URL": double.url}
        with served_process(own_home, None, RAG_GENERATOR="cohere", **provider) as process:
            yield Logging(process, double)


def test_every_line_is_json_with_time_level_event_and_request(logging: Logging) -> None:
    line = logging.line("answer.finished", logging.ask())
    refused = logging.ask(book="no-such-book")
    assert logging.line("http.refused", refused)["status"] == 404
    for one in logging.lines():
        assert list(one)[:4] == ["time", "level", "event", "request_id"]
    without = [one["event"] for one in logging.lines() if not one["request_id"]]
    assert without == ["serve.starting", "serve.started"]
    assert {"embedding", "search", "rerank", "context", "generation"} <= set(line["stages"])
    assert 0 < sum(line["stages"].values()) <= line["ms"]
    assert line["input_tokens"] > 0
    assert line["usd"] > 0
    assert QUESTION not in logging.served.log.read_text()


@pytest.mark.parametrize("status", [400, 401, 402, 422, 429, 503])
def test_a_degraded_answer_has_the_providers_status_and_nothing_that_it_said(
    logging: Logging, status: int
) -> None:
    logging.double.heal()
    for endpoint in ("rerank", "chat"):
        logging.double.fail(*[Fault(status=status, message=BODY)] * 3, endpoint=endpoint)
    answer = logging.ask()
    assert answer.json()["degraded"] == ["rerank", "generator"]
    causes = logging.line("answer.finished", answer)["causes"]
    expected = [("rerank", status), ("generator", status)]
    assert [(one["step"], one["status"]) for one in causes] == expected
    text = logging.served.log.read_text()
    assert BODY not in text
    assert logging.double.key not in text


def test_the_cause_of_a_5xx_stands_with_its_request_id(logging: Logging) -> None:
    logging.double.heal()
    logging.double.fail(*[Fault(status=503)] * 3, endpoint="rerank")
    logging.double.fail(Fault(kind="drop"), Fault(kind="drop"), endpoint="chat")
    failed = logging.ask(question=UNSURE)
    assert failed.status_code == 503
    line = logging.line("http.request_failed", failed)
    assert line["level"] == "warning"
    assert (line["status"], line["code"]) == (503, "provider_unavailable")
    assert "connection broke" in line["reason"]
    assert "generation" in line["stages"]


# --- several workers: one address, one index on a server

WORKERS = 4


def test_several_workers_with_the_embedded_index_are_refused_in_one_line(run: Run) -> None:
    refused = run("serve", RAG_WORKERS="4", RAG_PORT=str(free_port())).refusal()
    assert "4 workers need a Qdrant server" in refused
    assert "set QDRANT_URL" in refused


def found(connection: HTTPConnection, question: str) -> str:
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


@pytest.mark.skipif(not URL, reason=NOT_RUN)
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
                    assert word not in found(connection, word)
                edit(book / "page0.md", "beam", f"beam {word}")
                ingested(settings.home, book, **place)
                published = time.perf_counter()
                waiting = list(connections.values())
                while waiting:
                    waiting = [one for one in waiting if word not in found(one, word)]
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
