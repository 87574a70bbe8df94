"""Reads books and their authors' settings from folders, and cuts the books into chunks.

The sample book is part of this package.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from app.adapters.reading.book import book_id_of, detected_site, editions_of, read_book
from app.adapters.reading.book_settings import chunking_config
from app.adapters.sentences import split_sentences
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.tokens import token_counter
from app.bootstrap.book_pages import own_address
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, RecursiveConfig
from app.domain.chunking.strategies import stream_chunks
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Book, Span
from app.domain.evaluation.chunking_report import Report, chunking_report
from app.domain.identity import keep_ids
from app.domain.scripts import script_scale
from app.services.ingest import IngestRequest
from app.services.phases import Advance, ignore
from app.services.ports import Embedder
from app.settings import Settings

if TYPE_CHECKING:
    from app.adapters.reading.fetch_site import FetchedSite


def read_source(request: IngestRequest, advance: Advance = ignore) -> Book:
    """Read a book's folder, or one file. Paragraph ids are hashes: the ledger is not used.

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
    ledger = await SqliteLedgers(settings.home / "ledger").load(book.id)
    if not ledger.entries and not ledger.aliases:
        return book  # without a ledger the ids are hashes of the texts
    return keep_ids(book, ledger)[0]


def strategy_of(folder: Path) -> str:
    """Return the strategy in the book's `rag.toml` or, without one, `structure`."""
    return chunking_config(folder).strategy


SAMPLE_BOOK = Path(__file__).parents[1] / "sample_book"
SAMPLE_BOOK_ID = BookId("small-book-of-search")


def sample_request() -> IngestRequest:
    return IngestRequest(SAMPLE_BOOK, book=SAMPLE_BOOK_ID)


EmbedTexts: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]


def embed_from_thread(embedder: Embedder) -> EmbedTexts:
    """Return a function that embeds texts on this event loop, for chunking in another thread."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return asyncio.run_coroutine_threadsafe(embedder.embed_documents(texts), loop).result()

    return embed


def chunk_book(
    book: Book,
    request: IngestRequest,
    advance: Advance = ignore,
    embed: EmbedTexts | None = None,
    embeds_tokens: bool = False,
    longest_text: int | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of one document after the other.

    `longest_text` is the embedder's limit in tokens: chunk sizes are not scaled beyond it. Raises
    UnknownStrategy, and ConfigError if the strategy needs `embed` and it is None.
    """
    count_tokens = token_counter()
    config = _config(request)
    config = replace(config, scale=_scale(book, config, count_tokens, longest_text))
    tools = ChunkingTools(
        count_tokens=count_tokens,
        split_sentences=split_sentences,
        split_recursively=partial(_split_recursively, count_tokens),
        embed=embed,
        embeds_tokens=embeds_tokens,
    )
    for document in book.documents:
        yield from stream_chunks(document, book, config, tools)
        advance(1)


def _config(request: IngestRequest) -> ChunkingConfig:
    """Return the chunking settings of the request and the book, without those of documents."""
    config = chunking_config(request.folder, request.strategy)
    return replace(config, exclude=tuple(sorted(request.exclude_kinds)))


def _scale(
    book: Book,
    config: ChunkingConfig,
    count_tokens: Callable[[str], int],
    longest_text: int | None = None,
) -> float:
    texts = (block.text for document in book.documents for block in document.blocks)
    scale = script_scale(texts, count_tokens)
    if longest_text is None:
        return scale
    return max(1.0, min(scale, longest_text / config.structure.maximum))


def _split_recursively(
    count_tokens: Callable[[str], int], text: str, config: RecursiveConfig
) -> list[Span]:
    # The import takes 0.2 s, so only this strategy pays for it.
    from app.adapters.langchain_splitters import recursive_splitter  # noqa: PLC0415

    return recursive_splitter(count_tokens)(text, config)


def chunk_report(book: Book, chunks: Sequence[Chunk], request: IngestRequest) -> Report:
    """Measure the chunks against the sizes of the strategy `structure`."""
    tools = ChunkingTools(count_tokens=token_counter(), split_sentences=split_sentences)
    config = _config(request)
    config = replace(config, scale=_scale(book, config, tools.count_tokens)).scaled()
    return chunking_report(book, chunks, tools, config.structure)
