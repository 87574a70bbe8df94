"""The strategy `semantic`: cuts where the meaning of neighbouring sentences differs most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from app.domain.chunking.builder import ChunkBuilder, ChunkDraft
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, SemanticConfig, StrategyName
from app.domain.chunking.pieces import BlockSplitter, Piece
from app.domain.chunking.sentence import sentence_pieces
from app.domain.chunking.tools import ChunkingTools, missing_tool
from app.domain.document import Book, Document


def chunk_semantic(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Cut between sentences whose vectors are far apart. ConfigError without an embedder."""
    if tools.embed is None:
        raise missing_tool(StrategyName.SEMANTIC, "an embedder")
    sizes = config.semantic
    pieces = list(sentence_pieces(BlockSplitter(document, tools, sizes.maximum), config.exclude))
    texts = [piece.text for piece in pieces]
    # Each with its neighbours, because vectors of longer texts vary less.
    ranges = [slice(max(at - sizes.window, 0), at + sizes.window + 1) for at in range(len(texts))]
    vectors = tools.embed([" ".join(texts[one]) for one in ranges]) if texts else []
    builder = ChunkBuilder(document, book, StrategyName.SEMANTIC, config, tools)
    return builder.build([ChunkDraft(group) for group in _grouped(pieces, vectors, sizes)])


def _grouped(
    pieces: Sequence[Piece], vectors: Sequence[Sequence[float]], sizes: SemanticConfig
) -> list[list[Piece]]:
    distances = [1.0 - _cosine(one, other) for one, other in pairwise(vectors)]
    threshold = _percentile(distances, sizes.percentile)
    groups: list[list[Piece]] = []
    size = 0
    for number, piece in enumerate(pieces):
        parts = number and distances[number - 1] > threshold and size >= sizes.minimum
        if not number or parts or size + piece.tokens + 1 > sizes.maximum:
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += piece.tokens + 1
    return groups


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    length = math.hypot(*one) * math.hypot(*other)
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
