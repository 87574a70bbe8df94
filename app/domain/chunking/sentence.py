"""Whole sentences up to a target size, the last ones repeated in the next chunk."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter

from app.domain.chunking.assembly import ChunkBuilder, Draft
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, SentenceConfig, StrategyName
from app.domain.chunking.joints import CUT_WORD
from app.domain.chunking.pieces import Piece
from app.domain.chunking.tools import ChunkingTools
from app.domain.chunking.units import count_words, parts_of, units_of
from app.domain.document import Block, Book, Document


def chunk_by_sentences(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    return group_sentences(document, book, config, tools, StrategyName.SENTENCE)


def group_sentences(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName,
) -> Iterable[Chunk]:
    sizes = config.sentence
    units = list(units_of(document, sizes.maximum, config.exclude, tools))
    builder = ChunkBuilder(document, book, strategy, config, tools)
    short = count_words(document) < sizes.whole_below_words
    if short and sum(unit.tokens + 1 for unit in units) <= sizes.maximum:
        return builder.build([Draft(units)] if units else [])
    return builder.build(_Grouping(builder, sizes).group(units))


@dataclass(slots=True)
class _Grouping:
    """Sizes are sums of units with one token between two, which is never too few."""

    builder: ChunkBuilder
    sizes: SentenceConfig
    _cut: Block | None = None
    """The block that `_parts_by_limit` are of: its units come one after the other."""
    _parts_by_limit: dict[int, list[Piece]] = field(default_factory=dict)

    def group(self, units: Sequence[Piece]) -> list[Draft]:
        sizes = self.sizes
        drafts: list[Draft] = []
        before = list(accumulate((unit.tokens + 1 for unit in units), initial=0))
        start = 0
        while start < len(units):
            overlap = self._tail(drafts[-1], units[start]) if drafts else []
            size = sum(unit.tokens + 1 for unit in overlap)
            end = start
            while end < len(units) and (end == start or size + units[end].tokens <= sizes.target):
                size += units[end].tokens + 1
                end += 1
            rest = before[-1] - before[end]
            if rest < sizes.minimum and size + rest <= sizes.maximum:
                end = len(units)
            drafts.append(Draft(units[start:end], overlap))
            start = end
        return drafts

    def _tail(self, draft: Draft, following: Piece) -> list[Piece]:
        """The last units, and as many tokens as asked, if there is room; of a long one its end."""
        room = self.sizes.maximum - following.tokens - 2
        left = [*draft.overlap, *draft.pieces]
        first = left[0].start
        tail: list[Piece] = []
        while left and not left[-1].pulled and not self._is_enough(tail):
            unit = left.pop()
            if unit.start != first and unit.tokens < min(self.sizes.target // 2, room):
                tail.insert(0, unit)
                room -= unit.tokens + 1
                continue
            parts = self._parts(unit, room)
            left = parts if parts and parts[0].start > unit.start else [*left, *parts]
            if not parts:
                break
        return tail

    def _parts(self, unit: Piece, room: int) -> list[Piece]:
        """Rows, items, lines, sentences of a long unit; those after the last that is longer yet."""
        limit = min(self.sizes.target // 2, room, unit.tokens) - 1
        # A unit inside a sentence or line has nothing but more of it.
        if limit < self.sizes.overlap or unit.cut == CUT_WORD:
            return []
        parts = self._parts_within(unit, limit)
        inside = [number for number, part in enumerate(parts, 1) if part.cut == CUT_WORD]
        if inside:
            return parts[inside[-1] :]
        return parts if len(parts) > 1 else []

    def _parts_within(self, unit: Piece, limit: int) -> list[Piece]:
        if self._cut is not unit.block:
            self._cut = unit.block
            self._parts_by_limit.clear()
        if limit not in self._parts_by_limit:
            document, tools = self.builder.document, self.builder.tools
            self._parts_by_limit[limit] = parts_of(unit.block, document, limit, tools)
        parts = self._parts_by_limit[limit]
        first = bisect_left(parts, unit.start, key=attrgetter("start"))
        last = bisect_left(parts, unit.end, key=attrgetter("start"))
        return [part for part in parts[first:last] if part.end <= unit.end]

    def _is_enough(self, tail: Sequence[Piece]) -> bool:
        asked = self.sizes.overlap
        if not tail or sum(unit.tokens + 1 for unit in tail) < asked:
            return False
        return self.builder.renderer.render(tail).tokens >= asked
