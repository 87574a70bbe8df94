"""Where to cut a sequence of pieces: the cheapest set of chunks, by dynamic programming.

The cost of a chunk is how far its size is outside the aimed band; the cost of a cut is what it
tears apart; sections that share a chunk cost a little, more when one of them is not whole in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from app.domain.chunking.config import StructureConfig
from app.domain.fast_dataclass import fast_dataclass

# Sizes are compared in steps, so that a paragraph reworded to about the same length moves no cut.
_COARSE_FROM, _COARSE = 64, 16
_FINE_FROM, _FINE = 16, 8
# Within the aimed band, less this margin at both ends, all sizes are as good: a paragraph that
# grows by a sentence then moves no cut but those of a chunk that it makes too long.
_MARGIN = 40
# A section that one chunk cannot hold whole is cut smaller: in prose without headings retrieval
# finds as much in chunks of 390 tokens as of 430, and more of what it finds is the answer.
_PART_MARGIN = 85
_PER_TOKEN = 0.03
_BELOW_MINIMUM = 5.0
_MIXED = 2.5
_MERGED = {1: 1.2, 2: 0.9, 3: 0.5}
_MERGED_DEEPER = 0.3


@fast_dataclass(frozen=True, slots=True)
class PackItem:
    """A piece as the packer sees it."""

    tokens: int
    head: int
    """Tokens of the header or lead-in that is repeated where a chunk begins with it."""
    overlap: int
    """Tokens that a chunk that begins with it may repeat, if there is room for them."""
    cut: float
    """Cost of a cut before it."""
    level: int
    """Level of the heading that separates it from the piece before; 0: same section."""


def pack(
    items: Sequence[PackItem], config: StructureConfig, slack: int = 0
) -> list[tuple[int, int]]:
    """Half-open index ranges of the chunks, in order.

    A range has at most `config.maximum - slack` tokens, its head included, unless it is one piece.
    """
    count = len(items)
    limit = config.maximum - slack
    size_cost = _size_costs(config)
    part_cost = _size_costs(config, _PART_MARGIN)
    tokens = [item.tokens for item in items]
    steps = list(accumulate(map(_in_steps, tokens), initial=0))
    # merged[i]: cost of all section boundaries up to piece i being inside one chunk.
    merged = list(accumulate(_merge_cost(item.level) for item in items))
    last_section = _last_section_starts(items)
    heads = [item.head for item in items]
    # Added to the steps up to a chunk's end: its size when it begins here.
    offsets = [item.head + item.overlap - step for item, step in zip(items, steps, strict=False)]
    # What a chunk that begins here costs whatever its end: all before it, and this cut.
    begin = [0.0] * (count + 1)
    torn = [0.0 if item.level or not index else _MIXED for index, item in enumerate(items)]
    best_start = [0] * (count + 1)
    for end in range(1, count + 1):
        best = float("inf")
        choice = end - 1
        torn_end = _MIXED if end < count and not items[end].level else 0.0
        section = last_section[end - 1]
        merged_end = merged[end - 1]
        step_end = steps[end]
        size = 0
        for start in range(end - 1, -1, -1):
            size += tokens[start]
            if size + heads[start] > limit:
                if start < end - 1:
                    if size > limit:
                        break
                    continue
                cost = begin[start]
            else:
                of_size = part_cost if torn_end or torn[start] else size_cost
                size_spent = of_size[step_end + offsets[start]]
                cost = begin[start] + size_spent + merged_end - merged[start]
                if section > start:
                    cost += torn[start] + torn_end
            if cost < best:
                best, choice = cost, start
        best_start[end] = choice
        begin[end] = best + (items[end].cut if end < count else 0.0)
    return _ranges(best_start, count)


def _ranges(best_start: Sequence[int], count: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    end = count
    while end:
        ranges.append((best_start[end], end))
        end = best_start[end]
    ranges.reverse()
    return ranges


def _in_steps(size: int) -> int:
    if size >= _COARSE_FROM:
        return (size + _COARSE // 2) // _COARSE * _COARSE
    return (size + _FINE // 2) // _FINE * _FINE if size >= _FINE_FROM else size


def _last_section_starts(items: Sequence[PackItem]) -> list[int]:
    starts: list[int] = []
    last = 0
    for index, item in enumerate(items):
        if item.level:
            last = index
        starts.append(last)
    return starts


def _merge_cost(level: int) -> float:
    return _MERGED.get(level, _MERGED_DEEPER) if level else 0.0


@lru_cache(maxsize=64)
def _size_costs(config: StructureConfig, margin: int = _MARGIN) -> tuple[float, ...]:
    # Sizes in steps may exceed the exact ones, by a fourth at most.
    return tuple(_size_cost(size, config, margin) for size in range(config.maximum * 2 + 1))


def _size_cost(size: int, config: StructureConfig, margin: int) -> float:
    low, high = config.low + _MARGIN, config.high - margin
    short = _PER_TOKEN * max(0, low - size)
    long = _PER_TOKEN * max(0, size - high)
    if size < config.minimum:
        short += _BELOW_MINIMUM * (2 - size / config.minimum)
    return short + long
