"""Long texts stored as UTF-8 to save memory, and lone surrogates, which UTF-8 cannot encode."""

from __future__ import annotations

from typing import TypeAlias

_PART = 1 << 11
"""Characters per part; a slice decodes only the parts it overlaps."""
_LONG = 1 << 20
"""Minimum number of characters of a text stored as UTF-8."""


class LongText:
    """A text stored as UTF-8, with `len()`, indexing, slicing (the step is ignored) and `str()`.

    It takes less memory than `str`, which uses four bytes for every character of a text with one
    emoji.
    """

    __slots__ = ("_length", "_parts")

    def __init__(self, text: str) -> None:
        self._length = len(text)
        starts = range(0, len(text), _PART)
        # No UTF-8 file has a lone surrogate, but a text from elsewhere may.
        self._parts = [text[at : at + _PART].encode(errors="surrogatepass") for at in starts]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int | slice) -> str:
        if isinstance(index, int):
            at = range(self._length)[index]
            return self._decoded(at // _PART, at // _PART + 1)[at % _PART]
        start, stop, _ = index.indices(self._length)
        if stop <= start:
            return ""
        first = start // _PART
        text = self._decoded(first, (stop - 1) // _PART + 1)
        return text[start - first * _PART : stop - first * _PART]

    def __str__(self) -> str:
        return self._decoded(0, len(self._parts))

    def _decoded(self, first: int, last: int) -> str:
        parts = self._parts
        encoded = parts[first] if last == first + 1 else b"".join(parts[first:last])
        return encoded.decode(errors="surrogatepass")


Text: TypeAlias = str | LongText
"""A text that supports slicing."""


def held(text: str) -> Text:
    """Return the text in the form that takes least memory."""
    return LongText(text) if len(text) >= _LONG and not text.isascii() else text


def is_well_formed(text: str) -> bool:
    """Whether the text has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def well_formed(text: str) -> str:
    """Replace each lone surrogate by U+FFFD."""
    if is_well_formed(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
