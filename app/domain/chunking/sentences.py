"""The strategies `sentence` and `semantic`, which pack whole sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.domain.chunking.builder import ChunkDraft
from app.domain.chunking.config import (
    ChunkingConfig,
    ChunkingTools,
    PackingConfig,
)
from app.domain.chunking.packer import Unit, pack
from app.domain.chunking.pieces import PROSE_KINDS, BlockSplitter, Piece
from app.domain.document import Document
from app.domain.errors import ConfigError
from app.domain.percentile import percentile

_CUT_WITHIN_TOPIC = 2.0
"""Cost of a cut between sentences of similar meaning, in the units of `packer`."""


def sentence(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Group sentences up to a target size; the next chunk repeats the last ones."""
    splitter = BlockSplitter(document.language, tools, config.sentence.maximum)
    found = _sentences(document, splitter)
    return _drafts([Unit([piece], cut=0.0) for piece in found], config.sentence, splitter)


def semantic(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Cut between sentences whose vectors are far apart. ConfigError without an embedder."""
    if tools.embed is None:
        message = "the chunking strategy 'semantic' needs an embedder"
        raise ConfigError(message)
    sizes = config.semantic
    splitter = BlockSplitter(document.language, tools, sizes.maximum)
    pieces = list(_sentences(document, splitter))
    texts = [piece.text for piece in pieces]
    # Each with its neighbours, because vectors of longer texts vary less.
    ranges = [slice(max(at - sizes.window, 0), at + sizes.window + 1) for at in range(len(texts))]
    vectors = tools.embed([" ".join(texts[one]) for one in ranges]) if texts else []
    distances = [1.0 - _cosine(one, other) for one, other in pairwise(vectors)]
    threshold = percentile(distances, sizes.percentile / 100)
    cuts = [0.0, *(0.0 if one > threshold else _CUT_WITHIN_TOPIC for one in distances)]
    units = [Unit([piece], cut) for piece, cut in zip(pieces, cuts, strict=False)]
    return _drafts(units, sizes, splitter)


def _sentences(document: Document, splitter: BlockSplitter) -> Iterator[Piece]:
    """Yield each sentence of a paragraph and each other block; split those above the limit."""
    for block in document.blocks:
        if block.kind in PROSE_KINDS:
            yield from splitter.units(block, 0, len(block.text))
        else:
            yield from splitter.pieces(block)


def _drafts(
    units: Sequence[Unit], sizes: PackingConfig, splitter: BlockSplitter
) -> list[ChunkDraft]:
    drafts: list[ChunkDraft] = []
    for run in pack(units, sizes):
        own: list[Piece] = [unit.body for unit in run]
        overlap: list[Piece] = []
        if drafts and sizes.overlap:
            room = sizes.maximum - sum(piece.tokens + piece.lead_tokens for piece in own)
            most = min(sizes.high // 2, room)
            overlap = splitter.end_of(drafts[-1].pieces, sizes.overlap, most)
        drafts.append(ChunkDraft(own, overlap))
    return drafts


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    length = math.hypot(*one) * math.hypot(*other)
    return product / length if length else 0.0
