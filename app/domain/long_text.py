"""A long text held in parts, each in as few bytes a character as its own characters need.

Python keeps a string in one width: a single emoji makes it four bytes a character throughout.
"""

from __future__ import annotations

from typing import TypeAlias

_PART = 1 << 16
"""Characters of a part."""
_LONG = 1 << 20
"""Characters from which on a text is held in parts."""


class LongText:
    """Has a string's length, slices (with a step of 1) and `str()`."""

    __slots__ = ("_length", "_parts")

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int | slice) -> str:
        if isinstance(index, int):
            at = index + self._length if index < 0 else index
            return self._parts[at // _PART][at % _PART]
        start, stop, _ = index.indices(self._length)
        if stop <= start:
            return ""
        first, last = start // _PART, (stop - 1) // _PART
        if first == last:
            return self._parts[first][start - first * _PART : stop - first * _PART]
        joined = "".join(self._parts[first : last + 1])
        return joined[start - first * _PART : stop - first * _PART]

    def __str__(self) -> str:
        return "".join(self._parts)


Text: TypeAlias = str | LongText
"""What may be sliced like a string."""


def held(text: str) -> Text:
    """Return the text as it takes least room."""
    return LongText(text) if len(text) >= _LONG and not text.isascii() else text
