"""Packs units into chunks at the lowest cost, by dynamic programming.

Costs: a chunk outside the target size; a cut, by what it separates; sections that share a chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.chunking.config import PackingConfig
from app.domain.chunking.pieces import Piece
from app.domain.document import Span

# All sizes within the target size, less this margin, cost the same. So a paragraph that grows by a
# sentence moves a cut only if its chunk becomes too long.
_MARGIN = 40
_PER_TOKEN = 0.03
_BELOW_MINIMUM = 5.0
_MERGED = 0.5
"""Of each section that does not begin a chunk."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Pieces that no cut separates: one with text, and the headings that it is directly below."""

    pieces: Sequence[Piece]
    cut: float
    """Cost of a cut before it."""
    begins_section: bool = False
    number: int = 0
    """Position of its text among the pieces of the document."""

    @property
    def body(self) -> Piece:
        return self.pieces[-1]

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)


def pack(units: Sequence[Unit], config: PackingConfig) -> list[Sequence[Unit]]:
    """Return the units of each chunk, in order.

    Several units have at most `config.maximum` tokens, the header that they repeat included.
    """
    sizes = [(unit.tokens, _rounded(unit.tokens), unit.body.lead_tokens) for unit in units]
    total, starts = [0.0], [0]  # lowest cost of all chunks up to a unit, and the last one's start
    for end in range(1, len(units) + 1):
        best, choice, tokens, size, merged = float("inf"), end - 1, 0, 0, 0.0
        for start in range(end - 1, -1, -1):
            own, rounded, lead = sizes[start]
            tokens += own
            size += rounded
            if tokens + lead > config.maximum and start < end - 1:
                break
            begins_section = units[start].begins_section
            repeated = lead or config.overlap * (not begins_section)
            cost = total[start] + merged + _size_cost(size + repeated, config)
            if cost < best:
                best, choice = cost, start
            merged += _MERGED * begins_section
        total.append(best + (units[end].cut if end < len(units) else 0.0))
        starts.append(choice)
    ranges: list[Span] = []
    end = len(units)
    while end:
        ranges.append((starts[end], end))
        end = starts[end]
    return [units[start:end] for start, end in reversed(ranges)]


def _rounded(size: int) -> int:
    """Round the size, so that a paragraph reworded to similar length moves no cut."""
    step = 16 if size >= 64 else 8 if size >= 16 else 1
    return (size + step // 2) // step * step


def _size_cost(size: int, config: PackingConfig) -> float:
    low, high = config.low + _MARGIN, config.high - _MARGIN
    outside = _PER_TOKEN * (max(0, low - size) + max(0, size - high))
    if size < config.minimum:
        outside += _BELOW_MINIMUM * (2 - size / config.minimum)
    return outside
