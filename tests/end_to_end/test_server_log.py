"""What `serve` writes to its stderr, read from outside the process."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cohere_double import CohereDouble, Fault
from tests.owl_server import QUESTION, UNSURE
from tests.served_process import Served, served_process

Json = dict[str, Any]
BODY = "what-the-provider-said"


_ENDS = {"http.request", "http.request_failed", "http.refused"}
"""The events of which each request has one, its last line."""


@dataclass(frozen=True)
class World:
    served: Served
    double: CohereDouble

    def ask(self, **body: object) -> httpx.Response:
        url = f"http://127.0.0.1:{self.served.port}/v1/chat"
        return httpx.post(url, json={"question": QUESTION, **body}, timeout=30)

    def lines(self) -> list[Json]:
        whole, _, _ = self.served.log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def lines_of(self, request_id: str) -> list[Json]:
        """Return the lines of a request that has been answered, when its last one is there."""
        while True:
            lines = [line for line in self.lines() if line["request_id"] == request_id]
            if lines and lines[-1]["event"] in _ENDS:
                return lines
            time.sleep(0.01)


@pytest.fixture(scope="module")
def running(owl_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = Path(shutil.copytree(owl_home, tmp_path_factory.mktemp("log") / "rag"))
    with CohereDouble() as double:
        provider = {"CO_API_KEY": double.key, "RAG_COHERE_BASE_URL": double.url}
        with served_process(home, None, RAG_GENERATOR="cohere", **provider) as process:
            yield World(process, double)


@pytest.fixture
def served(running: World) -> World:
    """A server that runs on; its log has what the tests before asked, too."""
    running.double.heal()
    return running


def only(lines: list[Json], event: str, request_id: str) -> Json:
    (line,) = [one for one in lines if (one["event"], one["request_id"]) == (event, request_id)]
    return line


def finished(world: World, answer: httpx.Response) -> Json:
    """Return the line that says how an answer was made."""
    request_id = answer.headers["x-request-id"]
    return only(world.lines_of(request_id), "answer.finished", request_id)


def test_every_line_is_json_with_time_level_event_and_request(served: World) -> None:
    line = finished(served, served.ask())
    refused = served.ask(book="no-such-book").headers["x-request-id"]
    assert only(served.lines_of(refused), "http.refused", refused)["status"] == 404
    for one in served.lines():
        assert list(one)[:4] == ["time", "level", "event", "request_id"]
    without = [one["event"] for one in served.lines() if not one["request_id"]]
    assert without == ["serve.starting", "serve.started"]
    assert {"embedding", "search", "rerank", "context", "generation"} <= set(line["stages"])
    assert 0 < sum(line["stages"].values()) <= line["ms"]
    assert line["input_tokens"] > 0
    assert line["usd"] > 0
    assert QUESTION not in served.served.log.read_text()


@pytest.mark.parametrize("status", [400, 401, 402, 422, 429, 503])
def test_a_degraded_answer_has_the_providers_status_and_nothing_that_it_said(
    served: World, status: int
) -> None:
    for endpoint in ("rerank", "chat"):
        served.double.fail(*[Fault(status=status, message=BODY)] * 3, endpoint=endpoint)
    answer = served.ask()
    assert answer.json()["degraded"] == ["rerank", "generator"]
    causes = finished(served, answer)["causes"]
    expected = [("rerank", status), ("generator", status)]
    assert [(one["step"], one["status"]) for one in causes] == expected
    text = served.served.log.read_text()
    assert BODY not in text
    assert served.double.key not in text


def test_the_cause_of_a_5xx_stands_with_its_request_id(served: World) -> None:
    served.double.fail(*[Fault(status=503)] * 3, endpoint="rerank")
    served.double.fail(Fault(kind="drop"), Fault(kind="drop"), endpoint="chat")
    failed = served.ask(question=UNSURE)
    assert failed.status_code == 503
    request_id = failed.json()["request_id"]
    line = only(served.lines_of(request_id), "http.request_failed", request_id)
    assert line["level"] == "warning"
    assert (line["status"], line["code"]) == (503, "provider_unavailable")
    assert "connection broke" in line["reason"]
    assert "generation" in line["stages"]
