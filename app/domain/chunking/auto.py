"""The strategy `auto`: chooses another one for each document by its size and blocks."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder
from app.domain.chunking.chunk_pieces import count_words
from app.domain.chunking.config import ChunkingConfig, Separators, StrategyName
from app.domain.chunking.flat_text import flatten
from app.domain.chunking.recursive import chunk_recursive
from app.domain.chunking.sentence import chunk_sentence
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book, Document

_MARKUP = frozenset({BlockKind.HEADING, BlockKind.LIST, BlockKind.TABLE, BlockKind.CODE})


def chunk_auto(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Keep short documents whole; split code and Markdown recursively, others by sentences."""
    name, auto = StrategyName.AUTO, config.auto
    if count_words(document) < auto.whole_below_words:
        flat = flatten(document, config.exclude)
        builder = ChunkBuilder(document, book, name, config, tools, exact_passages=False)
        return builder.build(flat.drafts([(0, len(flat.text))]))
    if _code_share(document) >= auto.code_share:
        return chunk_recursive(document, book, config, tools, name, Separators.CODE)
    if _markup_share(document) >= auto.markup_share:
        return chunk_recursive(document, book, config, tools, name, Separators.MARKDOWN)
    return chunk_sentence(document, book, config, tools, name)


def _code_share(document: Document) -> float:
    """Return the share of characters in code blocks, 0 to 1."""
    code = sum(len(block.text) for block in document.blocks if block.kind is BlockKind.CODE)
    return code / max(sum(len(block.text) for block in document.blocks), 1)


def _markup_share(document: Document) -> float:
    """Return the share of blocks that are mark-up, 0 to 1."""
    marked = sum(block.kind in _MARKUP for block in document.blocks)
    return marked / max(len(document.blocks), 1)
