"""A streamed answer as server-sent events.

The order of events: `start`, `sources` (the paragraphs used), then `delta` and `citation`
interleaved, then `end` with the whole answer. An `error` may come at any point and is the last
event. After `HEARTBEAT_SECONDS` without an event a comment line is sent, so that proxies keep the
connection open.

Every event has an id. If the connection breaks, the client sends the same question again, with the
id of the last event as `Last-Event-ID`, and gets the events after it, up to a minute after the
answer ended. If the client disconnects before the end, the answer is cancelled, since it costs
money; a later request starts a new answer. On `start` a client discards what it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.api.answer_runs import AnswerRun, AnswerRuns
from app.api.events import EventFormat
from app.domain.answer import AnswerEvent
from app.domain.answering.request import AskRequest

HEARTBEAT_SECONDS = 15.0
MEDIA_TYPE = "text/event-stream"

T = TypeVar("T")


class EventStream(Response):
    """The response to a streamed question. However it ends, it removes itself as a reader."""

    media_type = MEDIA_TYPE

    def __init__(self, run: AnswerRun, seen: int) -> None:
        """`seen` is the number of events to skip."""
        self.status_code = 200
        self.background = None
        # X-Accel-Buffering: nginx must not buffer the events.
        headers = {
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
            **run.event_format.headers,
        }
        self.init_headers(headers)
        self._run = run
        self._seen = seen

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_disconnected(receive, self._write(send))
        except ClientDisconnect:
            return
        finally:
            await self._run.leave()

    async def _write(self, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        async for data in self._run.follow(self._seen, HEARTBEAT_SECONDS):
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def stream_answer(
    request: Request,
    runs: AnswerRuns,
    ask: AskRequest,
    events: AsyncIterator[AnswerEvent],
    event_format: EventFormat,
    last_event_id: str = "",
) -> EventStream:
    """Start the answer, or resume it after the given event, and wait for the next event.

    `events` generate the answer; they are not used if an answer is resumed.

    An error before the first event (unknown book, too long question, index down) is raised here and
    becomes a problem response. ClientDisconnect if the client disconnects.
    """
    run, seen = runs.resume(last_event_id, ask) or (
        runs.start(ask, events, event_format),
        0,
    )
    try:
        await unless_disconnected(request.receive, run.begin(HEARTBEAT_SECONDS))
    except BaseException:
        await run.leave()
        raise
    return EventStream(run, seen)


async def unless_disconnected(receive: Receive, work: Awaitable[T]) -> T:
    """Wait for `work`; if the client disconnects first, cancel it and raise ClientDisconnect.

    The request's body must have been read, so that the next message is the disconnect.
    """
    task = asyncio.ensure_future(work)
    watcher = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientDisconnect
    finally:
        for each in (task, watcher):
            each.cancel()
        await asyncio.gather(task, watcher, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
