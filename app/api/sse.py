"""A streamed answer as server-sent events: `start, delta, citation, end` or, at any point, `error`.

    event: delta
    data: {"text": "An inverted "}

A comment line goes out every `HEARTBEAT_SECONDS` of silence, so that proxies keep the connection.
When the reader leaves, the task that generates is cancelled at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.problems import error_event, report
from app.api.schemas import AnswerBody, CitationBody, DeltaEvent, StartEvent
from app.domain.answer import AnswerEvent, CitationFound, Started, TextDelta

HEARTBEAT_SECONDS = 15.0
MEDIA_TYPE = "text/event-stream"
_HEARTBEAT = b": still here\n\n"
# Line ends to Unicode, which many a client splits at, but neither to JSON nor to this format.
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
_READ_AHEAD = 64  # events the generator may be ahead of a slow reader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _End:
    error: Exception | None


class EventPump:
    """Runs one answer's generator in one task of its own.

    The generator may hold timeouts and connections that belong to the task which opened them, so
    it is not driven from the response's task; `stop` cancels it and waits until it is closed.
    """

    def __init__(self, events: AsyncIterator[AnswerEvent]) -> None:
        self._queue: asyncio.Queue[AnswerEvent | _End] = asyncio.Queue(_READ_AHEAD)
        self._task = asyncio.create_task(self._run(events))

    async def _run(self, events: AsyncIterator[AnswerEvent]) -> None:
        error: Exception | None = None
        try:
            async for event in events:
                await self._queue.put(event)
        except Exception as raised:  # noqa: BLE001 - handed over to the reader of the queue
            error = raised
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        await self._queue.put(_End(error))

    async def next(self, timeout: float) -> AnswerEvent | None:  # noqa: ASYNC109 - of the wait only
        """Return the next event. TimeoutError after `timeout` s; None, or its error, at the end."""
        item = await asyncio.wait_for(self._queue.get(), timeout)
        if not isinstance(item, _End):
            return item
        if item.error is not None:
            raise item.error
        return None

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})


def encode(event: str, data: BaseModel) -> bytes:
    return f"event: {event}\ndata: {data.model_dump_json().translate(_LINE_ENDS)}\n\n".encode()


def encode_event(event: AnswerEvent) -> bytes:
    if isinstance(event, Started):
        return encode("start", StartEvent.model_validate(event))
    if isinstance(event, TextDelta):
        return encode("delta", DeltaEvent.model_validate(event))
    if isinstance(event, CitationFound):
        return encode("citation", CitationBody.model_validate(event.citation))
    return encode("end", AnswerBody.model_validate(event.answer))


async def encoded_events(
    pump: EventPump, first: AnswerEvent | None, heartbeat: float, request_id: str
) -> AsyncIterator[bytes]:
    """Yield the wire bytes of `first` (if it has come yet) and of all that follows."""
    if first is not None:
        yield encode_event(first)
    while True:
        try:
            event = await pump.next(heartbeat)
        except TimeoutError:
            yield _HEARTBEAT
            continue
        except Exception as error:  # noqa: BLE001 - too late for a status: the stream tells it
            report(error, request_id)
            yield encode("error", error_event(error))
            return
        if event is None:
            return
        yield encode_event(event)


class EventStream(StreamingResponse):
    """The response to a streamed question; ends its pump however the response ends."""

    def __init__(
        self, pump: EventPump, first: AnswerEvent | None, heartbeat: float, request_id: str
    ) -> None:
        # X-Accel-Buffering: nginx must not collect the events.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        content = encoded_events(pump, first, heartbeat, request_id)
        super().__init__(content, headers=headers, media_type=MEDIA_TYPE)
        self._pump = pump

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._pump.stop()


async def stream_answer(
    request: Request,
    events: AsyncIterator[AnswerEvent],
    request_id: str,
    heartbeat: float = HEARTBEAT_SECONDS,
) -> EventStream:
    """Start the answer and wait for its first event.

    What fails before it (no such book, a question too long, search down) is raised here and so
    becomes a problem with its own status. Raises ClientDisconnect when the reader leaves.
    """
    pump = EventPump(events)
    try:
        first = await unless_disconnected(request, _first(pump, heartbeat))
    except BaseException:
        await pump.stop()
        raise
    return EventStream(pump, first, heartbeat, request_id)


async def _first(pump: EventPump, heartbeat: float) -> AnswerEvent | None:
    try:
        return await pump.next(heartbeat)
    except TimeoutError:
        return None


async def unless_disconnected(request: Request, work: Awaitable[T]) -> T:
    """Wait for `work`; cancel it and raise ClientDisconnect when the reader leaves first.

    The request's body must have been read: the next message is then the disconnect.
    """
    task = asyncio.ensure_future(work)
    watcher = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientDisconnect
    finally:
        for each in (task, watcher):
            each.cancel()
        await asyncio.gather(task, watcher, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
