"""The pages of books without a site of their own, which `serve` shows at `/pages/BOOK`.

What reads books is imported where it is used: a server does not need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from app.adapters.book_pages import BookContents, BookPages, PageEntry
from app.domain.book_id import BookId
from app.domain.document import BlockKind, Book, Document, Site
from app.domain.errors import BookError
from app.settings import Settings

if TYPE_CHECKING:
    from app.services.ingest import IngestRequest

__all__ = ["BookContents", "BookPages", "PageEntry"]

_IMAGE = 10_000_000
"""Bytes of an image; a larger one is not shown."""
_IMAGES = 500_000_000
"""Bytes of all images of a book; those behind are not shown."""


def book_pages(settings: Settings) -> BookPages:
    return BookPages(settings.home / "pages")


def address_of(book: BookId) -> str:
    """Return the path of a book's pages on this server."""
    return f"/pages/{book}"


def own_address(request: IngestRequest) -> str:
    """Return the path of the pages that `serve` will show; "" if the book has its own site."""
    from app.adapters.reading.book import book_id_of, book_name, detected_site  # noqa: PLC0415 - see above

    folder = request.folder
    if not folder.is_dir() or detected_site(folder, request.site)[0] != Site.PLAIN:
        return ""
    name = request.book or book_id_of(book_name(folder))
    return address_of(request.edition.id_of(name))


def store_pages(store: BookPages, book: Book, folder: Path) -> None:
    """Store the pages of a book without a site; delete what an earlier ingest stored of others."""
    if book.base_url != address_of(book.id):
        store.remove(book.id)
        return
    from app.adapters.reading.rendered_pages import rendered_pages  # noqa: PLC0415

    html, images = rendered_pages(book)
    pages = [_entry(one, book) for one in book.documents]
    articles = {
        page.name: html[one.file].encode("utf-8", "replace")
        for page, one in zip(pages, book.documents, strict=True)
    }
    contents = BookContents(book.title, book.language, tuple(pages))
    store.save(book.id, contents, {**dict(_images(folder, sorted(images))), **articles})


def _entry(document: Document, book: Book) -> PageEntry:
    url = urlsplit(document.url).path
    outline = tuple(
        (one.anchor, one.text)
        for one in document.blocks
        if one.kind is BlockKind.HEADING and one.level == 2 and one.anchor
    )
    name = unquote(url).removeprefix(book.base_url).lstrip("/")
    return PageEntry(name, url, document.title, document.chapter, outline)


def _images(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the images that lie in the folder and are not too large."""
    from app.adapters.reading.source_files import SourceFiles  # noqa: PLC0415

    files, left = SourceFiles(folder), _IMAGES
    for name in names:
        try:
            content = files.data(name, min(_IMAGE, left))
        except BookError:
            continue
        left -= len(content)
        yield name, content
