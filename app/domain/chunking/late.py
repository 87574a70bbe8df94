"""Late chunking: a document is embedded token by token, then each chunk's tokens are averaged.

After Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding
Models", 2024, arXiv:2409.04701. A document longer than the model's context goes through it window
by window; windows share some text, and a token's vector comes from the window whose edge is
farther from it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName, StructureConfig
from app.domain.chunking.structure import chunk_in_structure
from app.domain.chunking.tools import ChunkingTools, missing
from app.domain.document import Book, Document, Span


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """What a token-level model makes of a text: where each token stands, and its vector."""

    spans: Sequence[Span]
    vectors: Sequence[Sequence[float]]


EmbedTokens: TypeAlias = Callable[[str], TokenVectors]
"""The vectors of the tokens of a text that fits the model's context."""


def chunk_late(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> list[Chunk]:
    """Chunks as `structure` makes them, without overlap; `late_vectors` makes their vectors.

    ConfigError if the embedder gives no vectors of tokens.
    """
    if not tools.embeds_tokens:
        raise missing(StrategyName.LATE, "an embedder that gives a vector for each token")
    sizes = StructureConfig(**asdict(config.late), overlap=0)
    settings = replace(config, structure=sizes)
    return chunk_in_structure(document, book, settings, tools, StrategyName.LATE)


def late_vectors(
    text: str, spans: Sequence[Sequence[Span]], embed_tokens: EmbedTokens, window: int, shared: int
) -> list[array[float]]:
    """One vector of length 1 for each chunk, from the spans of `text` that it holds.

    `window` and `shared` are characters: how much goes through the model at once, and how much of
    it again with what follows. A chunk that no token lies in has a vector of zeros.
    """
    tokens = _all_tokens(text, embed_tokens, window, shared)
    return [_pooled(tokens, chunk) for chunk in spans]


def _all_tokens(
    text: str, embed_tokens: EmbedTokens, window: int, shared: int
) -> list[tuple[Span, Sequence[float]]]:
    tokens: list[tuple[Span, Sequence[float]]] = []
    start = 0
    while start < len(text):
        end = min(start + window, len(text))
        found = embed_tokens(text[start:end])
        first = start + shared // 2 if start else 0
        last = end - shared // 2 if end < len(text) else end
        tokens += [
            ((start + begin, start + stop), vector)
            for (begin, stop), vector in zip(found.spans, found.vectors, strict=True)
            if first <= start + begin < last
        ]
        if end == len(text):
            break
        start = end - shared
    return tokens


def _pooled(tokens: Sequence[tuple[Span, Sequence[float]]], spans: Sequence[Span]) -> array[float]:
    inside = [
        vector
        for (start, end), vector in tokens
        if any(begin < end and start < stop for begin, stop in spans)
    ]
    size = len(tokens[0][1]) if tokens else 0
    total = [sum(column) for column in zip(*inside, strict=True)] if inside else [0.0] * size
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return array("f", (value / length for value in total))
