"""What browsers load from this server itself, and the widget on pages of every site.

`/` lists the books, `/pages/BOOK` has the pages of a book without a site of its own, as the ingest
rendered them, with the widget; `/widget.js` and `/widget/...` are the widget's bundle.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from app.api.keys import has_keys
from app.api.responses import BooksBody
from app.api.security import page_policy
from app.bootstrap.application import Application
from app.bootstrap.storage import BookContents, PageEntry, address_of
from app.domain.book_id import BookId, is_book_id
from app.domain.characters import printable
from app.domain.urls import origin_of

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).parent / "templates"
WIDGET_FOLDER = Path(__file__).resolve().parent.parent / "widget"
_IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""An SVG may have styles, but no script; it loads nothing."""
_MISSING = "<h1>No such page</h1><p>The book has no page at this address. Try its contents.</p>"


def show(request: Request) -> Response:
    """Answer with a page or an image; the book's address leads to its first page."""
    rag: Application = request.app.state.application
    book, name = request.path_params["book"], request.path_params.get("name", "")
    contents = rag.pages.contents(BookId(book)) if is_book_id(book) else None
    if contents is None:
        raise HTTPException(404, f"this server has no pages of a book {book!r}")
    if not name:
        return RedirectResponse(contents.pages[0].url)
    kind = mimetypes.guess_type(name)[0] or ""
    current = next((one for one in contents.pages if one.name == name), None)
    is_image = kind.startswith("image/")
    content = rag.pages.read(BookId(book), name) if current or is_image else None
    if not is_image:
        html = _page(book, contents, current, content, widget=shows_widget(request))
        return HTMLResponse(html, status_code=404 if content is None else 200)
    if content is None:
        raise HTTPException(404)
    headers = {"Content-Security-Policy": _IMAGE_POLICY}
    return Response(content, media_type=kind, headers=headers)


def _page(
    book: str,
    contents: BookContents,
    current: PageEntry | None,
    article: bytes | None,
    *,
    widget: bool,
) -> str:
    pages = contents.pages
    at = pages.index(current) if current else 0
    return template("page.html").render(
        id=book,
        book=contents,
        chapters=[(name, list(group)) for name, group in groupby(pages, attrgetter("chapter"))],
        current=current,
        article=_MISSING if article is None else article.decode(),
        before=pages[at - 1] if current and at else None,
        after=pages[at + 1] if current and at + 1 < len(pages) else None,
        widget=widget,
    )


async def home(request: Request) -> Response:
    """Answer with the list; if the only book has its pages here, lead to them."""
    rag: Application = request.app.state.application
    found = await BooksBody.of(rag)
    books = [one for one in found.books if one.book == one.book.name]
    only = books[0] if len(books) == 1 and not found.quarantined else None
    if only and only.base_url == address_of(only.book):
        return RedirectResponse(only.base_url)
    html = template("books.html").render(
        books=books, damaged=found.quarantined, widget=shows_widget(request)
    )
    # The widget shows figures of all books here.
    origins = [*(origin_of(one.base_url) for one in books), *rag.settings.image_origins]
    return HTMLResponse(html, headers={"Content-Security-Policy": page_policy(origins)})


@cache
def template(name: str) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - 0.05 s

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,  # no mark-up
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template(name)


def shows_widget(request: Request) -> bool:
    """Whether the server's own pages have the widget.

    If the API needs a key, they cannot send one: only hashes of keys are stored.
    """
    rag: Application = request.app.state.application
    return rag.settings.open or not has_keys(request.app.state.keys)


PAGE_ROUTES = (
    Route("/", home),
    Route("/pages/{book}", show),
    Route("/pages/{book}/{name:path}", show),
)


def widget_routes() -> Sequence[BaseRoute]:
    files = GZipMiddleware(StaticFiles(directory=WIDGET_FOLDER / "bundle"), compresslevel=6)
    return Route("/widget.js", files), Mount("/widget", files)
