"""The whole text of a built page, furniture included, as a browser's search for a quote sees it."""

from __future__ import annotations

from copy import deepcopy
from urllib.parse import unquote, urlsplit

from lxml import etree
from lxml.html import HtmlElement

from app.adapters.reading.source_files import SourceFiles
from app.adapters.reading.tree import HIDDEN_CODE, NOT_RENDERED, is_rendered, parse
from app.domain.urls import PageText
from app.services.check_links import BuiltPage

_INLINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rp rt"
    " ruby s samp small span strike strong sub sup time tt u var wbr"
).split()
"""Every other element begins and ends a block. A text fragment cannot cross a block."""
_MAYBE_HIDDEN = f"//*[{' or '.join(f'contains(@class, {name!r})' for name in HIDDEN_CODE)}]"


def shown_text(root: HtmlElement) -> PageText:
    """Return the text of a parsed page by blocks."""
    page = deepcopy(root)
    for element in page.xpath(_MAYBE_HIDDEN):
        if not is_rendered(element):
            element.drop_tree()
    etree.strip_elements(page, *NOT_RENDERED, with_tail=False)
    etree.strip_tags(page, *_INLINE)
    return PageText.of(filter(str.strip, page.itertext()))


def page_at(files: SourceFiles, base_url: str, url: str) -> BuiltPage | None:
    """Return the page that a static host serves at this URL; None if there is no file.

    `base_url` is the URL of the folder in the book's links.
    """
    path, base = urlsplit(url).path, urlsplit(base_url).path.rstrip("/")
    inside = path.removeprefix(f"{base}/") if path.startswith(f"{base}/") else ""
    name = unquote(inside).strip("/")
    tries = (name, f"{name}.html", f"{name}/index.html") if name else ("index.html",)
    file = next(filter(files.has, tries), "")
    return read_page(files.data(file)) if file else None


def read_page(html: bytes) -> BuiltPage:
    """Read the ids and the text of a page, also in closed details and hidden tabs."""
    root = parse(html, "")
    return BuiltPage(frozenset(map(str, root.xpath("//@id | //a/@name"))), shown_text(root))
