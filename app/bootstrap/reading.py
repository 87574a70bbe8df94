"""A book read from its folder with its author's settings, and the sample book that is included."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.adapters.book_settings import read_book_settings
from app.adapters.fingerprints import folder_fingerprint, program_fingerprint
from app.adapters.markdown import read_book
from app.adapters.page_renderer import render_pages
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.document import Book, Site
from app.domain.errors import RagError
from app.domain.identity import keep_ids
from app.services.ingest import IngestRequest
from app.services.phases import Advance, ignore
from app.services.ports import BookStore
from app.settings import Settings


def read_source(request: IngestRequest, advance: Advance = ignore) -> Book:
    """Read a book's folder, or one file; paragraph ids are hashes, without the ledger."""
    book = read_book(
        request.folder,
        book_id=request.book,
        site=request.site,
        base_url=request.base_url,
        include_orphans=request.include_orphans,
        skip_refused=request.skip_refused,
    )
    advance(len(book.documents))
    return book


def source_stamp(request: IngestRequest, state: Path) -> str:
    """Hash of a book's folder and of this program; "" if the folder has no fingerprint."""
    folder = folder_fingerprint(request.folder, state)
    return f"{folder} {program_fingerprint()}" if folder else ""


async def read_identified(request: IngestRequest, settings: Settings) -> Book:
    """Read a book with the paragraph ids that its next ingest will give.

    For commands and start-up: the event loop waits. What a thread frees only it could use again,
    a tenth of the memory of a large book.
    """
    book = read_source(request)
    ledger = await SqliteLedgers(settings.home / "ledger").load(book.id)
    if not ledger.entries and not ledger.aliases:
        return book  # nothing to remember: the ids are those of the texts
    identified, _ = keep_ids(book, ledger)
    return identified


def strategy_of(folder: Path, settings: Settings) -> str:
    """Return the strategy the book's author chose, else that of the settings."""
    return read_book_settings(folder).strategy or settings.strategy


SAMPLE_BOOK = Path(__file__).parents[1] / "sample_book"
SAMPLE_BOOK_ID = BookId("small-book-of-search")


async def sample_pages(settings: Settings, index: BookStore) -> tuple[Book, Mapping[str, str]]:
    """Read the sample book as its ingest does; return it with its pages as HTML, by file.

    Its base URL is that of the index: the server's port may differ from the one at ingest.
    """
    book = await read_identified(sample_request(settings), settings)
    try:
        manifest = await index.manifest(SAMPLE_BOOK_ID)
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
