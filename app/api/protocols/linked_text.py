"""An answer's text with its citations as Markdown links, for clients that show only text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.answer import Answer, AnswerFigure, Citation
from app.domain.characters import printable
from app.domain.generated_text.fences import closes, fence_run

_FIGURES = re.compile(r"(?:\n\n\[[^\n]+\]\([^()\s]*\))+\s*\Z")
_BRACKET = re.compile(r"[\[\]\\`<>!*_]")
_MAX_TITLE = 300
_LINK = re.compile(r"[ \n]?\[\d{1,4}\]\([^()\s]*\)")


@dataclass(frozen=True, slots=True)
class CitationLink:
    """The citation's link is `[start:end]` of the whole text."""

    citation: Citation
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """The next piece of the text, and the links in it."""

    text: str
    links: tuple[CitationLink, ...] = ()


class LinkedText:
    """Writes the link of a citation, `[1](url)`, behind the text so far.

    A link does not belong into a block of code: there it waits for the end of the block.
    """

    def __init__(self) -> None:
        self.text = ""
        """The text so far, with the links, but without the white space at its end."""
        self._blank = ""
        self._waiting: list[Citation] = []

    def write(self, text: str) -> Piece:
        """Add the answer's next text; return what to send."""
        begin, text = len(self.text), self._blank + printable(text)
        known = text.rstrip()
        self.text, self._blank = self.text + known, text[len(known) :]
        return self._since(begin)

    def cite(self, citation: Citation) -> Piece:
        """Add a citation of the text so far; return what to send."""
        self._waiting.append(replace(citation, title=printable(citation.title)))
        return self._since(len(self.text))

    def close(self, figures: Sequence[AnswerFigure] = ()) -> Piece:
        """Return the links that wait, and below the text those of the figures."""
        begin = len(self.text)
        if self._waiting and (fence := _open_fence(self.text)):
            self.text += f"\n{fence}"
        piece = self._since(begin)
        for one in figures:
            self.text += f"\n\n[{_label(one.title)}]({one.url})"
        return Piece(self.text[begin:], piece.links)

    def _since(self, begin: int) -> Piece:
        """Add the links that wait, unless in a block of code; return the text behind `begin`."""
        if not self._waiting or _open_fence(self.text):
            return Piece(self.text[begin:])
        links = []
        # A link on the line of a fence would become part of the fence.
        blank = "\n" if fence_run(self.text.rpartition("\n")[2]) else " "
        for citation in self._waiting:
            self.text += blank if self.text else ""
            start, blank = len(self.text), " "
            self.text += f"[{citation.index}]({citation.url})"
            links.append(CitationLink(citation, start, len(self.text)))
        self._waiting.clear()
        return Piece(self.text[begin:], tuple(links))


def linked(answer: Answer) -> Piece:
    """Return the whole answer, each link after its claim."""
    writer, at = LinkedText(), 0
    pieces: list[Piece] = []
    for citation in sorted(answer.citations, key=lambda one: one.end):
        pieces += (writer.write(answer.answer[at : citation.end]), writer.cite(citation))
        at = max(at, citation.end)
    pieces += (writer.write(answer.answer[at:]), writer.close(answer.figures))
    return Piece(writer.text, tuple(link for piece in pieces for link in piece.links))


def without_links(text: str) -> str:
    """Remove the links that `linked` has added to an answer."""
    return _LINK.sub("", _FIGURES.sub("", text))


def _label(title: str) -> str:
    text = " ".join(printable(title).split())[:_MAX_TITLE]
    return _BRACKET.sub(r"\\\g<0>", text) or "Figure"


def _open_fence(text: str) -> str:
    """Return the back-ticks or tildes of the code block in which the text ends, else ""."""
    run = ""
    for line in text.split("\n"):
        if not run:
            run = fence_run(line)
        elif closes(run, line):
            run = ""
    return run
