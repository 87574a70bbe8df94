"""What the other protocols have in common: a conversation becomes a request of `POST /v1/chat`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError

from app.api.requests import (
    MAX_HISTORY_CHARS,
    MAX_TURN_CHARS,
    MAX_TURNS,
    ChatRequest,
    ReadingContext,
    TurnBody,
)
from app.domain.answer import Answer
from app.domain.book_id import BookId
from app.domain.errors import QuestionError

MESSAGES: Any = Field(
    min_length=1,
    max_length=1_000,
    description="The last one, of role `user`, is the question; the latest earlier ones of `user` "
    "and `assistant` are the history, within the limits of `POST /v1/chat`. Other roles are "
    "ignored.",
)


def chat_request(
    turns: Sequence[tuple[str, str]], book: BookId | None, context: ReadingContext
) -> ChatRequest:
    """Return a request with the last turn as question and the latest earlier turns as history.

    `turns` are (role, text), oldest first; other roles than "user" and "assistant" are left out.
    QuestionError unless the last one is the user's; RequestValidationError if a field is invalid.
    """
    turns = [one for one in turns if one[0] in {"user", "assistant"}]
    if not turns or turns[-1][0] != "user":
        message = "the last message must be the user's and contain text"
        raise QuestionError(message)
    try:
        fields = context.model_dump(include={*ReadingContext.model_fields})
        history = _latest(turns[:-1])
        return ChatRequest(question=turns[-1][1], book=book, history=history, **fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


def _latest(turns: Sequence[tuple[str, str]]) -> tuple[TurnBody, ...]:
    kept: list[TurnBody] = []
    left = MAX_HISTORY_CHARS
    for role, text in reversed(turns):
        content = text[:MAX_TURN_CHARS]
        if len(kept) == MAX_TURNS or len(content) > left:
            break
        if content:
            kept.append(TurnBody.model_validate({"role": role, "content": content}))
            left -= len(content)
    return tuple(reversed(kept))


def finish_reason(answer: Answer) -> str:
    return "length" if answer.truncated else "stop"
