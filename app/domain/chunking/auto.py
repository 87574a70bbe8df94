"""Chooses a strategy for each document: Markdown, code, short, or running text."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder
from app.domain.chunking.chunk_pieces import count_words
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.chunking.flat import flatten
from app.domain.chunking.recursive import as_code, as_markdown, split_flat
from app.domain.chunking.sentence import group_sentences
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book, Document

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
        return split_flat(document, book, config, tools, name, as_code(config.recursive))
    if _markup_share(document) >= auto.markup_share:
        return split_flat(document, book, config, tools, name, as_markdown(config.recursive))
    return group_sentences(document, book, config, tools, name)


def _code_share(document: Document) -> float:
    """Return the share of characters in code blocks, 0 to 1."""
    code = sum(len(block.text) for block in document.blocks if block.kind is BlockKind.CODE)
    return code / max(sum(len(block.text) for block in document.blocks), 1)


def _markup_share(document: Document) -> float:
    """Return the share of blocks that are mark-up, 0 to 1."""
    marked = sum(block.kind in _MARKUP for block in document.blocks)
    return marked / max(len(document.blocks), 1)
