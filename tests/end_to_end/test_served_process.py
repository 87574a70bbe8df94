"""A whole server process: what it answers to attacks and to many connections, its end, its log."""

from __future__ import annotations

import json
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
from tests.openai_double import OpenAIDouble, event
from tests.owl_server import QUESTION, UNSURE
from tests.served_process import Served, served_process

connections = pytest.mark.attack("connections")
NO_HTTP = b"Invalid HTTP request received."
"""What uvicorn says to a request that is none."""


@pytest.fixture(scope="module")
def served(own_home: Path) -> Iterator[Served]:
    """A server that may open 200 files."""
    with served_process(own_home, descriptors=200, RAG_QUESTIONS_PER_MINUTE="0") as server:
        yield server


def health(served: Served) -> int:
    connection = served.http()
    connection.request("GET", "/healthz")
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.attack("requests")
@pytest.mark.parametrize("attack", table("requests"), ids=lambda attack: attack["name"])
def test_an_attack_gets_its_answer_and_the_server_goes_on(
    served: Served, attack: dict[str, Any]
) -> None:
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
    if body == NO_HTTP:
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
def test_more_connections_than_allowed_are_refused_and_no_outage_once_they_end(
    served: Served,
) -> None:
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
