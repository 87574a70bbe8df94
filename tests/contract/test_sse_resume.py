"""Streamed answers over the wire: their events, what a broken connection costs, who may go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import closing
from http.client import HTTPConnection

import httpx
import pytest

import app.domain.errors as errors
from app.api.answer_runs import KEPT_SECONDS, AnswerRun, AnswerRuns
from app.api.events import ChatEvents
from app.api.problems import ErrorEvent
from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    Finished,
    Started,
    TextDelta,
)
from app.domain.answering.request import AskRequest
from tests.owl_server import QUESTION, UNSURE, events_of, events_with_ids
from tests.serving import ScriptedGenerator

ASK = AskRequest("Why?")
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


def test_text_of_many_lines_stays_one_event(
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
        (errors.ProviderUnavailable(_SECRET, retry_after=30), "provider_unavailable", 30),
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


def test_silence_is_filled_with_heartbeats_which_have_no_id() -> None:
    beaten = asyncio.Event()

    async def slow() -> AsyncIterator[AnswerEvent]:
        yield Started(AnswerMode.GENERATED, ())
        await beaten.wait()
        yield TextDelta("At last.")

    async def read() -> tuple[str, list[bytes]]:
        run = AnswerRun(ASK, slow(), ChatEvents())
        received = []
        async for data in run.follow(0, heartbeat=0.005):
            received.append(data)
            if data.startswith(b":"):
                beaten.set()
        return run.id, received

    run_id, (first, beat, *rest) = asyncio.run(read())
    assert first.startswith(f"event: start\nid: {run_id}:1\n".encode())
    assert beat.startswith(b":")
    assert beat.endswith(b"\n\n")
    assert rest[-1] == f'event: delta\nid: {run_id}:3\ndata: {{"text":"At last."}}\n\n'.encode()


def test_what_is_ready_is_sent_before_the_next_event_is_made() -> None:
    received = asyncio.Queue[bytes]()
    seen_by_then: list[int] = []

    async def together() -> AsyncIterator[AnswerEvent]:
        for word in ("Owls ", "fly ", "silently."):
            seen_by_then.append(received.qsize())
            yield TextDelta(word)

    async def read() -> None:
        run = AnswerRun(ASK, together(), ChatEvents())
        async for data in run.follow(0, heartbeat=20):
            received.put_nowait(data)

    asyncio.run(read())
    assert seen_by_then == [0, 1, 2]


# --- readers who leave --------------------------------------------------------------------------


def test_a_reader_who_leaves_a_stream_ends_the_generation(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The flight makes ", hangs=True)
    with generating.stream("POST", "/v1/chat", json=STREAMED) as response:
        lines = response.iter_lines()  # kept: when it is dropped, the connection is closed
        assert next(lines) == "event: start"
        assert generator.hanging.wait(timeout=20)
        assert not generator.cancelled.is_set()
    assert generator.cancelled.wait(timeout=20)


def test_a_reader_who_leaves_before_a_whole_answer_ends_the_generation(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The flight makes ", hangs=True)
    connection = HTTPConnection(generating.base_url.host, generating.base_url.port)
    with closing(connection):
        body = json.dumps({"question": QUESTION})
        connection.request("POST", "/v1/chat", body, {"Content-Type": "application/json"})
        assert generator.hanging.wait(timeout=20)
        assert not generator.cancelled.is_set()
    assert generator.cancelled.wait(timeout=20)


class Endless:
    """Events until it is closed; `go_on` lets each but the first out."""

    def __init__(self) -> None:
        self.closed = False
        self.go_on = asyncio.Event()

    async def events(self) -> AsyncIterator[AnswerEvent]:
        try:
            yield Started(AnswerMode.GENERATED, ())
            while True:
                await self.go_on.wait()
                yield TextDelta("more ")
                self.go_on.clear()
        finally:
            self.closed = True


def test_only_the_last_reader_to_leave_cancels_an_answer() -> None:
    async def scenario() -> None:
        endless, runs = Endless(), AnswerRuns()
        run = runs.start(ASK, endless.events(), ChatEvents())
        await run.begin(20)
        assert runs.resume(f"{run.id}:2", ASK) == (run, 2)
        await run.leave()
        assert not endless.closed
        endless.go_on.set()
        assert await anext(run.follow(2, 20)) == run.frames[2]
        await run.leave()
        assert endless.closed
        assert runs.resume(f"{run.id}:2", ASK) is None

    asyncio.run(scenario())


# --- readers who come back ----------------------------------------------------------------------


def test_a_reader_who_comes_back_gets_exactly_what_followed(client: httpx.Client) -> None:
    whole = events_with_ids(client.post("/v1/chat", json=STREAMED))
    assert len({event_id for *_, event_id in whole}) == len(whole)
    for position, (_, _, event_id) in enumerate(whole):
        response = client.post("/v1/chat", json=STREAMED, headers={"Last-Event-ID": event_id})
        assert response.status_code == 200
        assert events_with_ids(response) == whole[position + 1 :]


def test_the_answer_to_another_question_is_not_given_away(client: httpx.Client) -> None:
    events = events_with_ids(client.post("/v1/chat", json=STREAMED))
    other = {"question": "Why does an owl see well at night?", "stream": True}
    headers = {"Last-Event-ID": events[1][2]}
    answered = events_with_ids(client.post("/v1/chat", json=other, headers=headers))
    assert answered[0][0] == "start"
    assert answered[0][2] != events[0][2]
    assert "eyes" in answered[-1][1]["answer"]


@pytest.mark.parametrize(
    "event_id", ["", "0:0", "nobody:3", ":", "{run}:", "{run}:-1", "{run}:999", "{run}:²"]
)
def test_an_id_that_says_nothing_begins_the_answer_anew(
    client: httpx.Client, event_id: str
) -> None:
    first = events_with_ids(client.post("/v1/chat", json=STREAMED))
    event_id = event_id.replace("{run}", first[0][2].partition(":")[0])
    headers = {b"Last-Event-ID": event_id.encode()}
    again = client.post("/v1/chat", json=STREAMED, headers=headers)
    assert events_of(again) == [(name, data) for name, data, _ in first]


def test_an_answer_that_was_cut_off_is_begun_anew(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The flight makes ", hangs=True)
    with generating.stream("POST", "/v1/chat", json=STREAMED) as response:
        lines = response.iter_lines()
        event_id = next(line for line in lines if line.startswith("id: "))[4:]
        assert generator.hanging.wait(timeout=20)
    assert generator.cancelled.wait(timeout=20)
    generator.play("The flight makes no sound.")
    headers = {"Last-Event-ID": event_id}
    events = events_of(generating.post("/v1/chat", json=STREAMED, headers=headers))
    assert events[0][0] == "start"
    assert events[-1][1]["answer"] == "The flight makes no sound."


async def _finish(runs: AnswerRuns, text: str = "Because.") -> AnswerRun:
    async def events() -> AsyncIterator[AnswerEvent]:
        yield Started(AnswerMode.EXTRACTIVE, ())
        yield TextDelta(text)
        yield Finished(Answer(text, AnswerMode.EXTRACTIVE))

    run = runs.start(ASK, events(), ChatEvents())
    await asyncio.wait({run.task})
    await run.leave()
    return run


def test_an_answer_is_kept_for_a_minute_after_its_end() -> None:
    async def scenario() -> None:
        now = 100.0
        runs = AnswerRuns(clock=lambda: now)
        run = await _finish(runs)
        now += KEPT_SECONDS - 0.1
        assert runs.resume(f"{run.id}:1", ASK) == (run, 1)
        now += 0.2
        assert runs.resume(f"{run.id}:1", ASK) is None

    asyncio.run(scenario())


def test_the_oldest_answers_are_forgotten_when_all_take_too_much_memory() -> None:
    async def scenario() -> None:
        runs = AnswerRuns(max_bytes=12_000)
        kept = [await _finish(runs, "word " * 200) for _ in range(9)]
        known = [runs.resume(f"{run.id}:1", ASK) is not None for run in kept]
        assert known == sorted(known)
        assert 2 < sum(run.size for run, known in zip(kept, known, strict=True) if known) <= 12_000
        assert sum(known) > 2

    asyncio.run(scenario())


def test_what_fails_before_its_first_event_is_raised_and_not_kept() -> None:
    async def refuse() -> AsyncIterator[AnswerEvent]:
        raise errors.BookNotFound("no such book")
        yield

    async def scenario() -> None:
        runs = AnswerRuns()
        run = runs.start(ASK, refuse(), ChatEvents())
        with pytest.raises(errors.BookNotFound):
            await run.begin(20)
        await run.leave()
        await asyncio.sleep(0)
        assert runs.resume(f"{run.id}:0", ASK) is None

    asyncio.run(scenario())


def test_what_fails_after_the_stream_began_is_told_in_it() -> None:
    """A slow search's failure comes when heartbeats have been sent and no event yet."""
    waited = asyncio.Event()

    async def slow_failure() -> AsyncIterator[AnswerEvent]:
        await waited.wait()
        raise errors.StorageError(_SECRET)
        yield

    async def scenario() -> list[bytes]:
        run = AnswerRun(ASK, slow_failure(), ChatEvents())
        await run.begin(0.001)
        waited.set()
        return [data async for data in run.follow(0, 20)]

    (event,) = asyncio.run(scenario())
    assert event.startswith(b"event: error\n")
    assert _SECRET.encode() not in event
