"""The whole text of a built page, furniture included, as a browser's search for a quote sees it."""

from __future__ import annotations

from copy import deepcopy

from lxml import etree
from lxml.html import HtmlElement

from app.domain.links import PageText

_INLINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rp rt"
    " ruby s samp small span strike strong sub sup time tt u var wbr"
).split()
"""Every other element begins and ends a block. A text fragment cannot cross a block."""
_NOT_RENDERED = ("head", "script", "style", "template", "noscript", "title")
_HIDDEN_CODE = ("boring", "clipboard-copy-txt")
"""Classes of the lines of code that mdBook hides, and of mkdocs-jupyter's copies of cells."""
_MAYBE_HIDDEN = f"//*[{' or '.join(f'contains(@class, {name!r})' for name in _HIDDEN_CODE)}]"


def shown_text(root: HtmlElement) -> PageText:
    """Return the text of a parsed page by blocks."""
    page = deepcopy(root)
    for element in page.xpath(_MAYBE_HIDDEN):
        if not is_rendered(element):
            element.drop_tree()
    etree.strip_elements(page, *_NOT_RENDERED, with_tail=False)
    etree.strip_tags(page, *_INLINE)
    return PageText.of(filter(str.strip, page.itertext()))


def is_rendered(element: HtmlElement) -> bool:
    """Whether a browser shows the text of an element."""
    classes = (element.get("class") or "").split()
    return element.tag not in _NOT_RENDERED and not {*classes} & {*_HIDDEN_CODE}
