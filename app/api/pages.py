"""The page at `/`: lists the indexed books with links to their sites."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from app.api.book_list import BookBody, BooksBody
from app.bootstrap.application import Application
from app.bootstrap.key_store import SqliteSiteKeys

WIDGET_FOLDER = Path(__file__).resolve().parent.parent / "widget"


class WholeFiles(StaticFiles):
    """Static files that ignore Range headers, as RFC 9110 allows.

    Starlette would answer an invalid range with a plain text error instead of a problem document.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


_EMPTY = (
    "<p>The index holds no book yet. <code>textbook-rag ingest BOOK_DIR --base-url URL</code> "
    "reads a book into it.</p>"
)


def books_page(found: BooksBody, *, widget: bool = True) -> str:
    """Return the page as HTML, with the chat widget if `widget` is set and there is a book."""
    template = Template((WIDGET_FOLDER / "books.html").read_text(encoding="utf-8"))
    article = (
        f'<ul class="books">{"".join(map(_book_item, found.books))}</ul>' if found.books else ""
    )
    article += "".join(map(_damaged_book, found.quarantined))
    return template.substitute(
        article=article or _EMPTY,
        widget=_widget(len(found.books)) if widget and found.books else "",
    )


def _book_item(book: BookBody) -> str:
    title = f'<span lang="{escape(book.language)}">{escape(book.title)}</span>'
    if book.base_url:
        title = f'<a href="{escape(book.base_url)}">{title}</a>'
    facts = f"Version {escape(book.version)} · <code>{escape(book.id)}</code>"
    return f'<li>{title}<p class="caption">{facts}</p></li>'


def _damaged_book(book: str) -> str:
    return f"<p><code>{escape(book)}</code> is damaged and left out of answers.</p>"


def _widget(books: int) -> str:
    label = "Ask this book" if books == 1 else "Ask these books"
    return f'<script src="/widget.js" defer data-label="{label}"></script>'


async def home(request: Request) -> Response:
    rag: Application = request.app.state.application
    found = await BooksBody.of(rag)
    keys: SqliteSiteKeys = request.app.state.keys
    # If the API needs a key, this page cannot send one: only hashes of keys are stored.
    widget = rag.settings.open or not keys.all()
    return HTMLResponse(books_page(found, widget=widget))


BOOK_LIST_ROUTES = (Route("/", home),)
