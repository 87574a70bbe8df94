"""Chunking strategies by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from app.domain.chunking.builder import ChunkDraft, build_chunks
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, ChunkingTools, StrategyName, missing_tool
from app.domain.chunking.sentences import semantic, sentence
from app.domain.chunking.structure import structure, structure_of
from app.domain.chunking.windows import auto, fixed, recursive
from app.domain.document import Book, Document

Strategy: TypeAlias = Callable[[Document, ChunkingConfig, ChunkingTools], list[ChunkDraft]]
"""Cuts a document into drafts of chunks, in order and deterministically."""

_TOKEN_VECTORS = (
    "an embedder with a vector for each token, as "
    "RAG_EMBEDDER=fastembed:sentence-transformers/all-MiniLM-L6-v2 (`scripts/setup local`)"
)


def late(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Late chunking: embed the whole document, then pool the token vectors of each chunk.

    The chunks are those of `structure`, without overlap. The model gets their embedding texts in
    order as the document. ConfigError if the embedder has no token vectors.

    Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding
    Models", 2024.
    """
    if not tools.embeds_tokens:
        raise missing_tool(StrategyName.LATE, _TOKEN_VECTORS)
    return structure_of(document, config.exclude, config.late, tools)


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
    drafts = STRATEGIES[config.strategy](document, config, tools)
    chunks = build_chunks(drafts, document, book, config, tools.count_tokens)
    return _within_document(chunks) if config.strategy is StrategyName.LATE else chunks


def _within_document(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Mark chunks whose vectors depend on all of their texts."""
    marked = list(chunks)
    texts = "\x1f".join(chunk.embedding_text for chunk in marked)
    within = hashlib.sha256(texts.encode()).hexdigest()
    return [replace(chunk, pooled_within=within) for chunk in marked]
