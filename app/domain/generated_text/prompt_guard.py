"""Stops a generated answer that recites the program's prompts."""

from __future__ import annotations

from app.domain.generated_text.splitter import Unit
from app.domain.prompts import (
    ANSWER_FROM_DOCUMENTS,
    ANSWER_FROM_NUMBERED_SOURCES,
    REWRITE_QUESTION,
    SHORT_ANSWER_FROM_NUMBERED_SOURCES,
)

_LEAKED_LETTERS = 60
"""Consecutive letters equal to a prompt that count as a leak."""
_HELD_LETTERS = 24
"""Units that end with as many letters of a prompt wait for the next one."""


def _letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _runs(length: int) -> frozenset[str]:
    prompts = (
        ANSWER_FROM_DOCUMENTS,
        ANSWER_FROM_NUMBERED_SOURCES,
        SHORT_ANSWER_FROM_NUMBERED_SOURCES,
        REWRITE_QUESTION,
    )
    said = map(_letters, prompts)
    return frozenset(one[at : at + length] for one in said for at in range(len(one) - length + 1))


_LEAKED, _HELD = _runs(_LEAKED_LETTERS), _runs(_HELD_LETTERS)


class PromptGuard:
    """Releases units until one continues a prompt; only letters and digits are compared."""

    def __init__(self) -> None:
        self._before = ""
        self._waiting: list[Unit] = []
        self.recited = False

    def take(self, unit: Unit) -> list[Unit]:
        """Return the units that may be shown now, without those that recite a prompt."""
        letters = self._before + _letters(unit.text)
        starts = range(len(letters) - _LEAKED_LETTERS + 1)
        if any(letters[at : at + _LEAKED_LETTERS] in _LEAKED for at in starts):
            self.recited = True
            self._waiting = []
        if self.recited:
            return []
        self._before = letters[-_LEAKED_LETTERS + 1 :]
        self._waiting.append(unit)
        return [] if letters[-_HELD_LETTERS:] in _HELD else self.close()

    def close(self) -> list[Unit]:
        """Return the units still waiting at the end of the answer."""
        released, self._waiting = self._waiting, []
        return released
