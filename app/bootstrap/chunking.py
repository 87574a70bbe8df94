"""Chunk a book with this program's tokenizer and sentence splitter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from app.adapters.book_settings import NAME as BOOK_SETTINGS
from app.adapters.book_settings import read_book_settings
from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain.chunking import (
    ChunkingConfig,
    ChunkingTools,
    StrategyName,
    StructureConfig,
    get_strategy,
    stream_chunks,
)
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import RecursiveConfig, script_scale
from app.domain.chunking.report import Report, guarantee_report
from app.domain.document import Book, Document, Span
from app.domain.errors import BookError, InputError
from app.domain.links import page_links
from app.services.gc_control import paused_gc
from app.services.ingest import IngestRequest
from app.services.phases import Advance, ignore
from app.services.ports import Embedder

EmbedTexts: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]


def embed_from_thread(embedder: Embedder) -> EmbedTexts:
    """Return a function by which chunking, in a thread, embeds on the event loop that owns the
    client.
    """
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
) -> list[Chunk]:
    """Return the chunks of `stream_book` at once."""
    return list(stream_book(book, request, advance, embed, embeds_tokens, longest_text))


def stream_book(
    book: Book,
    request: IngestRequest,
    advance: Advance = ignore,
    embed: EmbedTexts | None = None,
    embeds_tokens: bool = False,
    longest_text: int | None = None,
) -> Iterator[Chunk]:
    """Chunk one document after the other. UnknownStrategy; ConfigError if an embedder is needed.

    `longest_text` is the embedder's limit in tokens: sizes are not scaled beyond it.
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
        with paused_gc():
            yield from stream_chunks(document, book, config, _linking(tools, document))
        advance(1)


def _config(request: IngestRequest) -> ChunkingConfig:
    """Return the book's settings, without those of its documents."""
    get_strategy(request.strategy)
    config = ChunkingConfig(
        strategy=StrategyName(request.strategy),
        structure=StructureConfig(overlap_scope=request.overlap_scope),
        exclude=tuple(sorted(request.exclude_kinds)),
    )
    try:
        return config.with_settings(read_book_settings(request.folder).of(request.strategy))
    except InputError as error:
        raise BookError(str(error), BOOK_SETTINGS) from error


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
    count_tokens: Callable[[str], int], text: str, config: RecursiveConfig, language: str
) -> list[Span]:
    # Costs 0.2 s of start-up, which only its strategy should pay.
    from app.adapters.langchain_splitters import recursive_splitter  # noqa: PLC0415

    return recursive_splitter(count_tokens)(text, config, language)


def _linking(tools: ChunkingTools, document: Document) -> ChunkingTools:
    places = [(block.file, block.start, block.end) for block in document.blocks]
    links = dict(zip(places, page_links(document), strict=True))
    return replace(tools, link=lambda block: links[block.file, block.start, block.end])


def chunk_report(book: Book, chunks: Sequence[Chunk], request: IngestRequest) -> Report:
    """Check the chunks against every guarantee of the structure strategy."""
    tools = ChunkingTools(count_tokens=token_counter(), split_sentences=split_sentences)
    config = _config(request)
    config = replace(config, scale=_scale(book, config, tools.count_tokens)).scaled()
    return guarantee_report(book, chunks, tools, config.structure, config.exclude)
