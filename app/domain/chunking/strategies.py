"""Chunking strategies by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.domain.chunking.builder import ChunkDraft, build_chunks
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, ChunkingTools, StrategyName
from app.domain.chunking.sentences import semantic, sentence
from app.domain.chunking.structure import structure, structure_of
from app.domain.chunking.windows import auto, fixed, recursive
from app.domain.document import Block, BlockKind, Book, Document

Strategy: TypeAlias = Callable[[Document, ChunkingConfig, ChunkingTools], list[ChunkDraft]]
"""Cuts a document into drafts of chunks, in order and deterministically."""


def late(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Late chunking: embed the whole document, then pool the token vectors of each chunk.

    The chunks are those of `structure`, without overlap. The model gets their embedding texts in
    order as the document.

    Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding
    Models", 2024.
    """
    return structure_of(document, config.late, tools)


STRATEGIES: Mapping[StrategyName, Strategy] = {
    StrategyName.STRUCTURE: structure,
    StrategyName.FIXED: fixed,
    StrategyName.RECURSIVE: recursive,
    StrategyName.SENTENCE: sentence,
    StrategyName.AUTO: auto,
    StrategyName.SEMANTIC: semantic,
    StrategyName.LATE: late,
}


def stream_chunks(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Chunk the document by the strategy of `config`."""
    blocks = _without(document.blocks, config.exclude) if config.exclude else document.blocks
    drafts = STRATEGIES[config.strategy](replace(document, blocks=blocks), config, tools)
    chunks = build_chunks(drafts, document, book, config, tools.count_tokens)
    return _within_document(chunks) if config.strategy is StrategyName.LATE else chunks


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


def _within_document(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Mark chunks whose vectors depend on all of their texts."""
    marked = list(chunks)
    texts = "\x1f".join(chunk.embedding_text for chunk in marked)
    within = hashlib.sha256(texts.encode()).hexdigest()
    return [replace(chunk, pooled_within=within) for chunk in marked]
