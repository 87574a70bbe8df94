"""Commands that read a book and print it: blocks, chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Annotated

from typer import Option

from app.bootstrap.books import opened_source, read_identified
from app.bootstrap.chunking import chunk_book
from app.cli.command import Json, Site, Source, Strategy, command, open_application
from app.cli.output import phases, print_json, remark, remark_each
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StrategyName
from app.domain.document import Book
from app.services.ingest import IngestRequest
from app.services.phases import ignore
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
