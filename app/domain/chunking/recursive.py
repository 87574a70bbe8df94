"""The strategy `recursive`: cuts a document's text at a hierarchy of separators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder
from app.domain.chunking.config import ChunkingConfig, Separators, StrategyName
from app.domain.chunking.flat_text import FlatText, flatten
from app.domain.chunking.tools import ChunkingTools, missing_tool
from app.domain.document import BlockKind, Book, Document


def chunk_recursive(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName = StrategyName.RECURSIVE,
    separators: Separators | None = None,
) -> Iterable[Chunk]:
    """Cut at `separators` or else those of `config`. ConfigError without a recursive splitter."""
    if tools.split_recursively is None:
        raise missing_tool(strategy, "a recursive splitter")
    flat = flatten(document, config.exclude)
    recursive = replace(config.recursive, separators=separators or config.recursive.separators)
    language = _main_language(flat) if recursive.separators is Separators.CODE else ""
    ranges = tools.split_recursively(flat.text, recursive, language)
    builder = ChunkBuilder(document, book, strategy, config, tools, exact_passages=False)
    return builder.build(flat.drafts(ranges))


def _main_language(flat: FlatText) -> str:
    """Return the language of most of the code, by characters; "" if no block names one."""
    sizes: Counter[str] = Counter()
    for each in flat.flat_blocks:
        if each.block.kind is BlockKind.CODE and each.block.language:
            sizes[each.block.language.lower()] += len(each.text)
    return max(sorted(sizes), key=lambda name: sizes[name]) if sizes else ""
