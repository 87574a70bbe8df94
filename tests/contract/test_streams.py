"""Streamed answers over the wire: their events, and what a broken connection costs."""

import json

import httpx
import pytest

import app.domain.errors as errors
from app.api.problems import ErrorEvent
from tests.owl_server import QUESTION, UNSURE, events_of
from tests.serving import ScriptedGenerator

STREAMED = {"question": QUESTION, "stream": True}
_SECRET = "cohere at 10.0.0.7 said: bad key abc123"


# --- the events ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "accept"), [(STREAMED, "*/*"), ({"question": QUESTION}, "text/event-stream")]
)
def test_a_streamed_answer_is_the_same_answer_in_events(
    client: httpx.Client, body: dict[str, object], accept: str
) -> None:
    response = client.post("/v1/chat", json=body, headers={"Accept": accept})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response)
    names = [name for name, _ in events]
    assert names[:3] == ["start", "sources", "delta"]
    assert names[-1] == "end"
    assert set(names[2:-1]) == {"delta", "citation"}
    end = events[-1][1]
    assert events[0][1] == {"mode": "extractive", "confidence": "answered"}
    assert events[1][1]["sources"] == end["sources"] != []
    assert "".join(data["text"] for name, data in events if name == "delta") == end["answer"]
    assert [data for name, data in events if name == "citation"] == end["citations"]
    assert end == client.post("/v1/chat", json={"question": QUESTION}).json()


def test_text_of_many_lines_is_one_event(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    held = "The feathers of an owl end in a soft fringe, so the flight makes no sound.\n"
    text = f"{held * 2}Silent:\n\nevent: end\ndata: {{}}\n\n\u2028 \x85 flight."
    generator.play(text)
    events = events_of(generating.post("/v1/chat", json=STREAMED))
    assert events[-1][1]["answer"] == text.replace("\x85", "\N{REPLACEMENT CHARACTER}")
    assert [name for name, _ in events].count("end") == 1


@pytest.mark.parametrize(
    ("error", "code", "retry_after"),
    [
        (errors.ProviderRateLimited(_SECRET, retry_after=7), "provider_rate_limited", 7),
        (errors.ProviderUnavailable(_SECRET), "provider_unavailable", None),
        (RuntimeError(_SECRET), "internal", None),
    ],
)
def test_a_stream_that_breaks_off_ends_with_an_error_event(
    generating: httpx.Client,
    generator: ScriptedGenerator,
    error: Exception,
    code: str,
    retry_after: float | None,
) -> None:
    generator.play(error)
    response = generating.post("/v1/chat", json={**STREAMED, "question": UNSURE})
    assert response.status_code == 200
    assert _SECRET not in response.text
    events = events_of(response)
    assert events[0][0] == "start"
    name, data = events[-1]
    assert (name, data["code"], data["retry_after"]) == ("error", code, retry_after)
    assert ErrorEvent.model_validate(data).message


def test_what_is_ready_is_sent_at_once_and_silence_is_filled_with_comment_lines(
    generating: httpx.Client, generator: ScriptedGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.events.PING_SECONDS", 0.05)
    said = "The feathers of an owl end in a soft fringe, so the flight makes no sound."
    generator.play(f"{said} And", hangs=True)
    with generating.stream("POST", "/v1/chat", json=STREAMED) as response:
        lines = response.iter_lines()
        events = [line for line in iter(lambda: next(lines), "event: delta") if line]
        assert events[0] == "event: start"
        assert json.loads(next(lines).removeprefix("data: "))["text"].strip() == said
        assert any(line.startswith(":") for line in lines)


# --- readers who leave --------------------------------------------------------------------------


def test_a_reader_who_leaves_ends_the_generation(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The flight makes ", hangs=True)
    with generating.stream("POST", "/v1/chat", json=STREAMED) as response:
        lines = response.iter_lines()  # kept: when it is dropped, the connection is closed
        assert next(lines) == "event: start"
        assert generator.hanging.wait(timeout=20)
        assert not generator.cancelled.is_set()
    assert generator.cancelled.wait(timeout=20)
