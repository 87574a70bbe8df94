"""Recognises a sentence of a generated answer that recites the program's prompts."""

from __future__ import annotations

from app.domain.prompts import (
    ANSWER_FROM_DOCUMENTS,
    ANSWER_FROM_NUMBERED_SOURCES,
    REWRITE_QUESTION,
    SHORT_ANSWER_FROM_NUMBERED_SOURCES,
)

_LENGTH = 40
"""Consecutive letters of a prompt that no other text has by chance."""
_PROMPTS = (
    ANSWER_FROM_DOCUMENTS,
    ANSWER_FROM_NUMBERED_SOURCES,
    SHORT_ANSWER_FROM_NUMBERED_SOURCES,
    REWRITE_QUESTION,
)


def _runs(text: str) -> frozenset[str]:
    letters = "".join(filter(str.isalnum, text.lower()))
    return frozenset(letters[at : at + _LENGTH] for at in range(len(letters) - _LENGTH + 1))


_LEAKED = frozenset[str]().union(*map(_runs, _PROMPTS))


def recites_prompt(text: str) -> bool:
    """Whether the text has a part of a prompt; only letters and digits are compared."""
    return not _LEAKED.isdisjoint(_runs(text))
