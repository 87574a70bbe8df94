"""Cuts where the meaning of neighbouring sentences parts, by the distance of their vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from app.domain.chunking.assembly import ChunkBuilder, Draft
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, SemanticConfig, StrategyName
from app.domain.chunking.pieces import Piece
from app.domain.chunking.tools import ChunkingTools, missing
from app.domain.chunking.units import units_of
from app.domain.document import Book, Document


def chunk_by_meaning(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """ConfigError if the tools have no embedder."""
    if tools.embed is None:
        raise missing(StrategyName.SEMANTIC, "an embedder")
    sizes = config.semantic
    units = list(units_of(document, sizes.maximum, config.exclude, tools))
    vectors = tools.embed(_windows([unit.text for unit in units], sizes.window)) if units else []
    builder = ChunkBuilder(document, book, StrategyName.SEMANTIC, config, tools)
    return builder.build([Draft(group) for group in _grouped(units, vectors, sizes)])


def _windows(texts: Sequence[str], window: int) -> list[str]:
    """Each text between its neighbours, for a steadier vector."""
    return [" ".join(texts[max(at - window, 0) : at + window + 1]) for at in range(len(texts))]


def _grouped(
    units: Sequence[Piece], vectors: Sequence[Sequence[float]], sizes: SemanticConfig
) -> list[list[Piece]]:
    distances = [1.0 - _cosine(one, other) for one, other in pairwise(vectors)]
    threshold = _percentile(distances, sizes.percentile)
    groups: list[list[Piece]] = []
    size = 0
    for number, unit in enumerate(units):
        parts = number > 0 and distances[number - 1] > threshold and size >= sizes.minimum
        full = size + unit.tokens + 1 > sizes.maximum
        if not groups or parts or full:
            groups.append([])
            size = 0
        groups[-1].append(unit)
        size += unit.tokens + 1
    return groups


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    length = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return product / length if length else 0.0


def _percentile(values: Sequence[float], percent: float) -> float:
    """Linear interpolation between the two nearest ranks, as NumPy's default."""
    if not values:
        return 0.0
    ranked = sorted(values)
    place = (len(ranked) - 1) * min(percent, 100.0) / 100
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)
