"""Reads questions.jsonl: questions with known answers, one JSON object a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import GoldSpan, Question
from app.domain.retrieval.query import Turn
from app.services.safe_paths import read_text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"{text!r} is not a regular expression ({error})"
        raise ValueError(message) from error
    return text


def _span(gold: GoldSpan) -> GoldSpan:
    if not 0 <= gold.start < gold.end:
        message = f"the gold span {gold.start} to {gold.end} is empty or below 0"
        raise ValueError(message)
    return gold


def _turn(turn: Turn) -> Turn:
    if turn.role not in {"user", "assistant"}:
        message = f'role {turn.role!r} is neither "user" nor "assistant"'
        raise ValueError(message)
    return turn


def _book(text: str) -> str:
    try:
        return BookId(text)
    except InputError as error:
        raise ValueError(str(error)) from error


class _Line(BaseModel, strict=True):
    """The fields of a `Question` by their keys in the file; other keys are ignored."""

    id: str
    question: str
    kind: str
    answerable: bool
    gold: tuple[Annotated[GoldSpan, AfterValidator(_span)], ...] = ()
    gold_file: str = ""
    filter_file: str = ""
    history: tuple[Annotated[Turn, AfterValidator(_turn)], ...] = ()
    book: Annotated[str, AfterValidator(_book)] | None = None
    key_facts: tuple[Annotated[str, AfterValidator(_pattern)], ...] = ()
    needs_all_gold: Annotated[bool, Field(alias="gold_all")] = False
    half: str = ""

    @model_validator(mode="after")
    def _require_gold(self) -> _Line:
        if self.answerable and not self.gold and not self.gold_file:
            message = "answerable, but without gold and gold_file: add one of them"
            raise ValueError(message)
        return self


def read_questions(path: Path) -> list[Question]:
    """Read the whole file. InputError, with file and line, at the first error."""
    questions: dict[str, Question] = {}
    # Lines end at "\n" only: str.splitlines would cut at U+2028 inside a question.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            question = Question(**dict(_Line.model_validate_json(line)))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            reason = first["msg"].removeprefix("Value error, ")
            message = f"{path}:{number}: {key}{': ' if key else ''}{reason}"
            raise InputError(message) from None
        if question.id in questions:
            message = f"{path}:{number}: the id {question.id!r} is used twice"
            raise InputError(message)
        questions[question.id] = question
    if not questions:
        message = f"{path}: no questions in it: write one JSON object per line"
        raise InputError(message)
    return list(questions.values())
