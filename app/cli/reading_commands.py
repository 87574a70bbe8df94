"""Commands that read a book and print it: blocks, chunks."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable

from app.bootstrap.books import (
    chunk_report,
    in_its_site,
    read_identified,
    strategy_of,
    stream_book,
)
from app.cli.output import print_json, remark
from app.domain.chunking import StrategyName
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.report import Report
from app.domain.document import Block, Book
from app.domain.edition import ONLY
from app.services.ingest import IngestRequest
from app.services.phases import ignore
from app.settings import Settings


def ingest_request(arguments: argparse.Namespace, settings: Settings) -> IngestRequest:
    """Build the request of a command that takes a book's folder."""
    request = IngestRequest(
        folder=arguments.path,
        book=getattr(arguments, "book", None),
        site=arguments.site,
        base_url=arguments.base_url,
        strategy=getattr(arguments, "strategy", None) or strategy_of(arguments.path, settings),
        overlap_scope=settings.overlap_scope,
        exclude_kinds=getattr(arguments, "exclude_kinds", frozenset()),
        include_orphans=getattr(arguments, "include_orphans", False),
        skip_refused=getattr(arguments, "skip_refused", False),
        edition=getattr(arguments, "edition", ONLY),
        dry_run=getattr(arguments, "dry_run", False),
        force=getattr(arguments, "force", False),
    )
    placed = in_its_site(request)
    if placed.part and not getattr(arguments, "quiet", False):
        remark(f"read as {placed.part} of the {placed.site} site in {placed.folder}")
    return placed


async def blocks(arguments: argparse.Namespace, settings: Settings) -> None:
    book = await read_identified(ingest_request(arguments, settings), settings)
    _remark_on(book)
    for block in book.blocks():
        print_json(_block(block))
    if arguments.coverage:
        unknown = [
            {"file": document.file, "start": start, "end": end, "text": document.source[start:end]}
            for document in book.documents
            for start, end in document.unknown
        ]
        print_json({"coverage": book.coverage, "unknown": unknown})


def _remark_on(book: Book) -> None:
    for warning in book.warnings:
        remark(f"warning: {warning}")


def _block(block: Block) -> dict[str, object]:
    optional = {
        "level": block.level,
        "language": block.language,
        "title": block.title,
        "terms": list(block.terms),
        "included": block.included,
    }
    return {
        "kind": block.kind.value,
        "text": block.text,
        "file": block.file,
        "start": block.start,
        "end": block.end,
        "paragraph_id": block.paragraph_id,
        "heading_path": list(block.heading_path),
        "anchor": block.anchor,
        "url": block.url,
    } | {name: value for name, value in optional.items() if value}


async def chunks(arguments: argparse.Namespace, settings: Settings) -> None:
    request = ingest_request(arguments, settings)
    book = await read_identified(request, settings)
    _remark_on(book)
    made = await _chunk(book, request, settings)
    if arguments.report:
        print_json(_report(chunk_report(book, list(made), request)))
        return
    for chunk in made:
        print_json(_fields(chunk))


async def _chunk(book: Book, request: IngestRequest, settings: Settings) -> Iterable[Chunk]:
    """Chunk the book lazily; for the strategy `semantic`, all at once with an embedder."""
    of_documents = (document.settings.get("rag_strategy") for document in book.documents)
    # Late chunking needs a model only to embed, not to cut the text.
    if StrategyName.SEMANTIC not in {request.strategy, *of_documents}:
        return stream_book(book, request, embeds_tokens=True)
    # Only `semantic` needs providers and stores.
    from app.bootstrap.application import application  # noqa: PLC0415

    async with application(settings, request.strategy) as app:
        return list(await asyncio.to_thread(app.ingest.chunk_book, book, request, ignore))


def _report(report: Report) -> dict[str, object]:
    """Return counts; then, per guarantee, the number of violations and the first locations."""
    return {
        "chunks": report.chunks,
        "tokens": report.tokens,
        "mean_tokens": report.mean_tokens,
        "in_band": report.in_band,
        "smallest": report.smallest,
        "largest": report.largest,
        "overlapping": report.overlapping,
        "overlap": report.overlap,
        "overlap_of_all": report.overlap_of_all,
        "pairs": report.pairs,
        "sharing": report.sharing,
        "duplicates": report.duplicates,
        "content_types": dict(report.content_types),
        "broken": {name: len(found) for name, found in report.breaches.items()},
        "examples": {name: list(found[:3]) for name, found in report.breaches.items() if found},
    }


def _fields(chunk: Chunk) -> dict[str, object]:
    return {
        "chunk_id": chunk.chunk_id,
        "text_content": chunk.text_content,
        "token_count": chunk.token_count,
        "overlap_start": chunk.overlap_start,
        "overlap_end": chunk.overlap_end,
        "paragraph_id": chunk.paragraph_id,
        "paragraph_ids": list(chunk.paragraph_ids),
        "content_type": chunk.content_type,
        "chapter": chunk.chapter,
        "section": chunk.section,
        "file": chunk.file,
        "spans": [list(span) for span in chunk.spans],
        "deep_link_url": chunk.deep_link_url,
        "book_version": chunk.book_version,
        "book": chunk.book,
        "chunk_index": chunk.chunk_index,
        "char_start": chunk.char_start,
        "char_end": chunk.char_end,
        "heading_path": list(chunk.heading_path),
        "context": [list(span) for span in chunk.context],
        "language": chunk.language,
    }
