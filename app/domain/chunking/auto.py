"""The strategy `auto`: chooses another one for each document by its size and blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.domain.chunking.builder import ChunkBuilder
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, Separators, StrategyName
from app.domain.chunking.sentence import chunk_sentence, count_words
from app.domain.chunking.tools import ChunkingTools
from app.domain.chunking.windows import FlatText, chunk_recursive
from app.domain.document import BlockKind, Book, Document

_MARKUP = frozenset({BlockKind.HEADING, BlockKind.LIST, BlockKind.TABLE, BlockKind.CODE})


def chunk_auto(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Keep short documents whole; split code and Markdown recursively, others by sentences."""
    name, auto = StrategyName.AUTO, config.auto
    if count_words(document) < auto.whole_below_words:
        flat = FlatText.of(document, config.exclude)
        builder = ChunkBuilder(document, book, name, config, tools)
        return builder.build(flat.drafts([(0, len(flat.text))]))
    code = sum(len(block.text) for block in document.blocks if block.kind is BlockKind.CODE)
    marked = sum(block.kind in _MARKUP for block in document.blocks)
    if code >= auto.code_share * sum(len(block.text) for block in document.blocks):
        separators = Separators.CODE
    elif marked >= auto.markup_share * len(document.blocks):
        separators = Separators.MARKDOWN
    else:
        return chunk_sentence(document, book, config, tools, name)
    sizes = replace(config.recursive, separators=separators)
    return chunk_recursive(document, book, replace(config, recursive=sizes), tools, name)
