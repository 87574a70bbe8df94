"""The UI message stream of Vercel's AI SDK, version 1, for `useChat` and its transports.

https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from app.api.asking import streamed
from app.api.events import MEDIA_TYPE, EventStreamResponse, data_frame, json_frame
from app.api.keys import BEARER
from app.api.limits import answering
from app.api.problems import ErrorEvent
from app.api.protocols.conversation import MAX_MESSAGES, chat_request
from app.api.requests import EXAMPLE, BookName, ReadingContext
from app.api.responses import CitationBody, answer_json
from app.api.routes import Rag, problems
from app.domain.answer import AnswerEvent, Citation, CitationFound, Started, TextDelta
from app.domain.characters import printable

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_TEXT_ID = "answer"
_ABOUT = (
    "figures",
    "mode",
    "confidence",
    "refused",
    "degraded",
    "exercise",
    "follow_ups",
    "searched_for",
)
_CITATION = {"index", "start", "end", "paragraph_id", "url", "permalink", "title", "quote", "book"}


class UiPart(BaseModel):
    type: str
    text: str = ""


class UiMessage(BaseModel):
    role: Literal["system", "user", "assistant"]
    parts: list[UiPart]

    def read(self) -> str:
        return "\n\n".join(part.text for part in self.parts if part.type == "text" and part.text)


class UiRequest(ReadingContext):
    """The body of `DefaultChatTransport`; fields of its option `body` are beside `messages`."""

    messages: Annotated[
        list[UiMessage],
        Field(
            min_length=1,
            max_length=MAX_MESSAGES,
            description="The last one, of role `user`, is the question; the latest earlier ones "
            "are the history, within the limits of `POST /v1/chat`. Only `text` parts are read.",
            examples=[[{"role": "user", "parts": [{"type": "text", "text": EXAMPLE}]}]],
        ),
    ]
    book: BookName | None = None


class UiMessageEvents:
    """Encodes an answer as the parts of one message.

    The parts are the text, a `source-url` for each cited paragraph, a `data-citation` for each
    citation, and at the end `data-answer` and `data-passages`. `data-passages` is transient: a
    client does not send it back with the next question, as it does the other parts.
    """

    def __init__(self, public_url: str) -> None:
        self._public_url = public_url
        self._sources: set[str] = set()

    def frames(self, event: AnswerEvent | ErrorEvent) -> Iterator[bytes]:
        yield from map(json_frame, self._parts(event))
        if not isinstance(event, Started | TextDelta | CitationFound):
            yield data_frame("[DONE]")

    def _parts(self, event: AnswerEvent | ErrorEvent) -> Iterator[dict[str, Any]]:
        if isinstance(event, ErrorEvent):
            yield {"type": "error", "errorText": event.message}
        elif isinstance(event, Started):
            yield {"type": "start"}
            yield {"type": "start-step"}
            yield {"type": "text-start", "id": _TEXT_ID}
        elif isinstance(event, TextDelta):
            yield {"type": "text-delta", "id": _TEXT_ID, "delta": printable(event.text)}
        elif isinstance(event, CitationFound):
            yield from self._cited(event.citation)
        else:
            yield {"type": "text-end", "id": _TEXT_ID}
            answer = answer_json(event.answer, self._public_url)
            about = {name: answer[name] for name in _ABOUT}
            yield {"type": "data-answer", "data": about}
            passages = {"passages": answer["passages"], "sources": answer["sources"]}
            yield {"type": "data-passages", "data": passages, "transient": True}
            yield {"type": "finish-step"}
            reason = "length" if event.answer.truncated else "stop"
            yield {"type": "finish", "finishReason": reason}

    def _cited(self, citation: Citation) -> Iterator[dict[str, Any]]:
        source = f"{citation.book}/{citation.paragraph_id}"
        if source not in self._sources:
            self._sources.add(source)
            title = printable(citation.title)
            found = {"sourceId": source, "url": citation.url, "title": title}
            yield {"type": "source-url", **found}
        body = CitationBody.model_validate(citation, context={"public_url": self._public_url})
        yield {"type": "data-citation", "data": body.model_dump(mode="json", include=_CITATION)}


router = APIRouter(tags=["protocols"])


@router.post(
    "/v1/ai-sdk",
    summary="Ask by the AI SDK's stream of UI messages",
    responses={
        200: {"description": "The parts of the answer's message.", "content": {MEDIA_TYPE: {}}},
        **problems(401, 403, 404, 409, 422, 502, 503),
    },
    response_class=StreamingResponse,  # only for the OpenAPI description
    dependencies=[Depends(BEARER), Depends(answering)],
)
async def ui_messages(body: UiRequest, request: Request, rag: Rag) -> EventStreamResponse:
    """Answer the last message; for `new DefaultChatTransport({ api: ".../v1/ai-sdk" })`."""
    turns = [(one.role, one.read()) for one in body.messages if one.role != "system"]
    asked = chat_request(turns, body.book, body)
    return await streamed(asked, request, UiMessageEvents(rag.settings.public_url).frames, _HEADERS)
