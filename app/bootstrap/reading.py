"""Read a book from its folder with its author's settings."""

from __future__ import annotations

from pathlib import Path

from app.adapters.book_settings import read_book_settings
from app.adapters.fingerprints import folder_fingerprint, program_fingerprint
from app.adapters.markdown import read_book
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.document import Book
from app.services.ingest import IngestRequest
from app.services.paragraph_ids import keep_ids
from app.services.phases import Advance, ignore
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
