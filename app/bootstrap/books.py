"""Reads books and their settings; stamps built sites with their paragraphs' ids.

The sample book is part of this package.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from app.adapters.archives import unpack
from app.adapters.reading.book import (
    book_id_of,
    book_name,
    detected_site,
    is_built_site,
    open_editions,
    read_book,
)
from app.adapters.reading.pages import page_at
from app.adapters.reading.source_files import SourceFiles
from app.adapters.reading.tree import stamped
from app.bootstrap.storage import address_of, ledger_store
from app.domain.book_id import BookId
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.document import BlockKind, Book, Document, Site
from app.domain.edition import Edition
from app.domain.errors import BookError, InputError
from app.domain.identity import keep_ids
from app.domain.ledger import from_lines
from app.domain.links import BuiltPage
from app.domain.reading_budget import read_toml
from app.services.ingest_plan import IngestRequest
from app.services.phases import Advance, Phases, ignore
from app.services.safe_paths import file_inside, read_text
from app.settings import Settings

_UNPACKED_BYTES = 2**30
"""Four times the largest archive. Pages and pictures of a book are far smaller; a bomb is not."""
LEDGER_FILE = "textbook-rag-ledger.jsonl"
"""A ledger at the top of a book's folder; imported if the book has no ledger yet."""
RAG_TOML = "rag.toml"
_SETTINGS = ("strategy", *StrategyName)
_CHUNKING = TypeAdapter(ChunkingConfig)
SAMPLE_BOOK = Path(__file__).parents[1] / "sample_book"
SAMPLE_BOOK_ID = BookId("small-book-of-search")


def sample_request() -> IngestRequest:
    return IngestRequest(SAMPLE_BOOK, book=SAMPLE_BOOK_ID)


@asynccontextmanager
async def opened_source(
    source: str,
    settings: Settings,
    phases: Phases,
    remark: Callable[[str], None],
    *,
    allow_private: bool = False,
) -> AsyncIterator[IngestRequest]:
    """Open a folder, a file, a zip archive, which is unpacked meanwhile, or a site by its address.

    Yields a request with what the source says of itself. `remark` is called with what is not
    fetched. InputError if it is refused.
    """
    with ExitStack() as stack:
        request = IngestRequest(Path(source))
        if "://" in source:
            # Only this needs an HTTP client.
            from app.adapters.reading.fetch_site import fetch_site  # noqa: PLC0415

            # A page that an earlier run fetched is asked for only if it has changed.
            name = sha256(source.rstrip("/").encode()).hexdigest()[:16]
            folder = settings.home / "sites" / name
            site = await fetch_site(source, folder, phases, allow_private=allow_private)
            for reason, urls in site.left_out.items():
                remark(f"not fetched: {len(urls):,}, as {urls[0]} ({reason})")
            request = IngestRequest(site.folder, book=_book_at(source), base_url=site.base_url)
        elif source.endswith(".zip") and request.folder.is_file():
            folder = Path(stack.enter_context(TemporaryDirectory())) / request.folder.stem
            folder.mkdir()
            request = IngestRequest(unpack(request.folder, folder, _UNPACKED_BYTES))
        yield replace(request, strategy=chunking_config(request.folder).strategy)


def read_source(request: IngestRequest, advance: Advance = ignore, *, mark: bool = False) -> Book:
    """Read a book's folder, or one file. Paragraph ids are hashes, equal ones of equal texts.

    `advance` is called with 1 after each page. For `mark` see `read_book`.
    """
    return read_book(replace(request, base_url=_base_url(request)), advance, mark=mark)


def _base_url(request: IngestRequest) -> str:
    """Return the given base URL; for a plain folder the path at which `serve` shows its pages."""
    folder, base_url = request.folder, request.base_url
    if not base_url and folder.is_dir() and detected_site(folder, request.site)[0] == Site.PLAIN:
        name = request.book or book_id_of(book_name(folder))
        return address_of(request.edition.id_of(name))
    return base_url


def _book_at(address: str) -> BookId:
    """Return the id of the book at an address: made of its host and path."""
    parts = urlsplit(address)
    return book_id_of(f"{parts.hostname or ''}{parts.path}".removesuffix(".html"))


