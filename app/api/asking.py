"""Answers the question of a request within the server's limits, as a whole or as a stream.

Used by the routes of `/v1/chat` and by the other protocols.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterable
from contextlib import aclosing
from typing import TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.api.answer_runs import AnswerRun, AnswerRuns
from app.api.events import MEDIA_TYPE, STREAM_HEADERS, EventFormat
from app.api.keys import books_for
from app.api.limits import capacity_of, client_place
from app.api.pseudonyms import reader_of
from app.api.requests import ChatRequest
from app.bootstrap.application import Application
from app.domain.answer import Answer, AnswerEvent
from app.domain.answering.exercises import Solutions
from app.domain.answering.request import AskRequest, Selection
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter, Turn
from app.services.answer_question import whole_answer
from app.services.resilience import in_time, stream_with_deadline
from app.settings import Settings

HEARTBEAT_SECONDS = 15.0

T = TypeVar("T")


class EventStream(StreamingResponse):
    """The response to a streamed question. However it ends, it removes itself as a reader."""

    media_type = MEDIA_TYPE

    def __init__(self, run: AnswerRun, seen: int) -> None:
        """`seen` is the number of events to skip."""
        headers = {**STREAM_HEADERS, **run.event_format.headers}
        super().__init__(run.follow(seen, HEARTBEAT_SECONDS), headers=headers)
        self._run = run

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_disconnected(receive, self.stream_response(send))
        except ClientDisconnect:
            return
        finally:
            await self._run.leave()


def ask_request(
    body: ChatRequest, books: Iterable[BookId], settings: Settings, reader: str = ""
) -> AskRequest:
    """Convert the body to the use case's request to these books."""
    chosen = body.selection
    return AskRequest(
        question=body.question,
        filter=SearchFilter(books=tuple(books)),
        history=tuple(Turn(one.role, one.content) for one in body.history),
        page_url=body.page_url,
        scope=body.scope,
        selection=Selection(chosen.text, chosen.paragraph_id) if chosen else None,
        solutions=body.solutions or Solutions(settings.solutions),
        reader=reader,
    )


def _of_reader(body: ChatRequest, request: Request, settings: Settings) -> AskRequest:
    """Convert the body with the request's key and reader. BookNotAllowed."""
    return ask_request(body, books_for(request, body.book), settings, reader_of(request))


async def answered(body: ChatRequest, request: Request) -> Answer:
    """Return the whole answer. Overloaded, ClientDisconnect, and the errors of the use case."""
    rag: Application = request.app.state.application
    ask = _of_reader(body, request, rag.settings)
    seconds = rag.settings.answer_timeout_seconds
    answer = whole_answer(searched(rag.answer.stream(ask), request))
    return await while_connected(request, in_time(answer, seconds, "the answer"))


async def searched(
    events: AsyncGenerator[AnswerEvent, None], request: Request
) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the events of an answer. The first one follows the search, which waits for its place.

    Overloaded before the first event.
    """
    async with aclosing(events):
        async with client_place(capacity_of(request).searches, request):
            first = await anext(events)
        yield first
        async for event in events:
            yield event


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the result of the work, which is cancelled if the client leaves or the server stops.

    ClientDisconnect, ShuttingDown.
    """
    runs: AnswerRuns = request.app.state.answer_runs
    return await unless_disconnected(request.receive, runs.unless_closed(work))


async def streamed(
    body: ChatRequest, request: Request, event_format: EventFormat, last_event_id: str = ""
) -> EventStream:
    """Start the answer, or resume it after the given event, and wait for the next event.

    An error before that event (unknown book, too long question, index down) is raised here, as by
    `answered`, and becomes a problem response; later errors become events.
    """
    rag: Application = request.app.state.application
    runs: AnswerRuns = request.app.state.answer_runs
    ask = _of_reader(body, request, rag.settings)
    seconds = rag.settings.answer_timeout_seconds
    events = stream_with_deadline(searched(rag.answer.stream(ask), request), seconds, "the answer")
    resumed = runs.resume(last_event_id, ask)
    run, seen = resumed or (runs.start(ask, events, event_format), 0)
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
