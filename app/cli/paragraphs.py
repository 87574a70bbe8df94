"""Commands on a book's paragraphs: blocks, chunks, links, stamp."""

import asyncio
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urldefrag

from typer import Argument, Option

from app.bootstrap.books import built_pages, opened_source, read_identified, stamp_site
from app.bootstrap.ingesting import chunk_book
from app.bootstrap.storage import ledger_store, open_index
from app.cli.books import remark_unknown, with_editions
from app.cli.command import (
    IndexedBook,
    Json,
    OneBook,
    Site,
    Source,
    Strategy,
    command,
    named,
    open_application,
)
from app.cli.output import phases, print_json, remark, remark_each, say
from app.domain.book_id import BookId
from app.domain.characters import counted
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StrategyName
from app.domain.document import Book
from app.domain.edition import site_root
from app.domain.errors import InputError
from app.domain.ledger import to_lines
from app.domain.links import DeepLink, check_links
from app.domain.retrieval.context_assembly import paragraphs_of
from app.domain.retrieval.query import SearchFilter
from app.services.ingest_plan import IngestRequest
from app.services.phases import ignore
from app.services.ports import VectorIndex
from app.settings import Settings


@command()
async def blocks(
    settings: Settings,
    source: Source,
    site: Site = None,
    coverage: Annotated[bool, Option("--coverage", help="Add the covered share.")] = False,
    json: Json = False,
) -> None:
    """Print a book's blocks, one JSON object a line, with or without --json."""
    del json
    async with opened_source(source, settings, phases(), remark) as request:
        book = await _read(replace(request, site=site), settings)
    for block in book.blocks():
        fields = {name: getattr(block, name) for name in _BLOCK_FIELDS}
        if block.figure:
            fields["figure"] = asdict(block.figure)
        given = {name: value for name in _OPTIONAL_FIELDS if (value := getattr(block, name))}
        print_json(fields | given)
    if coverage:
        unread = {one.file: words for one in book.documents if (words := one.unread())}
        print_json({"coverage": book.coverage(), "unread": unread})


async def _read(request: IngestRequest, settings: Settings) -> Book:
    book = await read_identified(request, settings)
    remark_each("warning", book.warnings)
    return book


_BLOCK_FIELDS = "kind text file start end paragraph_id heading_path anchor url".split()
_OPTIONAL_FIELDS = "level language terms".split()


@command()
async def chunks(
    settings: Settings,
    source: Source,
    site: Site = None,
    strategy: Strategy = None,
    json: Json = False,
) -> None:
    """Print a book's chunks, one JSON object a line, with or without --json."""
    del json
    async with opened_source(source, settings, phases(), remark) as given:
        request = replace(given, site=site, strategy=strategy or given.strategy)
        book = await _read(request, settings)
        for chunk in await _chunk(book, request, settings):
            print_json({name: getattr(chunk, name) for name in _CHUNK_FIELDS})


async def _chunk(book: Book, request: IngestRequest, settings: Settings) -> Iterable[Chunk]:
    """Chunk the book lazily; if the embedder decides where to cut, all at once with it."""
    semantic = request.strategy == StrategyName.SEMANTIC
    # Late chunking needs a model only to embed; a neural model limits the size of a text.
    if not semantic and not settings.embedder.startswith("fastembed"):
        return chunk_book(book, request)
    async with open_application(settings) as app:
        ingest = app.ingest
        return await asyncio.to_thread(lambda: [*ingest.chunk_book(book, request, ignore)])


_CHUNK_FIELDS = """
    chunk_id text_content token_count overlap_start overlap_end paragraph_id paragraph_ids
    content_type chapter section file spans deep_link_url book_version book chunk_index heading_path
    language
""".split()


@command()
async def links(
    settings: Settings,
    book: IndexedBook,
    ledger: Annotated[
        bool, Option("--ledger", help="Print the ids, to keep in the book's repository.")
    ] = False,
    check: Annotated[
        str | None,
        Option(parser=named, metavar="SITE", help="A site's URL or folder, to find broken links."),
    ] = None,
) -> int:
    """Print the links of a book's paragraphs, or with --check those that are broken, as JSON lines.

    With --check the exit code is 1 if a link is broken.
    """
    if ledger:
        known = await ledger_store(settings).load(book)
        if not known.entries:
            message = f"no ledger for book {book!r} in {settings.home}: ingest the book first"
            raise InputError(message)
        for line in to_lines(known):
            say(line)
        return 0
    async with open_index(settings) as index:
        editions = await with_editions(index, book)
        manifests = (await index.books()).named()
        found = [link for one in editions for link in await _links_of(index, one)]
    if check is None:
        for link in found:
            print_json(asdict(link))
        return 0
    root = site_root([one.base_url for one in manifests if one.book.name == book.name])
    # It may be a preview on the author's machine.
    async with opened_source(check, settings, phases(), remark, allow_private=True) as site:
        misses = check_links(found, built_pages(site.folder, root))
    for miss in misses:
        print_json(asdict(miss))
    pages = {urldefrag(link.url).url for link in found}
    checked = f"{counted(len(found), 'links')} on {counted(len(pages), 'pages')}"
    remark(f"{checked}, {counted(len(misses), 'misses')}")
    return 1 if misses else 0


async def _links_of(index: VectorIndex, book: BookId) -> list[DeepLink]:
    """Return the links of all paragraphs in reading order."""
    chunks = await index.matching(SearchFilter(books=(book,)))
    return [
        DeepLink(one.paragraph_id, one.url, one.kind.value, chunk.file, one.start)
        for chunk, one in paragraphs_of(chunks)
        if one.paragraph_id
    ]


@command()
async def stamp(
    settings: Settings,
    site: Annotated[
        str, Argument(parser=named, metavar="SITE_DIR", help="The folder of the built site.")
    ],
    book: OneBook = None,
) -> None:
    """Write the paragraphs' ids into the HTML of a built site, for links without a script.

    Without --book the folder's name is the book's. An element that has an id keeps it; a second
    run changes nothing.
    """
    await remark_unknown(settings, [book] if book else [])
    new = await stamp_site(IngestRequest(Path(site), book=book), settings)
    remark(f"{counted(sum(new), 'ids')} written on {counted(len(new), 'pages')}")
