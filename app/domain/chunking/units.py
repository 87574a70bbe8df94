"""A document as a sequence of sentences and whole blocks, for strategies that group them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.chunking.pieces import Piece, directives, pieces_of, sentences_of
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Document

_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.FOOTNOTE, BlockKind.REFERENCE})


def units_of(
    document: Document, limit: int, exclude: Sequence[BlockKind], tools: ChunkingTools
) -> Iterator[Piece]:
    """Each sentence of a paragraph, each other block; longer ones cut at their joints."""
    known = directives(document.blocks)
    for block in document.blocks:
        if block.kind in exclude:
            continue
        if block.kind in _PROSE and not block.included:
            yield from sentences_of(block, document.source, document.language, limit, tools)
            continue
        directive = known.get(block.start, (block.start, block.end))
        yield from pieces_of(block, document.source, directive, document.language, limit, tools)


def parts_of(block: Block, document: Document, limit: int, tools: ChunkingTools) -> list[Piece]:
    """The block cut at its joints into parts of at most `limit` tokens; a paragraph has none."""
    if block.kind in _PROSE:
        return []
    span, source, language = (block.start, block.end), document.source, document.language
    return pieces_of(block, source, span, language, limit, tools)


def count_words(document: Document) -> int:
    return sum(len(block.text.split()) for block in document.blocks)
