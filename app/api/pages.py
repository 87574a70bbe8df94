"""The page at `/`: lists the indexed books with links to their pages."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from app.api.book_list import BooksBody
from app.api.keys import has_keys
from app.api.page_templates import template
from app.api.security import page_policy
from app.bootstrap.application import Application
from app.bootstrap.book_pages import address_of
from app.domain.urls import origin_of


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
    origins = [*(origin_of(one.base_url) for one in books), *rag.settings.image_origins.split(",")]
    return HTMLResponse(html, headers={"Content-Security-Policy": page_policy(origins)})


def shows_widget(request: Request) -> bool:
    """Whether the server's own pages have the widget.

    If the API needs a key, they cannot send one: only hashes of keys are stored.
    """
    rag: Application = request.app.state.application
    return rag.settings.open or not has_keys(request.app.state.keys)


HOME_ROUTES = (Route("/", home),)
