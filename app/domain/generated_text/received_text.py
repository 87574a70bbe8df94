"""Cleans the text that a model server sends: reasoning mark-up, halves of characters, length.

Applied to each delta before anything else reads the text.
"""

from __future__ import annotations

import re

from app.domain.surrogates import well_formed

MAX_CHARACTERS = 32_000
"""Limit on the text of one answer, whatever `max_tokens` the server was asked for."""

_CLOSING_TAG = re.compile(r"</(?:think|thinking|thought|reasoning)\s?>", re.I)
_TAG = re.compile(r"(?<!`)<(/?)(?:think|thinking|thought|reasoning)\s?>", re.I)
_BEGINNING = re.compile(r"(?:`|`?</?[a-z]{0,9}\s?)\Z", re.I)
_LONGEST_BEGINNING = 13
_HIGH_SURROGATE = re.compile("[\ud800-\udbff]\\Z")


class ReceivedText:
    """The text of one response. Feed its deltas, then close; takes time linear in their length.

    Blanks at its beginning are left out, and reasoning: what is between `<think>` and
    `</think>`, or from `<think>` to the end. A tag after a back quote is text.
    """

    def __init__(self, limit: int = MAX_CHARACTERS, *, unopened: bool = False) -> None:
        """`limit` is in characters, without the reasoning.

        `unopened`: hold the text back until `</think>`, or until the end if there is none.
        """
        self.restarted = False
        """Whether the last delta had `</think>` alone: all text before it was reasoning. Chat
        templates of some models write the opening tag into the prompt."""
        self.unopened = False
        """Whether there was a `</think>` alone; the model's next answer may have one too."""
        self._limit = self._left = limit
        self._half = ""  # a high surrogate whose low one may follow
        self._held = ""  # the beginning of a tag
        self._reasoning = unopened
        self._doubtful: str | None = "" if unopened else None  # reasoning if `</think>` follows
        self._strip = True  # blanks, until there is text

    @property
    def full(self) -> bool:
        """Whether the limit is exceeded; further text is dropped."""
        return self._left < 0

    def feed(self, delta: str) -> str:
        """Return the text that can be read now."""
        self.restarted = False
        delta = self._half + delta
        half = _HIGH_SURROGATE.search(delta)
        self._half = half[0] if half else ""
        return self._shown(self._held + well_formed(delta.removesuffix(self._half)), _BEGINNING)

    def close(self) -> str:
        """Return the text that was held back."""
        self.restarted = False
        rest = self._held + well_formed(self._half)
        if self._doubtful is not None:
            self._reasoning = False
            rest = self._doubtful + rest
        return self._shown(rest)

    def _shown(self, text: str, held: re.Pattern[str] | None = None) -> str:
        """Return the text without reasoning and, within the limit, without the end that matches."""
        kept, at = "", 0
        while tag := (_CLOSING_TAG if self._reasoning else _TAG).search(text, at):
            if not self._reasoning:
                kept += text[at : tag.start()]
                self._reasoning = not tag[1]
                if tag[1]:
                    kept = self._restart()
            else:
                self._end_reasoning()
            at = tag.end()
        beginning = held.search(text, max(at, len(text) - _LONGEST_BEGINNING)) if held else None
        self._held = beginning[0] if beginning else ""
        rest = text[at : len(text) - len(self._held)]
        if not self._reasoning:
            kept += rest
        elif self._doubtful is not None:
            self._doubtful += rest[: self._limit - len(self._doubtful)]
        return self._within_limit(kept.lstrip() if self._strip else kept)

    def _end_reasoning(self) -> None:
        self._reasoning = False
        self.unopened = self.unopened or self._doubtful is not None
        self._doubtful = None

    def _restart(self) -> str:
        self.restarted = self.unopened = self._strip = True
        self._left = self._limit
        return ""

    def _within_limit(self, text: str) -> str:
        self._strip = self._strip and not text
        shown = text[: max(self._left, 0)]
        self._left -= len(text)
        return shown
