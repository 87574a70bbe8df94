"""Reads questions.jsonl: questions with known answers, one JSON object a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.evaluation.measurement import GoldSpan, Question
from app.domain.retrieval.query import Turn
from app.services.safe_paths import read_text


class _Line(BaseModel, strict=True):
    """The fields of a `Question` by their keys in the file; other keys are ignored."""

    id: str
    question: str
    kind: str
    answerable: bool
    gold: tuple[GoldSpan, ...] = ()
    gold_file: str = ""
    filter_file: str = ""
    history: tuple[Turn, ...] = ()
    book: str | None = None
    key_facts: tuple[str, ...] = ()
    needs_all_gold: bool = Field(False, alias="gold_all")
    half: str = ""


def read_questions(path: Path) -> list[Question]:
    """Read the whole file. InputError, with file and line, at the first error."""
    questions: dict[str, Question] = {}
    # Lines end at "\n" only: str.splitlines would cut at U+2028 inside a question.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            question = _question(line)
            if question.id in questions:
                message = f"the id {question.id!r} is used twice"
                raise InputError(message)
        except InputError as error:
            message = f"{path}:{number}: {error}"
            raise InputError(message) from None
        questions[question.id] = question
    if not questions:
        message = f"{path}: no questions in it: write one JSON object per line"
        raise InputError(message)
    return list(questions.values())


def _question(text: str) -> Question:
    """Return the question of a line. InputError."""
    try:
        line = _Line.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise InputError(f"{key}: {first['msg']}" if key else first["msg"]) from None
    book = None if line.book is None else BookId(line.book)
    question = Question(**dict(line) | {"book": book})
    for fault in _faults(question):
        raise InputError(fault)
    return question


def _faults(question: Question) -> Iterator[str]:
    """Yield what is wrong with values that have the right types."""
    if question.answerable and not question.gold and not question.gold_file:
        yield "answerable, but without gold and gold_file: add one of them"
    for gold in question.gold:
        if not 0 <= gold.start < gold.end:
            yield f"gold: the gold span {gold.start} to {gold.end} is empty or below 0"
    for pattern in question.key_facts:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            yield f"key_facts: {pattern!r} is not a regular expression ({error})"
