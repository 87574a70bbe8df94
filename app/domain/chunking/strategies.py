"""Chunking strategies by name, and `auto`, which chooses one for each document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder
from app.domain.chunking.chunk_pieces import count_words
from app.domain.chunking.config import ChunkingConfig, Separators, StrategyName
from app.domain.chunking.flat import chunk_by_size, chunk_recursively, flatten
from app.domain.chunking.sentence import chunk_by_meaning, chunk_by_sentences
from app.domain.chunking.structure import chunk_by_structure, chunk_late
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book, Document
from app.domain.errors import BookError, InputError, SettingError

_MARKUP = frozenset({BlockKind.HEADING, BlockKind.LIST, BlockKind.TABLE, BlockKind.CODE})


def chunk_by_kind(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Keep short documents whole; split code and Markdown recursively, others by sentences."""
    name, auto = StrategyName.AUTO, config.auto
    if count_words(document) < auto.whole_below_words:
        flat = flatten(document, config.exclude)
        builder = ChunkBuilder(document, book, name, config, tools, exact_passages=False)
        return builder.build(flat.drafts([(0, len(flat.text))]))
    if _code_share(document) >= auto.code_share:
        return chunk_recursively(document, book, config, tools, name, Separators.CODE)
    if _markup_share(document) >= auto.markup_share:
        return chunk_recursively(document, book, config, tools, name, Separators.MARKDOWN)
    return chunk_by_sentences(document, book, config, tools, name)


def _code_share(document: Document) -> float:
    """Return the share of characters in code blocks, 0 to 1."""
    code = sum(len(block.text) for block in document.blocks if block.kind is BlockKind.CODE)
    return code / max(sum(len(block.text) for block in document.blocks), 1)


def _markup_share(document: Document) -> float:
    """Return the share of blocks that are mark-up, 0 to 1."""
    marked = sum(block.kind in _MARKUP for block in document.blocks)
    return marked / max(len(document.blocks), 1)


Strategy: TypeAlias = Callable[[Document, Book, ChunkingConfig, ChunkingTools], Iterable[Chunk]]
"""Splits a document into chunks, in order and deterministically; it may yield lazily."""

STRATEGIES: Mapping[StrategyName, Strategy] = MappingProxyType(
    {
        StrategyName.STRUCTURE: chunk_by_structure,
        StrategyName.FIXED: chunk_by_size,
        StrategyName.RECURSIVE: chunk_recursively,
        StrategyName.SENTENCE: chunk_by_sentences,
        StrategyName.AUTO: chunk_by_kind,
        StrategyName.SEMANTIC: chunk_by_meaning,
        StrategyName.LATE: chunk_late,
    }
)


def _line_of(document: Document, error: InputError) -> int:
    """Line of the wrong setting in the front matter; 1 if it is not found."""
    keys = error.settings if isinstance(error, SettingError) else ("rag_strategy",)
    source = document.source
    found = re.search(rf"^[ \t\"']*(?:{'|'.join(keys)})\b", source, re.M)
    return source.count("\n", 0, found.start()) + 1 if found else 1


def stream_chunks(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Chunk the document by the strategy of its front matter or else of `config`.

    BookError, naming the file, if the front matter has invalid settings.
    """
    try:
        settings = config.with_settings(document.settings).scaled()
    except InputError as error:
        raise BookError(str(error), document.file, _line_of(document, error)) from error
    return STRATEGIES[settings.strategy](document, book, settings, tools)
