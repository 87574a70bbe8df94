"""Chunking strategies by name; `auto`, and those that pack whole sentences."""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

from app.domain.chunking.builder import ChunkDraft, build_chunks
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import (
    ChunkingConfig,
    ChunkingTools,
    PackingConfig,
    SemanticConfig,
    Separators,
    StrategyName,
)
from app.domain.chunking.pieces import PROSE_KINDS, BlockSplitter, Piece
from app.domain.chunking.structure import Unit, pack, structure
from app.domain.chunking.windows import cut, fixed, recursive
from app.domain.document import Block, BlockKind, Book, Document
from app.domain.errors import ConfigError
from app.domain.scripts import word_count

_CUT_WITHIN_TOPIC = 2.0
"""Cost of a cut between sentences of similar meaning, in the units of `structure.pack`."""
_MARKUP = frozenset({BlockKind.HEADING, BlockKind.LIST, BlockKind.TABLE, BlockKind.CODE})
_MARKED = 0.02
"""Least share of headings, lists, tables and code among blocks to cut it as Markdown."""


def auto(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Keep short documents whole; cut those with mark-up recursively, others by sentences."""
    blocks = document.blocks
    if sum(word_count(block.text) for block in blocks) < config.auto.whole_below_words:
        return cut(document, lambda text: [(0, len(text))])
    if sum(block.kind in _MARKUP for block in blocks) < _MARKED * len(blocks):
        return sentence(document, config.sentence, tools)
    markdown = replace(config.recursive, separators=Separators.MARKDOWN)
    return recursive(document, markdown, tools)


def sentence(document: Document, sizes: PackingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Group sentences up to a target size; the next chunk repeats the last ones."""
    splitter = BlockSplitter(document.language, tools, sizes.maximum)
    found = _sentences(document, splitter)
    return _drafts([Unit([piece], cut=0.0) for piece in found], sizes, splitter)


def semantic(document: Document, sizes: SemanticConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Cut between sentences whose vectors are far apart. ConfigError without an embedder."""
    if tools.embed is None:
        raise ConfigError("the chunking strategy 'semantic' needs an embedder")
    splitter = BlockSplitter(document.language, tools, sizes.maximum)
    pieces = list(_sentences(document, splitter))
    texts = [piece.text for piece in pieces]
    # Each with its neighbours, because vectors of longer texts vary less.
    ranges = [slice(max(at - sizes.window, 0), at + sizes.window + 1) for at in range(len(texts))]
    vectors = tools.embed([" ".join(texts[one]) for one in ranges]) if texts else []
    distances = [1.0 - _cosine(one, other) for one, other in pairwise(vectors)]
    near = math.ceil(len(distances) * sizes.percentile / 100)
    threshold = (sorted(distances) or [0.0])[max(near, 1) - 1]
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


Strategy: TypeAlias = Callable[[Document, Any, ChunkingTools], list[ChunkDraft]]
"""Cuts a document into drafts of chunks, in order and deterministically; by its own sizes."""
STRATEGIES: Mapping[StrategyName, Strategy] = {
    StrategyName.STRUCTURE: structure,
    StrategyName.FIXED: fixed,
    StrategyName.RECURSIVE: recursive,
    StrategyName.SENTENCE: sentence,
    StrategyName.SEMANTIC: semantic,
    # Embeds the whole document, the chunks' embedding texts in order, then pools the token vectors
    # of each chunk. Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context
    # Embedding Models", 2024.
    StrategyName.LATE: structure,
}


def stream_chunks(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Chunk the document by the strategy of `config`."""
    blocks = _without(document.blocks, config.exclude) if config.exclude else document.blocks
    kept, name = replace(document, blocks=blocks), config.strategy
    if name is StrategyName.AUTO:
        drafts = auto(kept, config, tools)
    else:
        drafts = STRATEGIES[name](kept, getattr(config, name), tools)
    chunks = build_chunks(drafts, document, book, config, tools.count_tokens)
    if name is not StrategyName.LATE:
        return chunks
    made = [*chunks]  # whose vectors depend on all of their texts
    texts = "\x1f".join(chunk.embedding_text for chunk in made)
    within = hashlib.sha256(texts.encode()).hexdigest()
    return [replace(chunk, pooled_within=within) for chunk in made]


def _without(blocks: Sequence[Block], exclude: Sequence[BlockKind]) -> tuple[Block, ...]:
    """Leave out blocks of these kinds, and the headings of sections that have nothing else.

    A heading without anything below it stays: it may be all the text that a page has of a question.
    """
    body = [block for block in blocks if block.kind is not BlockKind.HEADING]
    kept = _paths(block for block in body if block.kind not in exclude)
    left_out = _paths(body) - kept
    return tuple(
        block
        for block in blocks
        if block.kind not in exclude
        and not (block.kind is BlockKind.HEADING and block.heading_path in left_out)
    )


def _paths(blocks: Iterable[Block]) -> set[tuple[str, ...]]:
    paths = {block.heading_path for block in blocks}
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}
