"""What one connection may take of the server, and how the server ends."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.openai_double import OpenAIDouble, event
from tests.owl_server import QUESTION
from tests.served_process import Served, served_process
from tests.serving import ScriptedGenerator, connected, offline_settings, serving

pytestmark = pytest.mark.attack


# --- a whole process ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(owl_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that may open 200 files."""
    home = Path(shutil.copytree(owl_home, tmp_path_factory.mktemp("served") / "rag"))
    with served_process(home, descriptors=200) as server:
        yield server


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


def health(served: Served) -> int:
    connection = served.http()
    connection.request("GET", "/healthz")
    status = connection.getresponse().status
    connection.close()
    return status


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


# --- who is believed ----------------------------------------------------------------------------


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
    with serving(settings) as address:
        codes = [
            httpx.post(
                f"{address}/v1/chat", json={}, headers={"X-Forwarded-For": forwarded}
            ).status_code
            for forwarded in (first, second)
        ]
    assert codes == [422, 422 if admitted else 429]


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
