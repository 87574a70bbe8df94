"""The pages of books without a site of their own, as the ingest rendered them, with the widget."""

from __future__ import annotations

import mimetypes
from itertools import groupby
from operator import attrgetter

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from app.api.page_templates import template
from app.api.pages import shows_widget
from app.bootstrap.application import Application
from app.bootstrap.book_pages import BookContents, PageEntry
from app.domain.book_id import BookId, is_book_id

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
    if (mimetypes.guess_type(name)[0] or "").startswith("image/"):
        return _image(rag.pages.read(BookId(book), name), name)
    current = next((one for one in contents.pages if one.name == name), None)
    article = rag.pages.read(BookId(book), name) if current else None
    html = _page(BookId(book), contents, current, article, widget=shows_widget(request))
    return HTMLResponse(html, status_code=200 if article is not None else 404)


def _image(content: bytes | None, name: str) -> Response:
    if content is None:
        raise HTTPException(404)
    headers = {"Content-Security-Policy": _IMAGE_POLICY}
    return Response(content, media_type=mimetypes.guess_type(name)[0], headers=headers)


def _page(
    book: BookId,
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


BOOK_PAGE_ROUTES = (Route("/pages/{book}", show), Route("/pages/{book}/{name:path}", show))
