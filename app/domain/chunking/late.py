"""Late chunking: chunks whose vectors are made within their document, by a token-level model.

The chunks are those of `structure` without overlap, since a vector that knows the text around its
chunk needs none. The embedder makes the vectors from the document's text and the chunks' spans.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName, StructureConfig
from app.domain.chunking.structure import chunk_in_structure
from app.domain.chunking.tools import ChunkingTools, missing
from app.domain.document import Book, Document


def chunk_late(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> list[Chunk]:
    """ConfigError if the embedder gives no vectors of tokens."""
    if not tools.embeds_tokens:
        raise missing(StrategyName.LATE, "an embedder that gives a vector for each token")
    sizes = StructureConfig(**asdict(config.late), overlap=0)
    settings = replace(config, structure=sizes, strategy=StrategyName.LATE)
    return chunk_in_structure(document, book, settings, tools, StrategyName.LATE)
