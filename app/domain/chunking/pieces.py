"""Blocks as pieces of a chunk: whole, or split where they are too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.chunking.config import ChunkingTools
from app.domain.chunking.cut_points import Segment, parts, segments
from app.domain.document import Block, BlockKind

PROSE_KINDS = frozenset({BlockKind.PARAGRAPH, BlockKind.FOOTNOTE, BlockKind.REFERENCE})
_REPEATED_IN_PART = PROSE_KINDS | {BlockKind.LIST}
"""Kinds of which a chunk may repeat the last sentences or items."""
BLOCK_CUT = 1.2
"""Cost of a cut between two blocks; see `cut_points`."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A block, or a part of one: `block.text[start:end]`."""

    block: Block
    start: int
    end: int
    tokens: int = 0
    """Tokens of the text and of a separator before it; 0 if they are not counted."""
    cut: float = BLOCK_CUT
    """Cost of a cut before this piece."""
    lead: int = 0
    """End of what a chunk repeats if it begins with this piece: the header of its table."""
    lead_tokens: int = 0

    @property
    def text(self) -> str:
        return self.block.text[self.start : self.end]

    @property
    def whole(self) -> bool:
        return self.end - self.start == len(self.block.text)


@dataclass(frozen=True, slots=True)
class BlockSplitter:
    """Splits blocks of a document in `language` into pieces of at most `limit` tokens."""

    language: str
    tools: ChunkingTools
    limit: int

    def pieces(self, block: Block) -> list[Piece]:
        """Return the block as one piece or, if it is too long, its units."""
        tokens = self.tools.count_tokens(block.text)
        if tokens > self.limit:
            return self.units(block, 0, len(block.text))
        if not tokens or block.text.isspace():
            return []
        return [Piece(block, 0, len(block.text), tokens + 1)]

    def units(self, block: Block, start: int, end: int) -> list[Piece]:
        """Return the items, rows, sentences or lines of a part of the block's text."""
        kind = BlockKind.PARAGRAPH if block.kind in PROSE_KINDS else block.kind
        text = block.text[start:end]
        found = segments(text, kind, self.language, self.limit, self.tools)
        return [unit for one in found for unit in self._fitting(block, start, text, one)]

    def _fitting(self, block: Block, at: int, text: str, segment: Segment) -> Iterator[Piece]:
        """Yield a segment of the text, which begins at `at` in the block, or parts that fit."""
        count, lead = self.tools.count_tokens, segment.lead
        lead_tokens = count(text[:lead]) + 2 if lead else 0
        tokens, room = count(text[segment.start : segment.end]), self.limit - lead_tokens
        for one in [segment] if tokens <= room else parts(text, segment, room, count):
            own = tokens if one is segment else count(text[one.start : one.end])
            yield Piece(block, at + one.start, at + one.end, own + 1, one.cut, lead, lead_tokens)

    def end_of(self, pieces: Sequence[Piece], least: float, most: int) -> list[Piece]:
        """Return the end of `pieces`, of at least `least` and at most `most` tokens, as overlap.

        It is of one section and has no heading; it is less where a block is too long to be
        repeated. Of prose and lists the last sentences or items may be repeated, but not all.
        """
        chosen: list[Piece] = []
        path = pieces[-1].block.heading_path if pieces else ()
        for piece in reversed(pieces):
            block, divides = piece.block, piece.block.kind in _REPEATED_IN_PART
            if block.kind is BlockKind.HEADING or block.heading_path != path:
                break
            units = [piece] if piece.whole or divides else []
            if divides and piece.tokens > most:
                units = self.units(block, piece.start, piece.end)[1:]
            for unit in reversed(units):
                if sum(one.tokens - 1 for one in chosen) >= least or unit.tokens > most:
                    return chosen
                chosen.insert(0, unit)
                most -= unit.tokens
            if units != [piece]:
                break
        return chosen
