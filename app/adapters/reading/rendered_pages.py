"""Pages rendered from Markdown as readers see them: safe HTML whose paragraphs have their ids."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import takewhile
from urllib.parse import unquote, urlsplit

import lxml.html
import nh3
from lxml.html import HtmlElement

from app.adapters.reading.formulas import TAG as FORMULA
from app.adapters.reading.hidden import drop_hidden
from app.adapters.reading.tree import SPAN
from app.domain.document import Block, Book, Document
from app.domain.urls import encoded_path

IMAGE_SUFFIXES = (".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp")
_TAGS = nh3.ALLOWED_TAGS | {"section", "figure", "figcaption", "input", "label"}
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"id", "class", "title", "lang", "dir", "data-paragraph-id", "tabindex", "open"},
}
_ADMONITIONS = {"tip", "note", "info", "warning", "caution", "danger", "callout", "admonition"}
_ID = "data-paragraph-id"
_CAPTION = re.compile(r"(?:Figure|Table|Listing) [\d.]+")


@dataclass(frozen=True, slots=True)
class RenderedPages:
    """The pages of a book as HTML, and the images of its folder that they show."""

    articles: dict[str, str] = field(default_factory=dict)
    """The HTML of each document's article, by the document's file."""
    images: set[str] = field(default_factory=set)
    """Files that the pages name as images; each is at its path below the book's address."""


def rendered_pages(book: Book) -> RenderedPages:
    """Render the book's pages. Links to pages and images become paths below the book's address.

    Scripts, styles and event handlers are removed.
    """
    made = RenderedPages()
    paths = {one.file: urlsplit(one.url).path or "/" for one in book.documents}
    for document in book.documents:
        page = _Page(document.file, urlsplit(book.base_url).path, paths, made.images)
        made.articles[document.file] = page.article(document)
    return made


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


@dataclass(frozen=True, slots=True)
class _Page:
    """Turns the elements of a page into those that browsers know and that lead somewhere."""

    file: str
    base: str
    """Path of the book's address."""
    paths: Mapping[str, str]
    """Document's file -> path of its page."""
    images: set[str]

    def article(self, document: Document) -> str:
        parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
        root = lxml.html.fragment_fromstring(document.html, create_parent="div", parser=parser)
        drop_hidden(root)
        _identify(root, document.blocks)
        for element in list(root.iter()):
            self._show(element)
        html = lxml.html.tostring(root, encoding="unicode")
        title = "" if root.find(".//h1") is not None else f"<h1>{escape(document.title)}</h1>\n"
        return title + nh3.clean(html, tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noopener")

    def _show(self, element: HtmlElement) -> None:
        tag = str(element.tag)
        if tag == FORMULA:
            _show_formula(element)
        elif tag in _ADMONITIONS:
            element.tag = "aside"
            element.set("class", f"admonition {tag}")
        elif tag == "tabitem":
            _show_tab(element)
        elif tag == "p":
            _show_caption(element)
        elif tag in ("td", "th") and (style := _value(element, "style")):
            element.set("class", style.replace("text-align:", "align-"))
        elif tag == "a":
            element.set("href", self._link(_value(element, "href")))
        elif tag == "img":
            element.set("src", self._image(_value(element, "src")))

    def _link(self, href: str) -> str:
        """Return the target of a link: a page's file becomes its path."""
        path = self.paths.get(self._file(href))
        return urlsplit(href)._replace(path=path).geturl() if path else href

    def _image(self, src: str) -> str:
        """Return the address of an image, below the book's address if it is of its folder."""
        file = self._file(src)
        if not file.lower().endswith(IMAGE_SUFFIXES) or file.startswith("../"):
            return src
        self.images.add(file)
        return f"{self.base}/{encoded_path(file)}"

    def _file(self, address: str) -> str:
        """Return the file of the folder that an address names; "" if it names none."""
        try:
            parts = urlsplit(address)
        except ValueError:
            return ""
        if not parts.path or parts.scheme or parts.netloc:
            return ""
        folder = "" if parts.path.startswith("/") else posixpath.dirname(self.file)
        return posixpath.normpath(posixpath.join(folder, unquote(parts.path).lstrip("/")))


def _value(element: HtmlElement, name: str) -> str:
    """Return an attribute without control characters, which no document may have."""
    return "".join(filter(str.isprintable, element.get(name) or ""))


def _show_formula(element: HtmlElement) -> None:
    parent = element.getparent()
    inside = parent is not None and parent.tag in ("p", "li", "td", "th")
    display = element.get("display") == "1"
    element.tag = "div" if display and not inside else "span"
    element.set("class", "math math-block" if display else "math")


def _show_tab(element: HtmlElement) -> None:
    label = element.makeelement("p", {"class": "label"})
    label.text, label.tail, element.text = _value(element, "label"), element.text, None
    element.insert(0, label)
    element.tag = "div"
    element.set("class", "tab")


def _show_caption(paragraph: HtmlElement) -> None:
    """Mark a paragraph that is an image alone, and one that is an emphasised caption."""
    children = list(paragraph)
    if len(children) == 1 and children[0].tag == "img" and not paragraph.text_content().strip():
        paragraph.set("class", "figure")
    elif children and children[0].tag == "em" and _CAPTION.match(paragraph.text_content()):
        paragraph.set("class", "caption")
