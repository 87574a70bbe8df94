"""Stops a generated answer that recites the program's prompts."""

from __future__ import annotations

from app.domain.prompts import (
    ANSWER_FROM_DOCUMENTS,
    ANSWER_FROM_NUMBERED_SOURCES,
    REWRITE_QUESTION,
    SHORT_ANSWER_FROM_NUMBERED_SOURCES,
)


class PromptGuard:
    """Holds back text that matches a prompt.

    After `_LEAKED_LETTERS` matching letters it is a leak, and nothing from its start on is shown.
    Only letters and digits are compared.
    """

    def __init__(self) -> None:
        self._held = ""
        self._shown = ""
        self.recited = False

    def feed(self, text: str) -> str:
        """Return the text that may be shown now."""
        if self.recited:
            return ""
        self._held += text
        offsets = [at for at, char in enumerate(self._held) if char.isalnum()]
        letters = self._shown + _letters(self._held)
        leak = _leak_start(letters)
        if leak is not None:
            self.recited = True
            return self._release(offsets[max(0, leak - len(self._shown))])
        waiting = min(_matching_tail(letters), len(offsets))
        return self._release(offsets[-waiting] if waiting else len(self._held))

    def close(self) -> str:
        """Return the text still held back at the end of the stream."""
        return "" if self.recited else self._release(len(self._held))

    def _release(self, end: int) -> str:
        shown, self._held = self._held[:end], self._held[end:]
        self._shown = (self._shown + _letters(shown))[-_LEAKED_LETTERS:]
        return shown


def _letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


_PROMPTS = " ".join(
    map(
        _letters,
        (
            ANSWER_FROM_DOCUMENTS,
            ANSWER_FROM_NUMBERED_SOURCES,
            SHORT_ANSWER_FROM_NUMBERED_SOURCES,
            REWRITE_QUESTION,
        ),
    )
)
_LEAKED_LETTERS = 60
"""Consecutive letters equal to a prompt that count as a leak."""
_HELD_LETTERS = 24
"""Consecutive letters equal to a prompt after which text is held back."""


def _leak_start(letters: str) -> int | None:
    for start in range(len(letters) - _LEAKED_LETTERS + 1):
        if letters[start : start + _LEAKED_LETTERS] in _PROMPTS:
            return start
    return None


def _matching_tail(letters: str) -> int:
    """Return how many letters at the end match a prompt; 0 if fewer than `_HELD_LETTERS`."""
    if len(letters) < _HELD_LETTERS or letters[-_HELD_LETTERS:] not in _PROMPTS:
        return 0
    longer = range(_HELD_LETTERS + 1, _LEAKED_LETTERS)
    return max(_HELD_LETTERS, *(size for size in longer if letters[-size:] in _PROMPTS), 0)
