"""Cuts books into chunks, by the strategy and sizes of the request and of the book's authors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from app.adapters.reading.book import chunking_config
from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, ChunkingTools, RecursiveConfig
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import Book, Span
from app.domain.terms import script_scale
from app.services.ingest import IngestRequest
from app.services.phases import Advance, ignore
from app.services.ports import Embedder
from app.services.similarity import embed_documents

EmbedTexts: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]


def embed_from_thread(embedder: Embedder) -> EmbedTexts:
    """Return a function that embeds texts on this event loop, for chunking in another thread."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return asyncio.run_coroutine_threadsafe(embed_documents(embedder, texts), loop).result()

    return embed


def chunk_book(
    book: Book,
    request: IngestRequest,
    advance: Advance = ignore,
    embed: EmbedTexts | None = None,
    longest_text: int | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of one document after the other.

    `longest_text` is the embedder's limit in tokens: chunk sizes are not scaled beyond it. Raises
    ConfigError if the strategy needs `embed` and it is None.
    """
    count_tokens = token_counter()
    config = _config(book, request, count_tokens, longest_text)
    tools = ChunkingTools(
        count_tokens=count_tokens,
        split_sentences=split_sentences,
        split_recursively=partial(_split_recursively, count_tokens),
        embed=embed,
    )
    for document in book.documents:
        yield from stream_chunks(document, book, config, tools)
        advance(1)


def _config(
    book: Book,
    request: IngestRequest,
    count_tokens: Callable[[str], int],
    longest_text: int | None,
) -> ChunkingConfig:
    """Return the settings of the request and the book, scaled by the book's script."""
    own = chunking_config(request.folder, request.strategy)
    config = replace(own, exclude=tuple(sorted(request.exclude_kinds)))
    scale = script_scale((block.text for block in book.blocks()), count_tokens)
    if longest_text is not None:
        scale = max(1.0, min(scale, longest_text / config.structure.maximum))
    return config.scaled(scale)


def _split_recursively(
    count_tokens: Callable[[str], int], text: str, config: RecursiveConfig
) -> list[Span]:
    # The import takes 0.2 s, so only this strategy pays for it.
    from app.adapters.langchain_splitters import split_recursively  # noqa: PLC0415

    return split_recursively(count_tokens, text, config)
