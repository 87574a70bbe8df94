"""The strategy `fixed`: windows of a number of characters over a document's text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder
from app.domain.chunking.config import ChunkingConfig, FixedConfig, StrategyName
from app.domain.chunking.flat_text import flatten
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Book, Document, Span

_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def chunk_fixed(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Cut into windows of a fixed number of characters; the next one repeats the end."""
    flat = flatten(document, config.exclude)
    ranges = list(_windows(flat.text, config.fixed))
    builder = ChunkBuilder(document, book, StrategyName.FIXED, config, tools, exact_passages=False)
    return builder.build(flat.drafts(ranges))


def _windows(text: str, config: FixedConfig) -> Iterator[Span]:
    start = 0
    while start < len(text):
        end = min(start + config.size, len(text))
        if config.prefer_sentence_ends and end < len(text):
            half = start + (end - start) // 2
            ends = [match.end() for match in _SENTENCE_END.finditer(text, half, end)]
            end = ends[-1] if ends else end
        yield start, end
        if end == len(text):
            return
        start = max(end - config.overlap, start + 1)
