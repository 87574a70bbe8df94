"""Late chunking: chunks whose vectors are made within their document, by a token-level model.

The chunks are those of `structure` without overlap, since a vector that knows the text around its
chunk needs none. What goes through the model as the document is the chunks' texts in order, below
their headings: as a reader sees them, without mark-up, and with what an include pulled in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, replace

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName, StructureConfig
from app.domain.chunking.structure import chunk_in_structure
from app.domain.chunking.tools import ChunkingTools, missing
from app.domain.document import Book, Document

_NEEDED = (
    "an embedder that gives a vector for each token: set RAG_EMBEDDER=minilm, "
    "of the extra `late` (pip install 'textbook-rag[late]')"
)


def chunk_late(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """ConfigError if the embedder gives no vectors of tokens."""
    if not tools.embeds_tokens:
        raise missing(StrategyName.LATE, _NEEDED)
    sizes = StructureConfig(**asdict(config.late), overlap=0)
    settings = replace(config, structure=sizes, strategy=StrategyName.LATE)
    chunks = list(chunk_in_structure(document, book, settings, tools, StrategyName.LATE))
    within = _hash(chunk.embedding_text for chunk in chunks)
    return [replace(chunk, pooled_within=within) for chunk in chunks]


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()
