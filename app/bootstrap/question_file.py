"""Reads questions.jsonl: questions with known answers, one JSON object a line."""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from app.domain.answering.request import require_question
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import Question
from app.services.safe_paths import read_text

_FIELDS = TypeAdapter(Question)
"""The keys of a line are the fields of a `Question`; other keys are ignored."""


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
                raise InputError(f"the id {question.id!r} is used twice")
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
        questions[question.id] = question
    if not questions:
        raise InputError(f"{path}: no questions in it: write one JSON object per line")
    return list(questions.values())


def _question(text: str) -> Question:
    """Return the question of a line. InputError."""
    try:
        question = _FIELDS.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{key}: {said}" if key else said) from None
    require_question(question.question)
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
