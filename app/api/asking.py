"""Answers the question of a request within the server's limits.

Used by the routes of `/v1/chat` and by the other protocols.
"""

from __future__ import annotations

from fastapi import Request

from app.api import sse
from app.api.answer_runs import AnswerRuns
from app.api.events import EventFormat
from app.api.keys import books_for
from app.api.limits import capacity_of, client_slot
from app.api.readers import reader_of
from app.api.requests import ChatRequest
from app.bootstrap.application import Application
from app.domain.answer import Answer
from app.domain.answering.exercises import Solutions
from app.domain.answering.request import AskRequest
from app.domain.retrieval.query import SearchFilter
from app.services.resilience import in_time, stream_with_deadline
from app.settings import Settings


def ask_request(body: ChatRequest, request: Request, settings: Settings) -> AskRequest:
    """Convert the body to the use case's request. BookNotAllowed."""
    return AskRequest(
        question=body.question,
        filter=SearchFilter(books=books_for(request, body.book)),
        history=tuple(turn.to_turn() for turn in body.history),
        page_url=body.page_url,
        scope=body.scope,
        selection=body.selection.to_selection() if body.selection else None,
        solutions=body.solutions or Solutions(settings.solutions),
        reader=reader_of(request),
    )


async def answered(
    body: ChatRequest, request: Request, rag: Application, runs: AnswerRuns
) -> Answer:
    """Return the whole answer. Overloaded, ClientDisconnect, and the errors of the use case."""
    ask = ask_request(body, request, rag.settings)
    with client_slot(capacity_of(request).searches, request):
        seconds = rag.settings.answer_timeout_seconds
        whole = in_time(rag.answer_for_reader(ask), seconds, "the answer")
        return await sse.unless_disconnected(request.receive, runs.unless_closed(whole))


async def streamed(
    body: ChatRequest,
    request: Request,
    rag: Application,
    runs: AnswerRuns,
    event_format: EventFormat,
    last_event_id: str = "",
) -> sse.EventStream:
    """Wait for the first event and return the answer as a stream in this format.

    Raises the errors of `answered` before that event; later errors become events.
    """
    ask = ask_request(body, request, rag.settings)
    seconds = rag.settings.answer_timeout_seconds
    with client_slot(capacity_of(request).searches, request):
        events = stream_with_deadline(rag.asked_by_reader(ask), seconds, "the answer")
        return await sse.stream_answer(request, runs, ask, events, event_format, last_event_id)
