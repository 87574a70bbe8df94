"""A streamed answer as server-sent events.

They come in this order: `start`, `sources` (the paragraphs consulted), then `delta` and `citation`
interleaved, then `end`, which repeats the whole answer; or at any point `error`, which is the last.
A comment line goes out every `HEARTBEAT_SECONDS` of silence, so that proxies keep the connection.

Every event has an id. A reader whose connection broke sends the same question again with the id of
the last event it got as `Last-Event-ID`, and gets what followed, for a minute after the answer's
end. When the reader leaves before the end, the answer is cancelled at once, since it costs money;
who then comes back has it begun anew: `start` always says to throw away what came before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.api.answer_runs import AnswerRun, AnswerRuns
from app.api.problems import request_id
from app.domain.answer import AnswerEvent
from app.domain.answering.request import AskRequest

HEARTBEAT_SECONDS = 15.0
MEDIA_TYPE = "text/event-stream"

T = TypeVar("T")


class EventStream(Response):
    """The response to a streamed question; leaves its answer however the response ends."""

    media_type = MEDIA_TYPE

    def __init__(self, run: AnswerRun, seen: int, heartbeat: float) -> None:
        """Send what follows the first `seen` events."""
        self.status_code = 200
        self.background = None
        # X-Accel-Buffering: nginx must not collect the events.
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._run = run
        self._seen = seen
        self._heartbeat = heartbeat

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
        async for data in self._run.follow(self._seen, self._heartbeat):
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def stream_answer(
    request: Request,
    runs: AnswerRuns,
    ask: AskRequest,
    events: AsyncIterator[AnswerEvent],
    last_event_id: str = "",
    heartbeat: float = HEARTBEAT_SECONDS,
) -> EventStream:
    """Start the answer, or go on after the event that is named, and wait for the next event.

    `events` make the answer; they are left unused if an answer goes on.

    What fails before it (no such book, a question too long, search down) is raised here and so
    becomes a problem with its own status. Raises ClientDisconnect when the reader leaves.
    """
    run, seen = runs.resume(last_event_id, ask) or (
        runs.start(ask, events, request_id(request)),
        0,
    )
    try:
        await unless_disconnected(request.receive, run.begin(heartbeat))
    except BaseException:
        await run.leave()
        raise
    return EventStream(run, seen, heartbeat)


async def unless_disconnected(receive: Receive, work: Awaitable[T]) -> T:
    """Wait for `work`; cancel it and raise ClientDisconnect when the reader leaves first.

    The request's body must have been read: the next message is then the disconnect.
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
