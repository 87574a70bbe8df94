"""The page at `/`: lists the indexed books with links to their sites."""

from __future__ import annotations

from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from app.api.book_list import BooksBody
from app.bootstrap.application import Application
from app.bootstrap.key_store import SqliteSiteKeys
from app.domain.errors import StorageError

WIDGET_FOLDER = Path(__file__).resolve().parent.parent / "widget"
TEMPLATES = Environment(
    loader=FileSystemLoader(WIDGET_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    keep_trailing_newline=True,
)


class WholeFiles(StaticFiles):
    """Static files that ignore Range headers, as RFC 9110 allows.

    Starlette would answer an invalid range with a plain text error instead of a problem document.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


def books_page(found: BooksBody, *, widget: bool = True) -> str:
    """Return the page as HTML, with the chat widget if `widget` is set and there is a book."""
    template = TEMPLATES.get_template("books.html")
    return template.render(books=found.books, damaged=found.quarantined, widget=widget)


async def home(request: Request) -> Response:
    rag: Application = request.app.state.application
    # If the API needs a key, this page cannot send one: only hashes of keys are stored.
    widget = rag.settings.open or _has_no_keys(request.app.state.keys)
    return HTMLResponse(books_page(await BooksBody.of(rag), widget=widget))


def _has_no_keys(keys: SqliteSiteKeys) -> bool:
    """Whether there are none; False while they cannot be read."""
    try:
        return not keys.all()
    except StorageError:
        return False


BOOK_LIST_ROUTES = (Route("/", home),)
