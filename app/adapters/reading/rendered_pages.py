"""Pages rendered from Markdown as readers see them: safe HTML whose paragraphs have their ids."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from html import escape
from itertools import takewhile
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

import lxml.html
import nh3
from lxml.html import HtmlElement

from app.adapters.reading.formulas import TAG as FORMULA
from app.adapters.reading.hidden_text import drop_hidden
from app.adapters.reading.tree import SPAN, parse
from app.domain.document import Block, Book, Document
from app.domain.urls import encoded_path

_IMAGES = (".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp")
_TAGS = nh3.ALLOWED_TAGS | {"section", "figure", "figcaption", "input", "label"}
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"id", "class", "title", "lang", "dir", "data-paragraph-id", "tabindex", "open"},
}
_CLEANER = nh3.Cleaner(tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noopener")
_ADMONITIONS = {"tip", "note", "info", "warning", "caution", "danger", "callout", "admonition"}
_ID = "data-paragraph-id"


def rendered_pages(book: Book) -> tuple[dict[str, str], set[str]]:
    """Return the HTML of the pages by their files, and the files that they name as images.

    Links to pages and images become paths below the book's address, where an image has the path
    that its file has in the book's folder. Scripts, styles and event handlers are removed.
    """
    paths = {one.file: urlsplit(one.url).path or "/" for one in book.documents}
    base, images = urlsplit(book.base_url).path, set[str]()

    def address(folder: str, link: str) -> str:
        file = _file_of(link, folder)
        if file in paths:
            return urlsplit(link)._replace(path=paths[file]).geturl()
        if not file.lower().endswith(_IMAGES) or file.startswith("../"):
            return link
        images.add(file)
        return f"{base}/{encoded_path(file)}"

    pages = book.documents
    return {one.file: _article(one, partial(address, dirname(one.file))) for one in pages}, images


def _file_of(link: str, folder: str) -> str:
    """Return the file that a link on a page of this folder names; "" if it names none."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    if not parts.path or parts.scheme or parts.netloc:
        return ""
    above = "" if parts.path.startswith("/") else folder
    return normpath(join(above, unquote(parts.path).lstrip("/")))


def _article(document: Document, address: Callable[[str], str]) -> str:
    """Return a page in elements that browsers know, its links replaced by their addresses."""
    page = parse(document.html.encode("utf-8", "replace"), document.file)
    root: HtmlElement = page.xpath("body")[0]
    root.tag = "div"
    drop_hidden(root)
    _identify(root, document.blocks)
    for element in [*root.iter(FORMULA, "tabitem", "td", "th", *_ADMONITIONS)]:
        _show(element)
    for link in root.xpath(".//@href | .//@src"):
        link.getparent().set(link.attrname, address(link.strip()))
    html = lxml.html.tostring(root, encoding="unicode")
    is_named = any(block.level == 1 and len(block.heading_path) == 1 for block in document.blocks)
    title = "" if is_named else f"<h1>{escape(document.title)}</h1>\n"
    return title + _CLEANER.clean(html)


def _identify(root: HtmlElement, blocks: tuple[Block, ...]) -> None:
    """Give the first element of each block its paragraph id; headings keep their anchors."""
    by_span: dict[str, list[HtmlElement]] = defaultdict(list)
    for element in root.xpath(f".//*[@{SPAN} and not(@{SPAN} = ../@{SPAN})]"):
        span = element.get(SPAN)
        by_span[span].append(element)
        by_span[span.partition(":")[0]].append(element)
    taken = set(root.xpath(".//@id"))
    for block in blocks:
        found = by_span.get(f"{block.start}:{block.end}") or by_span[str(block.start)]
        free = next((one for one in found if not one.get(_ID)), None)
        if free is not None:
            shown = _with_terms(free) if free.tag == "dd" else free
            shown.set(_ID, block.paragraph_id)
            if not shown.get("id") and block.paragraph_id not in taken:
                shown.set("id", block.paragraph_id)


def _with_terms(definition: HtmlElement) -> HtmlElement:
    """Put a definition and the terms before it into one element, and return that."""
    before = takewhile(lambda one: one.tag == "dt", definition.itersiblings(preceding=True))
    entry = definition.makeelement("div", {})
    members = [*reversed(list(before)), definition]
    members[0].addprevious(entry)
    entry.extend(members)
    return entry


def _show(element: HtmlElement) -> None:
    """Turn an element into one that browsers know."""
    tag = str(element.tag)
    if tag in _ADMONITIONS:
        element.tag = "aside"
        element.set("class", f"admonition {tag}")
    elif tag == FORMULA:
        parent, display = element.getparent(), element.get("display") == "1"
        inside = parent is not None and parent.tag in ("p", "li", "td", "th")
        element.tag = "div" if display and not inside else "span"
        element.set("class", "math math-block" if display else "math")
    elif tag == "tabitem":
        label = element.makeelement("p", {"class": "label"})
        label.text, label.tail, element.text = element.get("label"), element.text, None
        element.insert(0, label)
        element.tag = "div"
        element.set("class", "tab")
    elif tag in ("td", "th") and (style := element.get("style")):
        element.set("class", style.replace("text-align:", "align-"))
