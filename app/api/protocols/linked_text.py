"""An answer's text with its citations as Markdown links, for clients that show only text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.answer import Answer, AnswerFigure, Citation
from app.domain.generated_text.fences import closes, fence_run
from app.domain.printable import printable

_WORD = re.compile(r"\w")
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
    """Writes the link of a citation, `[1](url)`, after the cited text.

    If the stream has continued before the citation comes, the link is put at the end of the current
    line. The link for text in a code block is put below the block.
    """

    def __init__(self) -> None:
        self.text = ""
        """The text so far, with the links."""
        self.links: list[CitationLink] = []
        """The links in it."""
        self._sent_text, self._sent_links = 0, 0
        self._answer = ""
        self._blank = ""
        """White space at the end of the answer so far; a link may be inserted before it."""
        self._waiting: list[Citation] = []

    def write(self, text: str) -> Piece:
        """Add the answer's next text; return what to send."""
        text = printable(text)
        self._answer += text
        known = (self._blank + text).rstrip()
        self._blank = (self._blank + text)[len(known) :]
        for line in known.splitlines(keepends=True):
            content = line.rstrip("\n")
            self.text += content
            if content != line:
                self._add_links()
                self.text += line[len(content) :]
        return self._unsent()

    def cite(self, citation: Citation) -> Piece:
        """Add a citation of the text so far; return what to send."""
        self._waiting.append(replace(citation, title=printable(citation.title)))
        if not _WORD.search(self._answer, citation.end) and not _open_fence(self.text):
            self._add_links()
        return self._unsent()

    def close(self, figures: Sequence[AnswerFigure] = ()) -> Piece:
        """Return the remaining links, and below the text those of the figures."""
        self._add_links(closing=True)
        for one in figures:
            self.text += f"\n\n[{_label(one.title)}]({one.url})"
        return self._unsent()

    def _add_links(self, *, closing: bool = False) -> None:
        fence = _open_fence(self.text) if self._waiting else ""
        if not self._waiting or (fence and not closing):
            return
        if fence:
            self.text += f"\n{fence}"
        if fence_run(self.text.rpartition("\n")[2]):
            self.text += "\n"  # a link on the line of the fence would become part of the fence
        for citation in self._waiting:
            self.text += " " if self.text[-1:].strip() else ""
            start = len(self.text)
            self.text += f"[{citation.index}]({citation.url})"
            self.links.append(CitationLink(citation, start, len(self.text)))
        self._waiting.clear()

    def _unsent(self) -> Piece:
        piece = Piece(self.text[self._sent_text :], tuple(self.links[self._sent_links :]))
        self._sent_text, self._sent_links = len(self.text), len(self.links)
        return piece


def linked(answer: Answer) -> Piece:
    """Return the whole answer, each link after its claim."""
    writer, at = LinkedText(), 0
    for citation in sorted(answer.citations, key=lambda one: one.end):
        writer.write(answer.answer[at : citation.end])
        writer.cite(citation)
        at = max(at, citation.end)
    writer.write(answer.answer[at:])
    writer.close(answer.figures)
    return Piece(writer.text, tuple(writer.links))


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
