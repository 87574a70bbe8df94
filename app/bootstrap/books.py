"""Reads books from folders, archives, sites; the sample book is part of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.adapters.archives import unpack
from app.adapters.reading.book import book_id_of, detected_site, editions_of, read_book
from app.adapters.reading.book_settings import chunking_config
from app.adapters.reading.built_site import page_at
from app.adapters.reading.source_files import SourceFiles
from app.bootstrap.book_pages import own_address
from app.bootstrap.storage import ledger_store
from app.domain.book_id import BookId
from app.domain.document import Book
from app.domain.errors import InputError
from app.domain.identity import keep_ids
from app.domain.ledger import from_lines
from app.domain.page_text import BuiltPage
from app.services.ingest import IngestRequest
from app.services.phases import Advance, ignore
from app.services.safe_paths import read_text
from app.settings import Settings

if TYPE_CHECKING:
    from app.adapters.reading.fetch_site import FetchedSite

_UNPACKED_BYTES = 2**30
"""Four times the largest archive. Pages and pictures of a book are far smaller; a bomb is not."""
LEDGER_FILE = "textbook-rag-ledger.jsonl"
"""A ledger at the top of a book's folder; imported if the book has no ledger yet."""


def read_source(request: IngestRequest, advance: Advance = ignore) -> Book:
    """Read a book's folder, or one file. Paragraph ids are hashes, equal ones of equal texts.

    The address of a plain folder without a base URL is the path at which `serve` shows its pages.

    `advance` is called with 1 after each page.
    """
    return read_book(
        request.folder,
        book_id=request.book,
        site=request.site,
        base_url=request.base_url or own_address(request),
        edition=request.edition,
        advance=advance,
    )


@contextmanager
def unpacked(source: str, name: str) -> Iterator[str]:
    """Unpack a zip archive into a temporary folder, called `name`; other sources stay as they are.

    InputError if the archive is refused.
    """
    if "://" in source or not source.endswith(".zip"):
        yield source
        return
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / name
        folder.mkdir()
        yield str(unpack(Path(source), folder, _UNPACKED_BYTES))


async def fetched(
    address: str,
    settings: Settings,
    *,
    allow_private: bool,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> FetchedSite:
    """Fetch a site's pages into `RAG_HOME`.

    Pages that an earlier run fetched are asked for only if they have changed. `progress` is called
    with the numbers of pages done and known. InputError if the address is refused or has no page.
    """
    # Only this needs an HTTP client.
    from app.adapters.reading.fetch_site import fetch_site  # noqa: PLC0415

    name = sha256(address.rstrip("/").encode()).hexdigest()[:16]
    folder = settings.home / "sites" / name
    return await fetch_site(address, folder, allow_private=allow_private, progress=progress)


def book_at(address: str) -> BookId:
    """Return the id of the book at an address: made of its host and path."""
    parts = urlsplit(address)
    return book_id_of(f"{parts.hostname or ''}{parts.path}".removesuffix(".html"))


async def built_site(
    location: str, base_url: str, settings: Settings
) -> Callable[[str], BuiltPage | None]:
    """Return what finds the page of a URL on a site in a folder or at an address, which is fetched.

    InputError if it is neither, or cannot be fetched.
    """
    folder = Path(location)
    if "://" in location:
        # It may be a preview on the author's machine.
        folder = (await fetched(location, settings, allow_private=True)).folder
    elif not folder.is_dir():
        message = (
            f"{location}: neither a folder nor an http or https URL; give the folder of the built "
            "site, or its address"
        )
        raise InputError(message)
    return partial(page_at, SourceFiles(folder), base_url)


def site_remarks(request: IngestRequest) -> Iterator[str]:
    """Yield how the request's folder is read and why."""
    if request.folder.is_dir():
        site, why = detected_site(request.folder, request.site)
        yield f"site: {site} ({why})"


def requests_by_edition(request: IngestRequest) -> list[IngestRequest]:
    """Return a request for each edition of the folder, the default one first.

    If the request names a version, only that version is included, in every locale if the folder
    itself has only one version. BookError if the folder cannot be read.
    """
    found = editions_of(request.folder, site=request.site, base_url=request.base_url)
    version = request.edition.version
    if request.edition.locale or (version and any(one.version for one in found)):
        return [request]
    if version:
        found = tuple(replace(one, version=version, in_id=(version, one.in_id[1])) for one in found)
    return [replace(request, edition=edition) for edition in found]


async def read_identified(request: IngestRequest, settings: Settings) -> Book:
    """Read a book with the paragraph ids that its next ingest will assign.

    Blocks the event loop, so it is only for commands and start-up. In a thread, a large book would
    take a tenth more memory, because only that thread reuses the memory it frees.
    """
    return await identified(read_source(request), settings)


async def identified(book: Book, settings: Settings) -> Book:
    """Return the book with the ids of its ledger."""
    return keep_ids(book, await ledger_store(settings).load(book.id))[0]


async def import_ledger(settings: Settings, book: BookId, folder: Path) -> None:
    """Give a book without a ledger the one in its folder, if there is one.

    InputError if the file has no ids.
    """
    exported, ledgers = folder / LEDGER_FILE, ledger_store(settings)
    if exported.is_file() and not (await ledgers.load(book)).entries:
        ledger = from_lines(read_text(exported).split("\n"), exported.name)
        if not ledger.entries:
            message = f"{exported.name}: no paragraph ids; write it by `links BOOK --ledger`"
            raise InputError(message)
        await ledgers.save(book, ledger)


def strategy_of(folder: Path) -> str:
    """Return the strategy in the book's `rag.toml` or, without one, `structure`."""
    return chunking_config(folder).strategy


SAMPLE_BOOK = Path(__file__).parents[1] / "sample_book"
SAMPLE_BOOK_ID = BookId("small-book-of-search")


def sample_request() -> IngestRequest:
    return IngestRequest(SAMPLE_BOOK, book=SAMPLE_BOOK_ID)
