"""Packs pieces into chunks at the lowest cost, by dynamic programming.

Costs: a chunk outside the target size; a cut, by what it separates; sections that share a chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def pack(pieces: Sequence[Piece], config: PackingConfig) -> list[Span]:
    """Return the half-open index ranges of the chunks, in order.

    A range of several pieces has at most `config.maximum` tokens, its lead included.
    """
    rounded = [_rounded(piece.tokens) for piece in pieces]
    total, starts = [0.0], [0]  # lowest cost of all chunks up to a piece, and the last one's start
    for end in range(1, len(pieces) + 1):
        best, choice, tokens, size, merged = float("inf"), end - 1, 0, 0, 0.0
        for start in range(end - 1, -1, -1):
            piece = pieces[start]
            tokens += piece.tokens
            size += rounded[start]
            if tokens + piece.lead_tokens > config.maximum and start < end - 1:
                break
            repeated = piece.lead_tokens or config.overlap * (not piece.begins_section)
            cost = total[start] + merged + _size_cost(size + repeated, config)
            if cost < best:
                best, choice = cost, start
            merged += _MERGED * piece.begins_section
        total.append(best + (pieces[end].cut if end < len(pieces) else 0.0))
        starts.append(choice)
    ranges: list[Span] = []
    end = len(pieces)
    while end:
        ranges.append((starts[end], end))
        end = starts[end]
    return ranges[::-1]


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
