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
from app.domain.book_id import BookId
from app.domain.urls import origin_of


def books_page(found: BooksBody, *, widget: bool = True) -> str:
    """Return the page as HTML, with the chat widget if `widget` is set and there is a book."""
    return template("books.html").render(
        books=found.books, damaged=found.quarantined, widget=widget
    )


async def home(request: Request) -> Response:
    """Answer with the list; if the only book has its pages here, lead to them."""
    found = await BooksBody.of(request.app.state.application)
    book = found.books[0] if len(found.books) == 1 and not found.quarantined else None
    if book and book.base_url == address_of(BookId(book.id)):
        return RedirectResponse(book.base_url)
    # The widget shows figures of all books here.
    others = request.app.state.application.settings.image_origins.split(",")
    origins = (origin_of(one.base_url) for one in found.books)
    headers = {"Content-Security-Policy": page_policy([*origins, *others])}
    return HTMLResponse(books_page(found, widget=shows_widget(request)), headers=headers)


def shows_widget(request: Request) -> bool:
    """Whether the server's own pages have the widget.

    If the API needs a key, they cannot send one: only hashes of keys are stored.
    """
    rag: Application = request.app.state.application
    return rag.settings.open or not has_keys(request.app.state.keys)


HOME_ROUTES = (Route("/", home),)
