"""Answers the question of a request within the server's limits, as a whole or as a stream.

Used by the routes of `/v1/chat` and by the other protocols.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping
from contextlib import aclosing
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from app.api.events import EventFormat, EventStreamResponse
from app.api.keys import books_for
from app.api.limits import search_place
from app.api.problems import error_event, report
from app.api.requests import ChatRequest, PartRequest
from app.bootstrap.application import Application
from app.domain.answer import Answer, AnswerEvent
from app.domain.answering.exercises import Solutions
from app.domain.answering.intents import Here, Intent, IntentKind
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.errors import ShuttingDown
from app.domain.languages import language_of_question
from app.domain.retrieval.query import SearchFilter
from app.domain.terms import words
from app.services.answer_question import whole_answer
from app.services.resilience import time_limit
from app.services.retrieve import RetrievalResult
from app.settings import Settings

ANSWER_SECONDS = 180.0
"""Time limit of a whole answer, including the search: a small model on a CPU writes for minutes.
The proxies of `scripts/deploy` wait longer."""
RESTART_SECONDS = 5.0
"""Retry-After of an answer that the shutdown interrupted."""

T = TypeVar("T")


def ask_request(body: ChatRequest, books: Iterable[BookId], settings: Settings) -> AskRequest:
    """Convert the body to the use case's request to these books."""
    return AskRequest(
        question=body.question,
        filter=SearchFilter(books=tuple(books)),
        history=body.history,
        page_url=body.page_url,
        scope=body.scope,
        selection=body.selection,
        solutions=body.solutions or Solutions(settings.solutions),
        intent=_intent(body.request, body.question) if body.request else None,
        by_reader=True,
    )


def _intent(asked: PartRequest, question: str) -> Intent:
    """Return the part of the book that a button requests."""
    here = Here.CHAPTER if asked.chapter == "this" else Here.PAGE
    part = asked.chapter if isinstance(asked.chapter, int) else here
    return Intent(IntentKind(asked.kind), language_of_question(words(question), "en"), part)


async def answer_events(body: ChatRequest, request: Request) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the events of the answer for the request's key, within the server's limits.

    BookNotAllowed; Overloaded if the search, which the first event follows, gets no place.
    """
    rag: Application = request.app.state.application
    ask = ask_request(body, books_for(request, body.book), rag.settings)
    deadline = asyncio.get_running_loop().time() + ANSWER_SECONDS
    async with aclosing(rag.answer.stream(ask)) as events:
        async with time_limit(ANSWER_SECONDS, "the answer", deadline), search_place(request):
            event = await anext(events, None)
        while event is not None:
            yield event
            async with time_limit(ANSWER_SECONDS, "the answer", deadline):
                event = await anext(events, None)


async def answered(body: ChatRequest, request: Request) -> Answer:
    """Return the whole answer. Overloaded, ClientDisconnect, and the errors of the use case."""
    return await while_connected(request, whole_answer(answer_events(body, request)))


async def streamed(
    body: ChatRequest,
    request: Request,
    encode: EventFormat,
    headers: Mapping[str, str] | None = None,
) -> EventStreamResponse:
    """Start the answer and wait for its first event. However the response ends, the answer does.

    An error before that event (unknown book, too long question, index down) is raised here, as by
    `answered`, and becomes a problem response; later errors become events. For routes with the
    dependency `answering`.
    """
    events = answer_events(body, request)
    request.state.at_end.push_async_callback(events.aclose)
    first = await while_connected(request, anext(events))
    return EventStreamResponse(encoded(first, events, encode), headers)


async def encoded(
    first: AnswerEvent, rest: AsyncGenerator[AnswerEvent, None], encode: EventFormat
) -> AsyncGenerator[bytes, None]:
    """Encode the events. An error becomes the last one, also that the server stops."""
    try:
        yield b"".join(encode(first))
        async for event in rest:
            yield b"".join(encode(event))
    except asyncio.CancelledError:
        yield b"".join(encode(error_event(_stopped())))
    except Exception as error:  # noqa: BLE001 - sent to the reader
        report(error)
        yield b"".join(encode(error_event(error)))


async def searched(ask: AskRequest, request: Request) -> RetrievalResult:
    """Search when the client has its turn. Overloaded, and the errors of the use case."""
    rag: Application = request.app.state.application
    async with search_place(request):
        return await rag.retrieve.search(ask)


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the result of the work, which is cancelled if the client leaves or the server stops.

    The request's body must have been read, so that the next message is the disconnect.
    ClientDisconnect, ShuttingDown.
    """
    task = asyncio.ensure_future(work)
    watcher = asyncio.create_task(_disconnected(request.receive))
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientDisconnect
    except asyncio.CancelledError:
        raise _stopped() from None
    finally:
        for each in (task, watcher):
            each.cancel()
        await asyncio.gather(task, watcher, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _stopped() -> ShuttingDown:
    """The error of an answer that the server's stop interrupted: uvicorn cancels its task."""
    return ShuttingDown("the server ended before the answer did", RESTART_SECONDS)
