"""The pages of books without a site of their own, which `serve` shows at `/pages/BOOK`."""

from __future__ import annotations

from app.adapters.book_pages import BookContents, BookPages, PageEntry
from app.domain.book_id import BookId
from app.settings import Settings

__all__ = ["BookContents", "BookPages", "PageEntry"]


def book_pages(settings: Settings) -> BookPages:
    return BookPages(settings.home / "pages")


def address_of(book: BookId) -> str:
    """Return the path of a book's pages on this server."""
    return f"/pages/{book}"
