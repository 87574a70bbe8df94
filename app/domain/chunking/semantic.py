"""The strategy `semantic`: cuts where the meaning of neighbouring sentences differs most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder, ChunkDraft
from app.domain.chunking.chunk_pieces import (
    ChunkPiece,
    sentence_pieces,
)
from app.domain.chunking.config import ChunkingConfig, SemanticConfig, StrategyName
from app.domain.chunking.tools import ChunkingTools, missing_tool
from app.domain.document import Book, Document


def chunk_semantic(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Cut between sentences whose vectors are far apart. ConfigError without an embedder."""
    if tools.embed is None:
        raise missing_tool(StrategyName.SEMANTIC, "an embedder")
    sizes = config.semantic
    pieces = list(sentence_pieces(document, sizes.maximum, config.exclude, tools))
    vectors = (
        tools.embed(_windows([piece.text for piece in pieces], sizes.window)) if pieces else []
    )
    builder = ChunkBuilder(document, book, StrategyName.SEMANTIC, config, tools)
    return builder.build([ChunkDraft(group) for group in _grouped(pieces, vectors, sizes)])


def _windows(texts: Sequence[str], window: int) -> list[str]:
    """Join each text with its neighbours, because vectors of longer texts vary less."""
    return [" ".join(texts[max(at - window, 0) : at + window + 1]) for at in range(len(texts))]


def _grouped(
    pieces: Sequence[ChunkPiece], vectors: Sequence[Sequence[float]], sizes: SemanticConfig
) -> list[list[ChunkPiece]]:
    distances = [1.0 - _cosine(one, other) for one, other in pairwise(vectors)]
    threshold = _percentile(distances, sizes.percentile)
    groups: list[list[ChunkPiece]] = []
    size = 0
    for number, piece in enumerate(pieces):
        parts = number > 0 and distances[number - 1] > threshold and size >= sizes.minimum
        full = size + piece.tokens + 1 > sizes.maximum
        if not groups or parts or full:
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += piece.tokens + 1
    return groups


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    length = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return product / length if length else 0.0


def _percentile(values: Sequence[float], percent: float) -> float:
    """Interpolate linearly between the two nearest ranks, as NumPy does by default."""
    if not values:
        return 0.0
    ranked = sorted(values)
    place = (len(ranked) - 1) * min(percent, 100.0) / 100
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)
