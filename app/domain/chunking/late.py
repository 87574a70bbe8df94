"""The strategy `late`: the chunks of `structure`, embedded within their document."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, replace

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName, StructureConfig
from app.domain.chunking.structure import chunk_structure
from app.domain.chunking.tools import ChunkingTools, missing_tool
from app.domain.document import Book, Document

_NEEDED = (
    "an embedder with a vector for each token: set RAG_EMBEDDER=minilm "
    "and install the extra `late` (pip install 'textbook-rag[late]')"
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
        raise missing_tool(StrategyName.LATE, _NEEDED)
    sizes = StructureConfig(**asdict(config.late), overlap=0)
    settings = replace(config, structure=sizes, strategy=StrategyName.LATE)
    chunks = list(chunk_structure(document, book, settings, tools, StrategyName.LATE))
    within = _hash(chunk.embedding_text for chunk in chunks)
    return [replace(chunk, pooled_within=within) for chunk in chunks]


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()
