"""The server-sent events of a streamed answer: their data as JSON, and their encoding.

The order of events: `start`, `sources` (the paragraphs used), then `delta` and `citation`
interleaved, then `end` with the whole answer. An `error` may come at any point and is the last
event. Every 15 seconds a comment line is sent, so that proxies keep the connection open.

If the client disconnects before the end, the answer is cancelled, since it costs money. After a
broken connection the client asks again; on `start` it discards what it has.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import BaseModel
from starlette.types import Send

from app.api.problems import ErrorEvent
from app.api.responses import Body, CitationBody, answer_body
from app.domain.answer import (
    AnswerEvent,
    AnswerMode,
    CitationFound,
    Confidence,
    Source,
    Started,
    TextDelta,
)

MEDIA_TYPE = "text/event-stream"


PING_SECONDS = 15.0
"""Proxies commonly close a connection that is silent for 60 s."""


class EventStreamResponse(StreamingResponse):
    """Server-sent events and, regularly, a comment, so that proxies keep the connection open."""

    media_type = MEDIA_TYPE

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


class StartEvent(Body):
    """The answer starts; a client discards what it received before."""

    mode: AnswerMode
    """As planned; `end` has the final mode."""
    confidence: Confidence
    """From the score alone; `end` has the final value."""


class SourcesEvent(Body):
    sources: list[Source]
    """The paragraphs used, best first; in a refusal, the nearest sections."""


class DeltaEvent(Body):
    text: str


EventFormat: TypeAlias = Callable[[AnswerEvent | ErrorEvent], Iterator[bytes]]
"""Encodes an event of an answer as server-sent events in the format of a protocol."""


def chat_events(event: AnswerEvent | ErrorEvent, public_url: str = "") -> Iterator[bytes]:
    """The format of `POST /v1/chat`."""
    if isinstance(event, ErrorEvent):
        yield frame("error", event)
    elif isinstance(event, Started):
        yield frame("start", StartEvent.model_validate(event))
        yield frame("sources", SourcesEvent.model_validate(event))
    elif isinstance(event, TextDelta):
        yield frame("delta", DeltaEvent.model_validate(event))
    elif isinstance(event, CitationFound):
        context = {"public_url": public_url}
        yield frame("citation", CitationBody.model_validate(event.citation, context=context))
    else:
        yield frame("end", answer_body(event.answer, public_url))


def frame(name: str, data: BaseModel) -> bytes:
    return data_frame(data.model_dump_json(), name)


def json_frame(data: dict[str, Any]) -> bytes:
    return data_frame(json.dumps(data, ensure_ascii=False))


# Line ends of Unicode, but not of JSON or server-sent events. Some clients split lines at them.
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}


def data_frame(text: str, name: str | None = None) -> bytes:
    """Encode a JSON text as an event."""
    return format_sse_event(data_str=text.translate(_LINE_ENDS), event=name)
