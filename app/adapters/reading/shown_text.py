"""The whole text of a built page, furniture included, as a browser's search for a quote sees it."""

from __future__ import annotations

from lxml.html import HtmlElement

from app.domain.page_text import PageText

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rp rt"
    " ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
"""Every other element begins and ends a block. A text fragment cannot cross a block."""
_NOT_RENDERED = frozenset({"head", "script", "style", "template", "noscript", "title"})
_HIDDEN_CODE = frozenset({"boring", "clipboard-copy-txt"})
"""Classes of the lines of code that mdBook hides, and of mkdocs-jupyter's copies of cells."""


def shown_text(root: HtmlElement) -> PageText:
    """Return the text of a parsed page by blocks."""
    shown = _Shown()
    shown.read(root)
    return PageText.of(shown.blocks)


class _Shown:
    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._text: list[str] = []

    def read(self, element: HtmlElement) -> None:
        if not is_rendered(element):
            return
        is_block = element.tag not in _INLINE
        if is_block:
            self._end_block()
        self._add(element.text)
        for child in element:
            self.read(child)
            self._add(child.tail)
        if is_block:
            self._end_block()

    def _add(self, text: str | None) -> None:
        if text:
            self._text.append(text)

    def _end_block(self) -> None:
        text = "".join(self._text)
        self._text.clear()
        if text.strip():
            self.blocks.append(text)


def is_rendered(element: HtmlElement) -> bool:
    """Whether a browser shows the text of an element."""
    return element.tag not in _NOT_RENDERED and _HIDDEN_CODE.isdisjoint(
        (element.get("class") or "").split()
    )
