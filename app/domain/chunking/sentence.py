"""The strategy `sentence`: groups whole sentences up to a target size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder, ChunkDraft
from app.domain.chunking.chunk_pieces import (
    ChunkPiece,
    count_words,
    sentence_pieces,
    split_at_parts,
)
from app.domain.chunking.config import ChunkingConfig, SentenceConfig, StrategyName
from app.domain.chunking.cut_points import CUT_WORD
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, Book, Document


def chunk_sentence(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName = StrategyName.SENTENCE,
) -> Iterable[Chunk]:
    """Group sentences up to a target size; the next chunk repeats the last ones."""
    sizes = config.sentence
    pieces = list(sentence_pieces(document, sizes.maximum, config.exclude, tools))
    builder = ChunkBuilder(document, book, strategy, config, tools)
    short = count_words(document) < sizes.whole_below_words
    if short and sum(piece.tokens + 1 for piece in pieces) <= sizes.maximum:
        return builder.build([ChunkDraft(pieces)] if pieces else [])
    return builder.build(_SentenceGrouper(builder, sizes).group(pieces))


@dataclass(slots=True)
class _SentenceGrouper:
    """Groups pieces into drafts. A gap between two pieces counts as one token, never too few."""

    builder: ChunkBuilder
    sizes: SentenceConfig
    _split: Block | None = None
    """The block of `_parts_by_limit`; the pieces of one block are consecutive."""
    _parts_by_limit: dict[int, list[ChunkPiece]] = field(default_factory=dict)

    def group(self, pieces: Sequence[ChunkPiece]) -> list[ChunkDraft]:
        sizes = self.sizes
        drafts: list[ChunkDraft] = []
        before = list(accumulate((piece.tokens + 1 for piece in pieces), initial=0))
        start = 0
        while start < len(pieces):
            overlap = self._tail(drafts[-1], pieces[start]) if drafts else []
            size = sum(piece.tokens + 1 for piece in overlap)
            end = start
            while end < len(pieces) and (end == start or size + pieces[end].tokens <= sizes.target):
                size += pieces[end].tokens + 1
                end += 1
            rest = before[-1] - before[end]
            if rest < sizes.minimum and size + rest <= sizes.maximum:
                end = len(pieces)
            drafts.append(ChunkDraft(pieces[start:end], overlap))
            start = end
        return drafts

    def _tail(self, draft: ChunkDraft, following: ChunkPiece) -> list[ChunkPiece]:
        """Return the last pieces, up to the configured overlap; of a long piece its end."""
        room = self.sizes.maximum - following.tokens - 2
        left = [*draft.overlap, *draft.pieces]
        first = left[0].start
        tail: list[ChunkPiece] = []
        while left and not left[-1].included_text and not self._is_enough(tail):
            piece = left.pop()
            if piece.start != first and piece.tokens < min(self.sizes.target // 2, room):
                tail.insert(0, piece)
                room -= piece.tokens + 1
                continue
            parts = self._parts(piece, room)
            left = parts if parts and parts[0].start > piece.start else [*left, *parts]
            if not parts:
                break
        return tail

    def _parts(self, piece: ChunkPiece, room: int) -> list[ChunkPiece]:
        """Return the rows, items, lines or sentences of a long piece that fit, from its end."""
        limit = min(self.sizes.target // 2, room, piece.tokens) - 1
        # A piece cut inside a sentence or line has no parts.
        if limit < self.sizes.overlap or piece.cut == CUT_WORD:
            return []
        parts = self._parts_within(piece, limit)
        inside = [number for number, part in enumerate(parts, 1) if part.cut == CUT_WORD]
        if inside:
            return parts[inside[-1] :]
        return parts if len(parts) > 1 else []

    def _parts_within(self, piece: ChunkPiece, limit: int) -> list[ChunkPiece]:
        if self._split is not piece.block:
            self._split = piece.block
            self._parts_by_limit.clear()
        if limit not in self._parts_by_limit:
            document, tools = self.builder.document, self.builder.tools
            self._parts_by_limit[limit] = split_at_parts(piece.block, document, limit, tools)
        parts = self._parts_by_limit[limit]
        first = bisect_left(parts, piece.start, key=attrgetter("start"))
        last = bisect_left(parts, piece.end, key=attrgetter("start"))
        return [part for part in parts[first:last] if part.end <= piece.end]

    def _is_enough(self, tail: Sequence[ChunkPiece]) -> bool:
        asked = self.sizes.overlap
        if not tail or sum(piece.tokens + 1 for piece in tail) < asked:
            return False
        return self.builder.renderer.render(tail).tokens >= asked
