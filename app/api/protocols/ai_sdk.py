"""The UI message stream of Vercel's AI SDK, version 1, for `useChat` and its transports.

https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from app.api.asking import streamed
from app.api.events import DONE, MEDIA_TYPE, EventStreamResponse, frame
from app.api.keys import BEARER
from app.api.limits import answering
from app.api.problems import ErrorEvent
from app.api.protocols.conversation import MESSAGES, chat_request, finish_reason
from app.api.requests import BookName, ReadingContext
from app.domain.answer import AnswerEvent, Citation, CitationFound, Finished, Started, TextDelta

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_TEXT_ID = "answer"
_ABOUT = (
    *("figures", "mode", "confidence", "refused", "degraded", "exercise", "follow_ups"),
    "searched_for",
)


class UiPart(BaseModel):
    type: str
    text: str = ""


class UiMessage(BaseModel):
    role: Literal["system", "user", "assistant"]
    parts: list[UiPart]

    def turn(self) -> tuple[str, str]:
        texts = (part.text for part in self.parts if part.type == "text" and part.text)
        return self.role, "\n\n".join(texts)


class UiRequest(ReadingContext):
    """The body of `DefaultChatTransport`; fields of its option `body` are beside `messages`. Only
    `text` parts of messages are read.
    """

    messages: Annotated[list[UiMessage], MESSAGES]
    book: BookName | None = None


class UiMessageEvents:
    """Encodes an answer as the parts of one message.

    The parts are the text, a `source-url` for each cited paragraph, a `data-citation` for each
    citation, and at the end `data-answer` and `data-passages`. `data-passages` is transient: a
    client does not send it back with the next question, as it does the other parts.
    """

    def __init__(self) -> None:
        self._sources: set[str] = set()

    def frames(self, event: AnswerEvent | ErrorEvent) -> Iterator[bytes]:
        yield from map(frame, self._parts(event))
        if isinstance(event, ErrorEvent | Finished):
            yield DONE

    def _parts(self, event: AnswerEvent | ErrorEvent) -> Iterator[dict[str, object]]:
        if isinstance(event, ErrorEvent):
            yield {"type": "error", "errorText": event.message}
        elif isinstance(event, Started):
            yield {"type": "start"}
            yield {"type": "start-step"}
            yield {"type": "text-start", "id": _TEXT_ID}
        elif isinstance(event, TextDelta):
            yield {"type": "text-delta", "id": _TEXT_ID, "delta": event.text}
        elif isinstance(event, CitationFound):
            yield from self._cited(event.citation)
        else:
            answer = event.answer
            yield {"type": "text-end", "id": _TEXT_ID}
            about = {name: getattr(answer, name) for name in _ABOUT}
            yield {"type": "data-answer", "data": about}
            passages = {"passages": answer.passages, "sources": answer.sources}
            yield {"type": "data-passages", "data": passages, "transient": True}
            yield {"type": "finish-step"}
            yield {"type": "finish", "finishReason": finish_reason(answer)}

    def _cited(self, citation: Citation) -> Iterator[dict[str, object]]:
        source = f"{citation.book}/{citation.paragraph_id}"
        if source not in self._sources:
            self._sources.add(source)
            found = {"sourceId": source, "url": citation.url, "title": citation.title}
            yield {"type": "source-url", **found}
        yield {"type": "data-citation", "data": citation}


router = APIRouter(tags=["protocols"])


@router.post(
    "/v1/ai-sdk",
    summary="Ask by the AI SDK's stream of UI messages",
    responses={
        200: {"description": "The parts of the answer's message.", "content": {MEDIA_TYPE: {}}}
    },
    response_class=StreamingResponse,  # only for the OpenAPI description
    dependencies=[Depends(BEARER), Depends(answering)],
)
async def ui_messages(body: UiRequest, request: Request) -> EventStreamResponse:
    """Answer the last message; for `new DefaultChatTransport({ api: ".../v1/ai-sdk" })`."""
    asked = chat_request([one.turn() for one in body.messages], body.book, body)
    return await streamed(asked, request, UiMessageEvents().frames, _HEADERS)
