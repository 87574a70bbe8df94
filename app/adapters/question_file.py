"""Reads questions.jsonl: questions with known answers, one JSON object a line.

Required keys: id, question, kind, answerable. Optional keys: gold `[{"file", "start", "end"}]`,
gold_file, filter_file, history `[{"role", "content"}]`, lang, book, key_facts, gold_all, half.
Other keys are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import GoldSpan, Question
from app.domain.reading_budget import read_json
from app.domain.retrieval.query import Turn
from app.domain.surrogates import is_well_formed
from app.services.safe_paths import read_text

_Record: TypeAlias = Mapping[str, object]

T = TypeVar("T")


def read_questions(path: Path) -> list[Question]:
    """Read the whole file. InputError, with file and line, at the first error."""
    questions: dict[str, Question] = {}
    # Lines end at "\n" only: str.splitlines would cut at U+2028 inside a question.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        value = read_json(line, str(path), number, expected="write an object per line")
        try:
            question = _question(_record(value))
            if question.id in questions:
                raise _Fault(f"the id {question.id!r} is used twice: give each question its own")
        except _Fault as fault:
            message = f"{path}:{number}: {fault}"
            raise InputError(message) from None
        questions[question.id] = question
    if not questions:
        message = f"{path}: no questions in it: write one JSON object per line"
        raise InputError(message)
    return list(questions.values())


class _Fault(Exception):
    """A fault of one line."""


def has_facts(text: str, key_facts: Sequence[str]) -> bool:
    """Whether every pattern matches, ignoring case. A space in it also matches a line break."""
    forms = (text, " ".join(text.split()))
    return all(any(_matches(fact, form) for form in forms) for fact in key_facts)


def _matches(pattern: str, text: str) -> bool:
    return bool(re.search(pattern, text, re.IGNORECASE | re.DOTALL))


def _question(record: _Record) -> Question:
    question = Question(
        id=_text(record, "id"),
        question=_text(record, "question"),
        kind=_text(record, "kind"),
        answerable=_flag(record, "answerable"),
        gold=tuple(_gold(_record(one)) for one in _list(record, "gold")),
        gold_file=_text(record, "gold_file", ""),
        filter_file=_text(record, "filter_file", ""),
        history=tuple(_turn(_record(one)) for one in _list(record, "history")),
        language=_text(record, "lang", "en"),
        book=_book(record),
        key_facts=tuple(_pattern(one) for one in _list(record, "key_facts")),
        needs_all_gold=_flag(record, "gold_all", default=False),
        half=_text(record, "half", ""),
    )
    if question.answerable and not question.gold and not question.gold_file:
        raise _Fault("answerable, but without gold and gold_file: add one of them")
    return question


def _gold(record: _Record) -> GoldSpan:
    gold = GoldSpan(_text(record, "file"), _offset(record, "start"), _offset(record, "end"))
    if gold.start >= gold.end:
        raise _Fault(f"the gold span {gold.start} to {gold.end} is empty: end must be above start")
    return gold


def _book(record: _Record) -> BookId | None:
    text = _text(record, "book", "")
    try:
        return BookId(text) if text else None
    except InputError as error:
        raise _Fault(str(error)) from error


def _pattern(value: object) -> str:
    if not isinstance(value, str):
        raise _Fault("'key_facts' must hold strings")
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise _Fault(f"key fact {value!r} is not a regular expression ({error})") from error
    return value


def _turn(record: _Record) -> Turn:
    role = _text(record, "role")
    if role not in {"user", "assistant"}:
        raise _Fault(f'role {role!r} is neither "user" nor "assistant"')
    return Turn(role, _text(record, "content"))


def _record(value: object) -> _Record:
    if not isinstance(value, dict):
        raise _Fault(f"expected a JSON object, not {type(value).__name__}")
    return value


def _text(record: _Record, key: str, default: str | None = None) -> str:
    value = _value(record, key, default, str, "a string")
    if not is_well_formed(value):
        raise _Fault(f"{key!r} has half of a surrogate pair: save the text as UTF-8")
    return value


def _flag(record: _Record, key: str, *, default: bool | None = None) -> bool:
    return _value(record, key, default, bool, "true or false")


def _list(record: _Record, key: str) -> list[object]:
    return _value(record, key, [], list, "a list")


def _value(record: _Record, key: str, default: T | None, kind: type[T], name: str) -> T:
    value = record.get(key, default)
    if not isinstance(value, kind):
        raise _Fault(f"{key!r} must be {name}" if key in record else f"{key!r} is missing")
    return value


def _offset(record: _Record, key: str) -> int:
    value = record.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _Fault(f"{key!r} must be an offset of 0 or more")
    return value
