"""Pages rendered from Markdown as readers see them: safe HTML whose paragraphs have their ids."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from html import escape
from urllib.parse import urlsplit

import lxml.html
import nh3
from lxml.html import HtmlElement

from app.adapters.reading.blocks import SPAN
from app.adapters.reading.formulas import TAG as FORMULA
from app.adapters.reading.hidden import hidden_elements
from app.domain.document import Block, BlockKind, Book, Document

_TAGS = nh3.ALLOWED_TAGS | {"section", "figure", "figcaption", "input", "label", "main"}
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"id", "class", "title", "lang", "dir", "data-paragraph-id", "tabindex", "open"},
}
_ADMONITIONS = {"tip", "note", "info", "warning", "caution", "danger", "callout", "admonition"}


def rendered_pages(book: Book) -> dict[str, str]:
    """Return the HTML of each document's article, by the document's file.

    Links between pages become the pages' paths. Scripts, styles and event handlers are removed.
    """
    paths = {one.file: urlsplit(one.url).path or "/" for one in book.documents}
    return {one.file: _article(one, paths) for one in book.documents if one.html}


def _article(document: Document, paths: Mapping[str, str]) -> str:
    root = lxml.html.fragment_fromstring(document.html, create_parent="div")
    for element, _ in hidden_elements(root):
        element.drop_tree()
    _identify(root, document.blocks)
    for element in list(root.iter()):
        _show(element, document.file, paths)
    html = lxml.html.tostring(root, encoding="unicode")
    title = "" if root.find(".//h1") is not None else f"<h1>{escape(document.title)}</h1>\n"
    return title + nh3.clean(html, tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noopener")


def _identify(root: HtmlElement, blocks: tuple[Block, ...]) -> None:
    """Give the outermost element of each block its paragraph id; headings keep their anchors."""
    by_span = {f"{one.start}:{one.end}": one for one in reversed(blocks)}
    for element in root.iter():
        block = by_span.pop(element.get(SPAN) or "", None)
        if block is None:
            continue
        element.set("data-paragraph-id", block.paragraph_id)
        if block.kind is not BlockKind.HEADING and not element.get("id"):
            element.set("id", block.paragraph_id)


def _show(element: HtmlElement, file: str, paths: Mapping[str, str]) -> None:
    """Turn an element of the reader's own into one that browsers know."""
    if element.tag == FORMULA:
        display = element.get("display") == "1"
        element.tag = "div" if display and not _in_paragraph(element) else "span"
        element.set("class", "math math-block" if display else "math")
    elif element.tag in _ADMONITIONS:
        element.set("class", f"admonition {element.tag}")
        element.tag = "aside"
    elif element.tag == "tabitem":
        label = element.makeelement("p", {"class": "label"})
        label.text, label.tail, element.text = element.get("label"), element.text, None
        element.insert(0, label)
        element.tag = "div"
    elif element.tag == "pre":
        element.set("tabindex", "0")
    elif element.tag == "a":
        element.set("href", _link(element.get("href") or "", file, paths))


def _in_paragraph(element: HtmlElement) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag in ("p", "li", "td", "th")


def _link(href: str, file: str, paths: Mapping[str, str]) -> str:
    """Return the target of a link on the site: a page's file becomes its path."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(file), parts.path))
    path = paths.get(target) if parts.path and not parts.netloc else None
    return parts._replace(path=path).geturl() if path else href
