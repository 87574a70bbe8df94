"""Chunking strategies by name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.chunking.sentences import chunk_semantic, chunk_sentence
from app.domain.chunking.structure import chunk_structure
from app.domain.chunking.tools import ChunkingTools, missing_tool
from app.domain.chunking.windows import chunk_auto, chunk_fixed, chunk_recursive
from app.domain.document import Book, Document
from app.domain.errors import BookError, InputError, SettingError

Strategy: TypeAlias = Callable[[Document, Book, ChunkingConfig, ChunkingTools], Iterable[Chunk]]
"""Splits a document into chunks, in order and deterministically; it may yield lazily."""

_TOKEN_VECTORS = (
    "an embedder with a vector for each token, as "
    "RAG_EMBEDDER=fastembed:sentence-transformers/all-MiniLM-L6-v2 (`scripts/setup local`)"
)


def chunk_late(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Late chunking: embed the whole document, then pool the token vectors of each chunk.

    The chunks are those of `structure`, without overlap. The model gets their embedding texts in
    order as the document. ConfigError if the embedder has no token vectors.

    Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding
    Models", 2024.
    """
    if not tools.embeds_tokens:
        raise missing_tool(StrategyName.LATE, _TOKEN_VECTORS)
    chunks = list(chunk_structure(document, book, config, tools, StrategyName.LATE))
    texts = "\x1f".join(chunk.embedding_text for chunk in chunks)
    within = hashlib.sha256(texts.encode()).hexdigest()
    return [replace(chunk, pooled_within=within) for chunk in chunks]


STRATEGIES: Mapping[StrategyName, Strategy] = {
    StrategyName.STRUCTURE: chunk_structure,
    StrategyName.FIXED: chunk_fixed,
    StrategyName.RECURSIVE: chunk_recursive,
    StrategyName.SENTENCE: chunk_sentence,
    StrategyName.AUTO: chunk_auto,
    StrategyName.SEMANTIC: chunk_semantic,
    StrategyName.LATE: chunk_late,
}


def _line_of(document: Document, error: InputError) -> int:
    """Line of the wrong setting in the front matter; 1 if it is not found."""
    keys = error.settings if isinstance(error, SettingError) else ("rag_strategy",)
    source = document.source
    found = re.search(rf"^[ \t\"']*(?:{'|'.join(keys)})\b", source, re.M)
    return source.count("\n", 0, found.start()) + 1 if found else 1


def stream_chunks(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Chunk the document by the strategy of its front matter or else of `config`.

    BookError, naming the file, if the front matter has invalid settings.
    """
    try:
        settings = config.with_settings(document.settings).scaled()
    except InputError as error:
        raise BookError(str(error), document.file, _line_of(document, error)) from error
    return STRATEGIES[settings.strategy](document, book, settings, tools)
