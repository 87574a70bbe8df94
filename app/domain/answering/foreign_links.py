"""Takes web and mail addresses that the book's paragraphs do not hold out of a written answer.

A model that has been talked into linking somewhere must not lead a reader there. Works on a stream
of any pieces: only what may still become an address is held back.
"""

from __future__ import annotations

import re

from app.domain.document import Span

_SCHEMES = (
    *("http://", "https://", "ftp://", "file://", "ws://", "wss://", "www.", "mailto:"),
    *("javascript:", "vbscript:", "data:text/", "data:image/"),
    # An address without a scheme, where mark-up has one: [x](//host), href="//host", src=//host.
    *("(//", '"//', "'//", "=//", "<//"),
)
_ADDRESS = re.compile(rf"(?:{'|'.join(map(re.escape, _SCHEMES))})[^\s<>\"'`)\]}}]+", re.IGNORECASE)
_BEGINNINGS = {scheme[:end] for scheme in _SCHEMES for end in range(1, len(scheme) + 1)}
_UNFINISHED = re.compile(
    f"(?:{'|'.join(map(re.escape, sorted(_BEGINNINGS, reverse=True)))})\\Z", re.IGNORECASE
)
_LONGEST_BEGINNING = max(map(len, _SCHEMES))
_TRAILING = ".,;:!?*_"


class ForeignLinkFilter:
    """`feed` and `close` return what may be shown; offsets count code points."""

    def __init__(self, book_text: str) -> None:
        """`book_text` holds every address that an answer may name."""
        self._book_text = book_text
        self._held = ""
        self._cuts: list[Span] = []
        self.decided = 0
        """How far, in the written text, it is known what is shown."""

    def feed(self, text: str) -> str:
        self._held += text
        return self._release(_safe_end(self._held))

    def close(self) -> str:
        return self._release(len(self._held))

    def shown_at(self, offset: int) -> int:
        """Where the character at `offset` of the written text stands in what is shown."""
        return offset - sum(min(end, offset) - start for start, end in self._cuts if start < offset)

    def _release(self, end: int) -> str:
        ready, self._held = self._held[:end], self._held[end:]
        shown = ""
        last = 0
        for found in _ADDRESS.finditer(ready):
            address = found.group().rstrip(_TRAILING)
            if address in self._book_text:
                continue
            shown += ready[last : found.start()]
            last = found.start() + len(address)
            self._cuts.append((self.decided + found.start(), self.decided + last))
        self.decided += end
        return shown + ready[last:]


def _safe_end(text: str) -> int:
    """Up to where `text` holds nothing that the next piece could make an address, or longer."""
    for found in _ADDRESS.finditer(text):
        if found.end() == len(text):
            return found.start()
    tail = max(0, len(text) - _LONGEST_BEGINNING)
    unfinished = _UNFINISHED.search(text, tail)
    return unfinished.start() if unfinished else len(text)
