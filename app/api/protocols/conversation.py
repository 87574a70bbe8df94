"""What the other protocols have in common: a conversation becomes a request of `POST /v1/chat`."""

from collections.abc import Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError

from app.api.requests import MAX_HISTORY_CHARS, MAX_TURNS, ChatRequest, ReadingContext
from app.domain.answer import Answer
from app.domain.book_id import BookId
from app.domain.errors import QuestionError

_MAX_TURN_CHARS = 8_000
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
        raise QuestionError("the last message must be the user's and contain text")
    try:
        fields = context.model_dump(include={*ReadingContext.model_fields})
        asked = {"question": turns[-1][1], "book": book, "history": _latest(turns[:-1])}
        return ChatRequest.model_validate(fields | asked)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


def _latest(turns: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    kept: list[dict[str, str]] = []
    left = MAX_HISTORY_CHARS
    for role, text in turns[: -MAX_TURNS - 1 : -1]:
        content = text[:_MAX_TURN_CHARS]
        left -= len(content)
        if left < 0:
            break
        kept.append({"role": role, "content": content})
    return kept[::-1]


def finish_reason(answer: Answer) -> str:
    return "length" if answer.truncated else "stop"
