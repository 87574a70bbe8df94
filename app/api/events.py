"""The server-sent events of a streamed answer: their data as JSON, and their encoding.

The order of events: `start` (mode and confidence as planned), `sources` (the paragraphs used), then
`delta` and `citation` interleaved, then `end` with the whole answer. An `error` may come at any
point and is the last event. Every 15 seconds a comment line is sent, so that proxies keep the
connection open.

If the client disconnects before the end, the answer is cancelled, since it costs money. After a
broken connection the client asks again; on `start` it discards what it has.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import TypeAlias

from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Send

from app.api.problems import ErrorEvent
from app.api.responses import json_text
from app.domain.answer import AnswerEvent, CitationFound, Started, TextDelta

MEDIA_TYPE = "text/event-stream"


PING_SECONDS = 15.0
"""Proxies commonly close a connection that is silent for 60 s."""


class EventStreamResponse(EventSourceResponse):
    """Server-sent events and, regularly, a comment, so that proxies keep the connection open."""

    def __init__(
        self, frames: AsyncGenerator[bytes, None], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(frames, headers={"X-Accel-Buffering": "no", **(headers or {})})

    async def stream_response(self, send: Send) -> None:
        pings = asyncio.create_task(_ping(send))
        try:
            await super().stream_response(send)
        finally:
            pings.cancel()


async def _ping(send: Send) -> None:
    while True:
        await asyncio.sleep(PING_SECONDS)
        await send({"type": "http.response.body", "body": KEEPALIVE_COMMENT, "more_body": True})


EventFormat: TypeAlias = Callable[[AnswerEvent | ErrorEvent], Iterator[bytes]]
"""Encodes an event of an answer as server-sent events in the format of a protocol."""


def chat_events(event: AnswerEvent | ErrorEvent) -> Iterator[bytes]:
    """The format of `POST /v1/chat`."""
    if isinstance(event, ErrorEvent):
        yield frame(event, "error")
    elif isinstance(event, Started):
        yield frame({"mode": event.mode, "confidence": event.confidence}, "start")
        yield frame({"sources": event.sources}, "sources")
    elif isinstance(event, TextDelta):
        yield frame(event, "delta")
    elif isinstance(event, CitationFound):
        yield frame(event.citation, "citation")
    else:
        yield frame(event.answer, "end")


DONE = format_sse_event(data_str="[DONE]")
"""The end of a stream in other protocols."""
# Line ends of Unicode, but not of JSON or server-sent events. Some clients split lines at them.
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\u2028\u2029"}


def frame(data: object, name: str | None = None) -> bytes:
    return format_sse_event(data_str=json_text(data).translate(_LINE_ENDS), event=name)