def built_pages(folder: Path, base_url: str) -> Callable[[str], BuiltPage | None]:
    """Return what finds the page of a URL in the folder of a built site. InputError if it is none.

    `base_url` is that of the site's root.
    """
    if not folder.is_dir():
        message = f"{folder}: no such folder; give that of the built site, or the site's address"
        raise InputError(message)
    return partial(page_at, SourceFiles(folder), base_url)


def how_read(request: IngestRequest) -> str:
    """Say how the request's folder is read and why."""
    site, why = detected_site(request.folder, request.site)
    return f"site: {site} ({why})"


def requests_by_edition(request: IngestRequest) -> list[IngestRequest]:
    """Return a request for each edition of the folder, the default one first.

    If the request names a version, only that version is included, in every locale if the folder
    itself has only one version. BookError if the folder cannot be read.
    """
    version = request.edition.version
    found = open_editions(replace(request, base_url=_base_url(request)))
    if request.edition.locale or (version and any(one.edition.version for one in found)):
        return [request]
    return [
        replace(request, edition=_of_version(one.edition, version), opened=one) for one in found
    ]


def _of_version(edition: Edition, version: str) -> Edition:
    named = replace(edition, version=version, in_id=(version, edition.in_id[1]))
    return named if version else edition


async def read_identified(
    request: IngestRequest, settings: Settings, *, mark: bool = False
) -> Book:
    """Read a book with the paragraph ids that its next ingest will assign.

    Blocks the event loop, so it is only for commands and start-up. In a thread, a large book would
    take a tenth more memory, because only that thread reuses the memory it frees.
    """
    book = read_source(request, mark=mark)
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


async def stamp_site(request: IngestRequest, settings: Settings) -> list[int]:
    """Give the element of each paragraph its id, in all editions of a site.

    Returns the number of new ids of each page. InputError if the folder is not a built site;
    BookError and FileRefused as in reading it.
    """
    folder = request.folder
    if not folder.is_dir() or not is_built_site(folder):
        raise InputError(f"{folder}: no folder of built pages: build the site and give its folder")
    return [
        _stamp_page(file_inside(folder.resolve(), document.file), document)
        for one in requests_by_edition(request)
        for document in (await read_identified(one, settings, mark=True)).documents
    ]


def _stamp_page(file: Path, document: Document) -> int:
    blocks = [one for one in document.blocks if one.kind is not BlockKind.HEADING]
    # A text between elements is said to be where the block before it is.
    first = {one.start: one for one in reversed(blocks) if one.start >= 0}
    places = {at: one.paragraph_id for at, one in first.items() if not one.element_id}
    before = file.read_bytes()
    html, new = stamped(before, places)
    if html != before:
        part = file.with_name(f"{file.name}.part")
        part.write_bytes(html)
        part.replace(file)
    return new


def chunking_config(folder: Path, strategy: StrategyName | None = None) -> ChunkingConfig:
    """Return the book's settings with this strategy, or the one that it names.

    They are those of `rag.toml` in its folder: `strategy = "fixed"`, and a table for a strategy,
    such as `[fixed]`, with its settings.

    BookError if the file is not valid.
    """
    known = asdict(ChunkingConfig())
    text = SourceFiles(folder).settings(RAG_TOML) if (folder / RAG_TOML).exists() else ""
    for name, given in read_toml(text, RAG_TOML).items():
        sizes = known[name] if name in set(StrategyName) else {}
        own = given if isinstance(given, dict) else {}
        if name not in _SETTINGS:
            raise BookError(f"{name}: the settings are {', '.join(_SETTINGS)}", RAG_TOML)
        if sizes and (unknown := own.keys() - sizes):
            raise BookError(f"{name}.{min(unknown)}: the settings are {', '.join(sizes)}", RAG_TOML)
        known[name] = sizes | own if sizes and isinstance(given, dict) else given
    try:
        config = _CHUNKING.validate_python(known)
    except ValidationError as error:
        first = error.errors()[0]
        problem = first["msg"].removeprefix("Value error, ")
        raise BookError(f"{'.'.join(map(str, first['loc']))}: {problem}", RAG_TOML) from error
    return replace(config, strategy=strategy) if strategy else config
