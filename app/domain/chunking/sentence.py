"""Whole sentences up to a target size, the last ones repeated in the next chunk."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.chunking.assembly import ChunkBuilder, Draft
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, SentenceConfig, StrategyName
from app.domain.chunking.pieces import Piece
from app.domain.chunking.tools import ChunkingTools
from app.domain.chunking.units import count_words, units_of
from app.domain.document import Book, Document


def chunk_by_sentences(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> list[Chunk]:
    return group_sentences(document, book, config, tools, StrategyName.SENTENCE)


def group_sentences(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName,
) -> list[Chunk]:
    sizes = config.sentence
    units = list(units_of(document, sizes.maximum, config.exclude, tools))
    builder = ChunkBuilder(document, book, strategy, config, tools)
    short = count_words(document) < sizes.whole_below_words
    if short and sum(unit.tokens + 1 for unit in units) <= sizes.maximum:
        return builder.build([Draft(units)] if units else [])
    return builder.build(_grouped(units, sizes))


def _grouped(units: Sequence[Piece], sizes: SentenceConfig) -> list[Draft]:
    drafts: list[Draft] = []
    start = 0
    while start < len(units):
        overlap = _tail(drafts[-1].pieces, sizes, units[start]) if drafts else []
        size = sum(unit.tokens + 1 for unit in overlap)
        end = start
        while end < len(units) and (end == start or size + units[end].tokens <= sizes.target):
            size += units[end].tokens + 1
            end += 1
        rest = sum(unit.tokens + 1 for unit in units[end:])
        if rest < sizes.minimum and size + rest <= sizes.maximum:
            end = len(units)
        drafts.append(Draft(units[start:end], overlap))
        start = end
    return drafts


def _tail(units: Sequence[Piece], sizes: SentenceConfig, following: Piece) -> list[Piece]:
    """The last units, at least one and at least as many tokens as asked, if there is room."""
    tail: list[Piece] = []
    size = 0
    for unit in reversed(units[1:]):
        room = min(sizes.target // 2, sizes.maximum - following.tokens - 2)
        if size >= sizes.overlap or size + unit.tokens + 1 > room or unit.pulled:
            break
        tail.insert(0, unit)
        size += unit.tokens + 1
    return tail
