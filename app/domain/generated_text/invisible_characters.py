"""Removes invisible characters from a generated answer.

They hide text from people, or split an address so that no filter recognises it. The joiners U+200C
and U+200D stay where they change how letters or emoji are drawn; tag characters stay in a
subdivision flag such as England's, the only valid emoji tag sequence (UTS #51).
"""

from __future__ import annotations

import re


class Replacements:
    """Maps offsets of a text to offsets of the text after its replacements, in code points."""

    def __init__(self) -> None:
        self._made: list[tuple[int, int, int]] = []

    def add(self, start: int, end: int, length: int) -> None:
        """`text[start:end]` became `length` characters. Replacements come in the text's order."""
        self._made.append((start, end, length))

    def at(self, offset: int) -> int:
        """Map an offset; one inside a replaced part stays inside its replacement."""
        shift = 0
        for start, end, length in self._made:
            if start >= offset:
                break
            if offset < end:
                return start + shift + min(offset - start, length)
            shift += length - (end - start)
        return offset + shift


# Arabic to Thaana, Indic to Myanmar, Khmer and Mongolian, Balinese to Batak, Arabic presentation
# forms, Brahmic scripts beyond the basic plane.
_JOINING = (
    "\u0600-\u08ff\u0900-\u109f\u1780-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\ua800-\ua8ff\ua980-\uaaff"
    "\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefe\U00010a00-\U00010aff\U00011000-\U00011fff"
)
_EMOJI = "\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_FLAG, _TAGS = "\U0001f3f4", "[\U000e0030-\U000e0039\U000e0061-\U000e007a]"
_OPEN_FLAG = re.compile(f"(?<={_FLAG}){_TAGS}{{1,6}}\\Z")
_INVISIBLE = re.compile(
    f"(?P<flag>(?<={_FLAG}){_TAGS}{{3,6}}\U000e007f)|"
    # Soft hyphen, zero-width space, bidirectional embeddings, overrides and isolates, word joiner,
    # byte order mark, tag characters, controls that break no line.
    "[\u00ad\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
    "\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]"
    f"|(?<![{_JOINING}])\u200c|(?<![{_JOINING}{_EMOJI}])\u200d"
)


class VisibleText:
    """`feed` returns the visible part of the next piece; only tags of a flag are held back."""

    def __init__(self) -> None:
        self._before = ""
        self._held = ""
        self._read = 0
        self._cuts = Replacements()

    def feed(self, piece: str) -> str:
        text = self._before + self._held + piece
        last = len(self._before)
        self._held = ""
        if (found := _OPEN_FLAG.search(text)) and found.start() >= last:
            self._held = found[0]
            text = text[: found.start()]
        origin = self._read - last
        self._read = origin + len(text)
        self._before = text[-1:]
        shown: list[str] = []
        for found in _INVISIBLE.finditer(text, last):
            if found["flag"]:
                continue
            shown.append(text[last : found.start()])
            last = found.end()
            self._cuts.add(origin + found.start(), origin + last, 0)
        return "".join([*shown, text[last:]])

    def close(self) -> None:
        """Drop the tags held back: the flag is incomplete."""
        self._cuts.add(self._read, self._read + len(self._held), 0)

    def at(self, offset: int) -> int:
        """Map an offset of the text read to the visible text."""
        return self._cuts.at(offset)


def without_invisible(text: str) -> str:
    """Return the text without invisible characters."""
    return VisibleText().feed(text)
