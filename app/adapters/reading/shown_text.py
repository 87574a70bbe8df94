"""The whole text of a built page, furniture included, as a browser's search for a quote sees it."""

from __future__ import annotations

from lxml.etree import iterwalk
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
    blocks = [""]
    walk = iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if element.tag not in _INLINE and element.tag not in _NOT_RENDERED:
            blocks.append("")
        if event == "end":
            blocks[-1] += element.tail or ""
        elif is_rendered(element):
            blocks[-1] += element.text or ""
        else:
            walk.skip_subtree()
    return PageText.of(filter(str.strip, blocks))


def is_rendered(element: HtmlElement) -> bool:
    """Whether a browser shows the text of an element."""
    return element.tag not in _NOT_RENDERED and _HIDDEN_CODE.isdisjoint(
        (element.get("class") or "").split()
    )
