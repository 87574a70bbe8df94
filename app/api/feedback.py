"""Readers' feedback on an answer: `POST /v1/feedback`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field, StringConstraints, model_validator
from pydantic_core import from_json

from app.api.keys import BEARER, FEEDBACK, books_for
from app.api.requests import RequestBody
from app.api.routes import Rag
from app.domain.errors import AnswerNotFound
from app.domain.logged_answer import MAX_REASON_CHARS, Feedback, Mark, MarkKind, Rating

router = APIRouter(dependencies=[Depends(BEARER)])


class CitationFeedback(RequestBody):
    """What a reader did with a citation, passage or source of the answer."""

    paragraph_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    event: MarkKind
    """clicked: the reader opened it; unhelpful: it does not help or fit."""


class FeedbackRequest(RequestBody):
    answer_id: Annotated[str, Field(min_length=1, max_length=64, examples=["1f0c9d3e5b7a2c44"])]
    """From the answer."""
    rating: Rating | None = None
    """none withdraws an earlier rating. The last rating counts."""
    reason: Annotated[str | None, StringConstraints(max_length=MAX_REASON_CHARS)] = None
    """The reader's words; e-mail addresses and phone numbers are masked."""
    citation: CitationFeedback | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_beacon(cls, body: object) -> object:
        """Parse a body that was not sent as JSON, such as that of `navigator.sendBeacon`."""
        return from_json(body) if isinstance(body, bytes) else body

    @model_validator(mode="after")
    def _require_content(self) -> FeedbackRequest:
        if self.rating is None and self.reason is None and self.citation is None:
            message = "feedback needs a rating, a reason or a citation"
            raise ValueError(message)
        return self

    def to_feedback(self) -> Feedback:
        one = self.citation
        mark = Mark(one.paragraph_id, one.event) if one else None
        return Feedback(self.answer_id, self.rating, self.reason, mark)


@router.post(
    FEEDBACK,
    tags=["answers"],
    summary="Say whether an answer helped",
    status_code=204,
)
async def feedback(body: FeedbackRequest, request: Request, rag: Rag) -> None:
    """Store the feedback with the answer in the owner's question log."""
    if rag.question_log is None:
        message = "this server accepts no feedback: its owner can set RAG_QUESTION_LOG_DAYS"
        raise AnswerNotFound(message)
    await rag.question_log.give(body.to_feedback(), books_for(request, None))
