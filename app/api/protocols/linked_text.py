"""An answer's text with its citations as Markdown links, for clients that show only text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.answer import Answer, AnswerFigure, Citation
from app.domain.generated_text.markup import fence_run, open_fence

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


class LinkedText:
    """Writes the link of a citation, `[1](url)`, behind the text so far.

    A link does not belong into a block of code: there it waits for the end of the block.
    """

    def __init__(self) -> None:
        self.text = ""
        """The text so far, with the links, but without the white space at its end."""
        self.links: list[CitationLink] = []
        self._blank = ""
        self._waiting: list[Citation] = []

    def write(self, text: str) -> None:
        text = self._blank + text
        known = text.rstrip()
        self.text, self._blank = self.text + known, text[len(known) :]
        self._link()

    def cite(self, citation: Citation) -> None:
        """Add a citation of the text so far."""
        self._waiting.append(citation)
        self._link()

    def close(self, figures: Sequence[AnswerFigure] = ()) -> None:
        """Add the links that wait, and below the text those of the figures."""
        if self._waiting and (fence := open_fence(self.text)):
            self.text += f"\n{fence}"
        self._link()
        for one in figures:
            self.text += f"\n\n[{_label(one.title)}]({one.url})"

    def _link(self) -> None:
        """Add the links that wait, unless in a block of code."""
        if not self._waiting or open_fence(self.text):
            return
        # A link on the line of a fence would become part of the fence.
        blank = "\n" if fence_run(self.text.rpartition("\n")[2]) else " "
        for citation in self._waiting:
            self.text += blank if self.text else ""
            start, blank = len(self.text), " "
            self.text += f"[{citation.index}]({citation.url})"
            self.links.append(CitationLink(citation, start, len(self.text)))
        self._waiting.clear()


def linked(answer: Answer) -> LinkedText:
    """Return the whole answer, each link after its claim."""
    writer, at = LinkedText(), 0
    for citation in sorted(answer.citations, key=lambda one: one.end):
        writer.write(answer.answer[at : citation.end])
        writer.cite(citation)
        at = max(at, citation.end)
    writer.write(answer.answer[at:])
    writer.close(answer.figures)
    return writer


def without_links(text: str) -> str:
    """Remove the links that `linked` has added to an answer."""
    return _LINK.sub("", _FIGURES.sub("", text))


def _label(title: str) -> str:
    text = " ".join(title.split())[:_MAX_TITLE]
    return _BRACKET.sub(r"\\\g<0>", text) or "Figure"
