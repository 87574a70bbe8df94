"""Where the characters of a text stand after some of them were replaced."""

from __future__ import annotations


class Replacements:
    """Maps offsets of a text to offsets of the text after its replacements, in code points."""

    def __init__(self) -> None:
        self._made: list[tuple[int, int, int]] = []

    def add(self, start: int, end: int, length: int) -> None:
        """`text[start:end]` became `length` characters. Replacements come in the text's order."""
        self._made.append((start, end, length))

    def at(self, offset: int) -> int:
        """An offset within a replaced part stays within what replaced it."""
        shift = 0
        for start, end, length in self._made:
            if start >= offset:
                break
            if offset < end:
                return start + shift + min(offset - start, length)
            shift += length - (end - start)
        return offset + shift
