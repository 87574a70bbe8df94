"""The demo site: the sample book's pages with the chat widget.

Pages are built once, at start-up, from package data only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from string import Template
from urllib.parse import unquote, urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from app.api.pages import WIDGET_FOLDER, WholeFiles
from app.bootstrap.application import Application
from app.bootstrap.books import SAMPLE_BOOK, sample_pages
from app.domain.document import BlockKind, Book, Document

_OUTLINE_LEVELS = (2,)


@dataclass(frozen=True, slots=True)
class DemoSite:
    """HTML pages by path without trailing slash; `home` is the path of the first page."""

    home: str
    pages: Mapping[str, str]
    missing: str
    """The page for unknown paths."""

    def page(self, path: str) -> str | None:
        return self.pages.get(_page_path(path))


def build_site(book: Book, bodies: Mapping[str, str]) -> DemoSite:
    """Build the site; `bodies` maps each file of `book` to the HTML of its article."""
    template = Template((WIDGET_FOLDER / "page.html").read_text(encoding="utf-8"))
    documents = sorted(book.documents, key=lambda document: document.position)
    pages = {
        _page_path(_path(document)): _page(template, book, documents, position, bodies)
        for position, document in enumerate(documents)
    }
    article = "<h1>No such page</h1><p>The book has no page at this address. Try its contents.</p>"
    missing = _html(template, book, "No such page", article, _sidebar(documents, None), "")
    return DemoSite(_path(documents[0]) if documents else "/v1/docs", pages, missing)


def _path(document: Document) -> str:
    return urlsplit(document.url).path or "/"


def _page_path(path: str) -> str:
    return unquote(path).rstrip("/") or "/"


def _page(
    template: Template,
    book: Book,
    documents: Sequence[Document],
    position: int,
    bodies: Mapping[str, str],
) -> str:
    document = documents[position]
    sidebar = _sidebar(documents, document)
    before = documents[position - 1] if position else None
    after = documents[position + 1] if position + 1 < len(documents) else None
    return _html(
        template, book, document.title, bodies[document.file], sidebar, _pager(before, after)
    )


def _html(
    template: Template, book: Book, title: str, article: str, sidebar: str, pager: str
) -> str:
    return template.substitute(
        language=escape(book.language),
        title=escape(title if title == book.title else f"{title} · {book.title}"),
        book_title=escape(book.title),
        book_id=escape(book.id),
        base_url=escape(book.base_url.rstrip("/")),
        article=article,
        sidebar=sidebar,
        pager=pager,
    )


def _sidebar(documents: Sequence[Document], current: Document | None) -> str:
    """Return the table of contents in reading order, chapters with several pages as groups."""
    items = []
    for chapter, group in groupby(documents, key=lambda document: document.chapter):
        links = [_entry(document, current, _is_below(document, documents)) for document in group]
        if len(links) > 1:
            label = f'<p class="part">{escape(chapter)}</p>' if chapter else ""
            items.append(f"<li>{label}<ul>{''.join(links)}</ul></li>")
        else:
            items.extend(links)
    return f"<ul>{''.join(items)}</ul>"


def _is_below(document: Document, documents: Sequence[Document]) -> bool:
    """Whether the page's path is below the path of another page; the first page does not count."""
    path = _path(document)
    return any(path.startswith(_page_path(_path(d)) + "/") for d in documents[1:] if d != document)


def _entry(document: Document, current: Document | None, below: bool) -> str:
    css = ' class="below"' if below else ""
    link = escape(_path(document))
    if document is not current:
        return f'<li{css}><a href="{link}">{escape(document.title)}</a></li>'
    title = f'<a href="{link}" aria-current="page">{escape(document.title)}</a>'
    return f"<li{css}>{title}{_outline(document)}</li>"


def _outline(document: Document) -> str:
    sections = [
        f'<li><a href="#{escape(block.anchor)}">{escape(block.text)}</a></li>'
        for block in document.blocks
        if block.kind is BlockKind.HEADING and block.level in _OUTLINE_LEVELS and block.anchor
    ]
    return f'<ul class="outline">{"".join(sections)}</ul>' if sections else ""


def _pager(before: Document | None, after: Document | None) -> str:
    links = [
        f'<a rel="{rel}" href="{escape(_path(document))}"><small>{label}</small>'
        f"{escape(document.title)}</a>"
        for rel, label, document in (("prev", "Previous", before), ("next", "Next", after))
        if document is not None
    ]
    return "".join(links)


async def sample_site(rag: Application) -> Sequence[BaseRoute]:
    """Return the routes of the sample book's pages and images."""
    site = build_site(*await sample_pages(rag.settings, rag.index))

    async def home(_: Request) -> Response:
        return RedirectResponse(site.home)

    async def page(request: Request) -> Response:
        html = site.page(request.url.path)
        return HTMLResponse(html or site.missing, status_code=200 if html is not None else 404)

    return (
        Route("/", home),
        Route("/docs", page),
        Route("/docs/{path:path}", page),
        Mount("/img", WholeFiles(directory=SAMPLE_BOOK / "static" / "img")),
    )
