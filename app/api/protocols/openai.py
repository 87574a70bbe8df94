"""OpenAI's chat completions API, with a book as the model.

Each citation is a Markdown link in the text, `[1](url)`, and an annotation `url_citation` with the
offsets of the link. Sampling parameters are ignored. On its paths, problems have OpenAI's form.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from secrets import token_hex
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from app.api.asking import answered, streamed
from app.api.events import DONE, MEDIA_TYPE, frame
from app.api.keys import BEARER, books_for
from app.api.limits import answering
from app.api.problems import STATUSES, ErrorEvent, Problem, title_of
from app.api.protocols.conversation import MESSAGES, chat_request, finish_reason
from app.api.protocols.linked_text import CitationLink, LinkedText, linked, without_links
from app.api.requests import BookName, ReadingContext
from app.api.routes import PrintableResponse, Rag
from app.domain.answer import (
    Answer,
    AnswerEvent,
    CitationFound,
    Finished,
    Started,
    TextDelta,
    Usage,
)
from app.domain.indexed_book import BookManifest

PATHS = ("/v1/chat/completions", "/v1/models")
_STATUSES = {422: 400}
"""OpenAI's status by ours, where they differ."""
_CODES = {"key_unknown": "invalid_api_key", "book_not_found": "model_not_found"}
"""OpenAI's code by ours. Other codes stay as in `contracts/errors.md`."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": title_of(status), "content": {"application/json": {}}}
    for status in STATUSES
}
"""The `responses` of its routes."""


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None

    def turn(self) -> tuple[str, str]:
        """Return role and text, without the links that an answer was given."""
        text = self.content or ""
        if isinstance(text, list):
            text = "\n\n".join(part.text for part in text)
        return self.role, without_links(text) if self.role == "assistant" else text


class StreamOptions(BaseModel):
    include_usage: bool | None = None


class ResponseFormat(BaseModel):
    type: Literal["text"]


class CompletionRequest(ReadingContext):
    model: BookName
    messages: Annotated[list[Message], MESSAGES]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    response_format: ResponseFormat | None = None


def _annotation(link: CitationLink) -> dict[str, Any]:
    """`content[start_index:end_index]` is a citation's link, in Unicode code points."""
    place = {"start_index": link.start, "end_index": link.end}
    cited = {"title": link.citation.title, "url": link.citation.url}
    return {"type": "url_citation", "url_citation": {**place, **cited}}


def _usage(usage: Usage) -> dict[str, int]:
    """Tokens billed by the provider; 0 offline."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _completion(model: str, answer: Answer) -> dict[str, Any]:
    written = linked(answer)
    message = {
        "role": "assistant",
        "content": written.text,
        "refusal": None,
        "annotations": [*map(_annotation, written.links)],
    }
    choice = {"index": 0, "message": message, "logprobs": None}
    return {
        **_identity(model),
        "object": "chat.completion",
        "choices": [{**choice, "finish_reason": finish_reason(answer)}],
        "usage": _usage(answer.usage),
    }


def _model(manifest: BookManifest) -> dict[str, Any]:
    created = int(datetime.fromisoformat(manifest.created_at).timestamp())
    about = {"object": "model", "owned_by": "textbook-rag"}
    return {"id": manifest.book, "created": created, **about}


class CompletionEvents:
    """Encodes an answer as `chat.completion.chunk` objects.

    The annotations are in the chunk with the text of their links.
    """

    def __init__(self, model: str, *, with_usage: bool) -> None:
        self._chunk = {**_identity(model), "object": "chat.completion.chunk"}
        self._with_usage = with_usage
        self._text = LinkedText()
        self._sent = self._linked = 0
        """Code points and links that were sent."""

    def frames(self, event: AnswerEvent | ErrorEvent) -> Iterator[bytes]:
        if isinstance(event, ErrorEvent):
            yield frame(_stream_error(event))
        elif isinstance(event, Started):
            yield self._frame({"role": "assistant", "content": ""})
        elif isinstance(event, TextDelta):
            self._text.write(event.text)
        elif isinstance(event, CitationFound):
            self._text.cite(event.citation)
        else:
            self._text.close(event.answer.figures)
        yield from self._unsent()
        if isinstance(event, Finished):
            yield self._frame({}, finish_reason(event.answer))
            if self._with_usage:
                yield frame({**self._chunk, "choices": [], "usage": _usage(event.answer.usage)})
            yield DONE

    def _unsent(self) -> Iterator[bytes]:
        text, links = self._text.text[self._sent :], self._text.links[self._linked :]
        self._sent, self._linked = self._sent + len(text), self._linked + len(links)
        if text:
            annotations = {"annotations": [*map(_annotation, links)]} if links else {}
            yield self._frame({"content": text, **annotations})

    def _frame(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return frame({**self._chunk, "choices": [choice]})


def _identity(model: str) -> dict[str, Any]:
    created = int(datetime.now(UTC).timestamp())
    return {"id": f"chatcmpl-{token_hex(12)}", "created": created, "model": model}


router = APIRouter(tags=["protocols"])


@router.post(
    "/v1/chat/completions",
    summary="Ask a book by OpenAI's protocol",
    responses={
        200: {
            "description": "The completion; with `stream` its chunks, then `[DONE]`.",
            "content": {MEDIA_TYPE: {}},
        },
        **_ERRORS,
    },
    dependencies=[Depends(BEARER), Depends(answering)],
)
async def completions(body: CompletionRequest, request: Request) -> Response:
    """Answer the last message from the book; each citation is a link and an annotation."""
    asked = chat_request([one.turn() for one in body.messages], body.model, body)
    if body.stream:
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        events = CompletionEvents(body.model, with_usage=with_usage)
        return await streamed(asked, request, events.frames)
    return PrintableResponse(_completion(body.model, await answered(asked, request)))


@router.get(
    "/v1/models",
    summary="The books, as OpenAI's models",
    responses=_ERRORS,
    dependencies=[Depends(BEARER)],
)
async def models(request: Request, rag: Rag) -> Response:
    """The books that may be asked with the key."""
    allowed = books_for(request, None)
    found = (await rag.index.books()).named(allowed)
    return PrintableResponse({"object": "list", "data": [_model(one) for one in found]})


def _stream_error(event: ErrorEvent) -> dict[str, Any]:
    """Return the data of the last event of a failed stream."""
    return _error(event.message, "server_error", event.code)


def openai_error(problem: Problem) -> tuple[int, dict[str, Any]]:
    """Return status and body of OpenAI's error for a problem, from any part of the server."""
    status = _STATUSES.get(problem.status, problem.status)
    kind = "server_error" if status >= 500 else "invalid_request_error"
    message = f"{problem.detail} (request {problem.request_id})"
    invalid = problem.errors[0].field if problem.errors else ""
    param = invalid.removeprefix("body.") or None
    return status, _error(message, _TYPES.get(status, kind), problem.code, param)


def _error(message: str, kind: str, code: str, param: str | None = None) -> dict[str, Any]:
    named = {"param": param, "code": _CODES.get(code, code)}
    return {"error": {"message": message, "type": kind, **named}}
