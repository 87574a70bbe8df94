"""Commands that read a book and print it: blocks, chunks."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable
from dataclasses import asdict
from time import monotonic

from app.bootstrap.books import (
    book_at,
    chunk_book,
    chunk_report,
    fetched,
    read_identified,
    strategy_of,
)
from app.cli.output import print_json
from app.cli.printing import remark
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StrategyName
from app.domain.document import Block, Book
from app.domain.edition import ONLY
from app.services.ingest import IngestRequest
from app.services.phases import ignore
from app.settings import Settings

_SAID_EVERY = 5.0
"""Seconds between two lines of progress."""


async def ingest_request(arguments: argparse.Namespace, settings: Settings) -> IngestRequest:
    """Build the request of a command that takes a book's folder or address.

    The pages of an address are fetched first.
    """
    book, base_url = getattr(arguments, "book", None), arguments.base_url
    if isinstance(arguments.path, str):
        address = arguments.path
        book = book or book_at(address)
        arguments.path, found = await fetched(
            address,
            settings,
            allow_private=arguments.allow_private,
            progress=_Fetching(quiet=getattr(arguments, "quiet", False)),
        )
        base_url = base_url or found
    return IngestRequest(
        folder=arguments.path,
        book=book,
        site=arguments.site,
        base_url=base_url,
        strategy=getattr(arguments, "strategy", None) or strategy_of(arguments.path),
        exclude_kinds=getattr(arguments, "exclude_kinds", frozenset()),
        skip_refused=arguments.skip_refused,
        edition=getattr(arguments, "edition", ONLY),
        dry_run=getattr(arguments, "dry_run", False),
        force=getattr(arguments, "force", False),
    )


class _Fetching:
    """Says from time to time how many pages of a site are fetched."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._said = monotonic()

    def __call__(self, done: int, known: int, seconds_left: float) -> None:
        if not self._quiet and monotonic() - self._said >= _SAID_EVERY:
            self._said = monotonic()
            remark(f"fetched {done:,} of {known:,} pages, about {seconds_left:,.0f} s left")


async def blocks(arguments: argparse.Namespace, settings: Settings) -> None:
    book = await read_identified(await ingest_request(arguments, settings), settings)
    _remark_on(book)
    if arguments.source:
        for document in book.documents:
            print(document.source)
        return
    for block in book.blocks():
        print_json(_block(block))
    if arguments.coverage:
        unread = [
            {"file": document.file, "words": list(document.unread)}
            for document in book.documents
            if document.unread
        ]
        print_json({"coverage": book.coverage, "unread": unread})


def _remark_on(book: Book) -> None:
    for warning in book.warnings:
        remark(f"warning: {warning}")


_BLOCK_FIELDS = "kind text file start end paragraph_id heading_path anchor url".split()
_OPTIONAL_FIELDS = "level language title terms image".split()


def _block(block: Block) -> dict[str, object]:
    fields = {name: getattr(block, name) for name in _BLOCK_FIELDS}
    return fields | {name: value for name in _OPTIONAL_FIELDS if (value := getattr(block, name))}


async def chunks(arguments: argparse.Namespace, settings: Settings) -> None:
    request = await ingest_request(arguments, settings)
    book = await read_identified(request, settings)
    _remark_on(book)
    made = await _chunk(book, request, settings)
    if arguments.report:
        print_json(asdict(chunk_report(book, list(made), request)))
        return
    for chunk in made:
        print_json(_fields(chunk))


async def _chunk(book: Book, request: IngestRequest, settings: Settings) -> Iterable[Chunk]:
    """Chunk the book lazily; for the strategy `semantic`, all at once with an embedder."""
    of_documents = (document.settings.get("rag_strategy") for document in book.documents)
    # Late chunking needs a model only to embed, not to cut the text.
    if StrategyName.SEMANTIC not in {request.strategy, *of_documents}:
        return chunk_book(book, request, embeds_tokens=True)
    # Only `semantic` needs providers and stores.
    from app.bootstrap.application import application  # noqa: PLC0415

    async with application(settings, request.strategy) as app:
        ingest = app.ingest
        return await asyncio.to_thread(lambda: [*ingest.chunk_book(book, request, ignore)])


_CHUNK_FIELDS = """
    chunk_id text_content token_count overlap_start overlap_end paragraph_id paragraph_ids
    content_type chapter section file spans deep_link_url book_version book chunk_index heading_path
    language
""".split()


def _fields(chunk: Chunk) -> dict[str, object]:
    return {name: getattr(chunk, name) for name in _CHUNK_FIELDS}
