"""Reads the HTML of a built site, to look up links on it."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from app.adapters.reading.shown_text import shown_text
from app.adapters.reading.source_files import SourceFiles
from app.adapters.reading.tree import parse
from app.services.check_links import BuiltPage


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
