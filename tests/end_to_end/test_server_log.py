"""What `serve` writes to its stderr, read from outside the process."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cohere_double import CohereDouble, Fault
from tests.owl_server import QUESTION
from tests.served_process import Served, served_process

Json = dict[str, Any]
BODY = "what-the-provider-said"


@dataclass(frozen=True)
class World:
    served: Served
    double: CohereDouble

    def ask(self, **body: object) -> httpx.Response:
        url = f"http://127.0.0.1:{self.served.port}/v1/chat"
        return httpx.post(url, json={"question": QUESTION, **body}, timeout=30)

    def end(self) -> list[Json]:
        """Stop the server and return its lines."""
        self.served.process.send_signal(signal.SIGTERM)
        assert self.served.process.wait(30) in {0, -signal.SIGTERM}
        return [json.loads(line) for line in self.served.log.read_text().splitlines()]


@pytest.fixture
def served(request: pytest.FixtureRequest, owl_home: Path, tmp_path: Path) -> Iterator[World]:
    home = Path(shutil.copytree(owl_home, tmp_path / "rag"))
    with CohereDouble() as double:
        provider = {"CO_API_KEY": double.key, "RAG_COHERE_BASE_URL": double.url}
        settings = {"RAG_GENERATOR": "cohere", **provider, **getattr(request, "param", {})}
        with served_process(home, **settings) as process:
            yield World(process, double)


def only(lines: list[Json], event: str, request_id: str) -> Json:
    (line,) = [one for one in lines if (one["event"], one["request_id"]) == (event, request_id)]
    return line


def test_every_line_is_json_with_time_level_event_and_request(served: World) -> None:
    answer = served.ask()
    refused = served.ask(book="no-such-book")
    lines = served.end()
    for line in lines:
        assert list(line)[:4] == ["time", "level", "event", "request_id"]
    assert [line["event"] for line in lines if not line["request_id"]] == [
        "serve.starting",
        "serve.started",
        "serve.stopping",
        "serve.stopped",
    ]
    assert only(lines, "http.refused", refused.headers["x-request-id"])["status"] == 404
    line = only(lines, "answer.finished", answer.headers["x-request-id"])
    assert {"embedding", "search", "rerank", "context", "generation"} <= set(line["stages"])
    assert 0 < sum(line["stages"].values()) <= line["ms"]
    assert line["input_tokens"] > 0
    assert line["usd"] > 0
    assert QUESTION not in served.served.log.read_text()


def test_the_cause_of_a_degraded_answer_has_the_providers_status(served: World) -> None:
    for endpoint in ("rerank", "chat"):
        faults = [Fault(status=503, message=BODY)] * 3
        served.double.fail(*faults, endpoint=endpoint)
    answer = served.ask()
    assert answer.json()["degraded"] == ["rerank", "generator"]
    lines = served.end()
    causes = only(lines, "answer.finished", answer.headers["x-request-id"])["causes"]
    assert [(one["step"], one["status"]) for one in causes] == [("rerank", 503), ("generator", 503)]
    assert BODY not in served.served.log.read_text()


@pytest.mark.parametrize("status", [400, 401, 402, 422, 429])
def test_no_line_has_what_a_provider_said(served: World, status: int) -> None:
    served.double.fail(*[Fault(status=status, message=BODY)] * 3, endpoint="chat")
    answer = served.ask()
    assert answer.json()["degraded"] == ["generator"]
    (cause,) = only(served.end(), "answer.finished", answer.headers["x-request-id"])["causes"]
    assert cause["status"] == status
    text = served.served.log.read_text()
    assert BODY not in text
    assert served.double.key not in text


def test_the_cause_of_a_5xx_stands_with_its_request_id(served: World) -> None:
    served.double.fail(Fault(kind="drop_mid"), endpoint="chat")
    failed = served.ask()
    assert failed.status_code == 503
    line = only(served.end(), "http.request_failed", failed.json()["request_id"])
    assert line["level"] == "warning"
    assert (line["status"], line["code"]) == (503, "provider_unavailable")
    assert "connection broke" in line["reason"]
    assert "generation" in line["stages"]


@pytest.mark.parametrize("served", [{"RAG_LOG_QUESTIONS": "true"}], indirect=True)
def test_questions_are_logged_if_the_owner_wants_them(served: World) -> None:
    answer = served.ask()
    line = only(served.end(), "answer.finished", answer.headers["x-request-id"])
    assert line["question"] == QUESTION


@pytest.mark.parametrize(
    "served", [{"RAG_LOG_FORMAT": "text", "RAG_LOG_LEVEL": "warning"}], indirect=True
)
def test_the_format_and_the_level_can_be_set(served: World) -> None:
    served.double.fail(Fault(kind="drop_mid"), endpoint="chat")
    served.ask()
    served.served.process.terminate()
    served.served.process.wait(30)
    (line,) = served.served.log.read_text().splitlines()
    assert "http.request_failed" in line
    assert "status=503" in line
