"""The sample book that comes with the program."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.adapters.page_renderer import render_pages
from app.bootstrap.application import Application
from app.bootstrap.reading import read_identified
from app.domain.book_id import BookId
from app.domain.document import Book, Site
from app.domain.errors import RagError
from app.services.ingest import IngestRequest
from app.settings import Settings

SAMPLE_BOOK = Path(__file__).parents[1] / "sample_book"
SAMPLE_BOOK_ID = BookId("small-book-of-search")


async def sample_pages(app: Application) -> tuple[Book, Mapping[str, str]]:
    """Read the sample book as its ingest does; return it with its pages as HTML, by file.

    Its base URL is that of the index: the server's port may differ from the one at ingest.
    """
    book = await read_identified(sample_request(app.settings), app.settings)
    try:
        manifest = await app.index.manifest(SAMPLE_BOOK_ID)
    except RagError:
        manifest = None  # pages need no index
    if manifest is not None:
        book = replace(book, base_url=manifest.base_url)
    return book, await asyncio.to_thread(render_pages, book, SAMPLE_BOOK)


def sample_request(settings: Settings) -> IngestRequest:
    return IngestRequest(
        SAMPLE_BOOK,
        book=SAMPLE_BOOK_ID,
        site=Site.DOCUSAURUS,
        base_url=f"http://{settings.host}:{settings.port}",
        strategy=settings.strategy,
        overlap_scope=settings.overlap_scope,
    )
