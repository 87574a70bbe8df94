"""The events of a streamed answer: their data as JSON, their format on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, Field

from app.api.responses import Body, CitationBody, SourceBody, answer_body
from app.domain.answer import AnswerEvent, AnswerMode, CitationFound, Confidence, Started, TextDelta


class StartEvent(Body):
    """The answer starts; a client discards what it received before."""

    mode: Annotated[AnswerMode, Field(description="As planned; `end` says what became of it.")]
    confidence: Annotated[Confidence, Field(description="By the score alone; `end` has the last.")]


class SourcesEvent(Body):
    sources: Annotated[
        list[SourceBody],
        Field(description="The paragraphs consulted, best first; in a refusal, nearest sections."),
    ]


class DeltaEvent(Body):
    text: str


# Line ends to Unicode, which many a client splits at, but neither to JSON nor to this format.
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}


def wire_events(event: AnswerEvent, public_url: str = "") -> Iterator[tuple[str, BaseModel]]:
    """Yield the name and data of each server-sent event for this event."""
    if isinstance(event, Started):
        yield "start", StartEvent.model_validate(event)
        yield "sources", SourcesEvent.model_validate(event)
    elif isinstance(event, TextDelta):
        yield "delta", DeltaEvent.model_validate(event)
    elif isinstance(event, CitationFound):
        context = {"public_url": public_url}
        yield "citation", CitationBody.model_validate(event.citation, context=context)
    else:
        yield "end", answer_body(event.answer, public_url)


def frame(name: str, data: BaseModel, event_id: str) -> bytes:
    """Encode an event: lines `event:`, `id:` and `data:`, and an empty line."""
    json = data.model_dump_json().translate(_LINE_ENDS)
    return f"event: {name}\nid: {event_id}\ndata: {json}\n\n".encode()
