"""The demo site: the sample book's pages with the chat widget.

Pages are built once, at start-up, from package data only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from urllib.parse import unquote, urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from app.api.pages import TEMPLATES, WholeFiles
from app.bootstrap.application import Application
from app.bootstrap.books import SAMPLE_BOOK, sample_pages
from app.domain.document import Block, BlockKind, Book, Document


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
    documents = sorted(book.documents, key=attrgetter("position"))
    chapters = groupby(documents, key=attrgetter("chapter"))
    page = partial(
        TEMPLATES.get_template("page.html").render,
        book=book,
        chapters=[(chapter, list(group)) for chapter, group in chapters],
        below={one.file for one in documents if _is_below(one, documents)},
        path=_path,
    )
    neighbours = zip([None, *documents], documents, [*documents[1:], None], strict=False)
    pages = {
        _page_path(_path(one)): page(
            title=one.title,
            article=bodies[one.file],
            current=one,
            outline=_outline(one),
            before=before,
            after=after,
        )
        for before, one, after in neighbours
    }
    article = "<h1>No such page</h1><p>The book has no page at this address. Try its contents.</p>"
    missing = page(title="No such page", article=article, current=None, before=None, after=None)
    return DemoSite(_path(documents[0]) if documents else "/v1/docs", pages, missing)


def _path(document: Document) -> str:
    return urlsplit(document.url).path or "/"


def _page_path(path: str) -> str:
    return unquote(path).rstrip("/") or "/"


def _is_below(document: Document, documents: Sequence[Document]) -> bool:
    """Whether the page's path is below the path of another page; the first page does not count."""
    path = _path(document)
    return any(path.startswith(_page_path(_path(d)) + "/") for d in documents[1:] if d != document)


def _outline(document: Document) -> Sequence[Block]:
    """Return the headings of the page's sections, for the table of contents."""
    return [
        block
        for block in document.blocks
        if block.kind is BlockKind.HEADING and block.level == 2 and block.anchor
    ]


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
