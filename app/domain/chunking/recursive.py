"""Recursive splitting at ever finer separators, by the splitter that is passed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from app.domain.chunking.assembly import ChunkBuilder
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, RecursiveConfig, Separators, StrategyName
from app.domain.chunking.flat import FlatText, flatten
from app.domain.chunking.tools import ChunkingTools, missing
from app.domain.document import BlockKind, Book, Document


def chunk_recursively(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """ConfigError if the tools have no recursive splitter."""
    return split_flat(document, book, config, tools, StrategyName.RECURSIVE, config.recursive)


def split_flat(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName,
    recursive: RecursiveConfig,
) -> Iterable[Chunk]:
    if tools.split_recursively is None:
        raise missing(strategy, "a recursive splitter")
    flat = flatten(document, config.exclude)
    language = _main_language(flat) if recursive.separators is Separators.CODE else ""
    ranges = tools.split_recursively(flat.text, recursive, language)
    builder = ChunkBuilder(document, book, strategy, config, tools, exact_passages=False)
    return builder.build(flat.drafts(ranges))


def as_markdown(recursive: RecursiveConfig) -> RecursiveConfig:
    return replace(recursive, separators=Separators.MARKDOWN)


def as_code(recursive: RecursiveConfig) -> RecursiveConfig:
    return replace(recursive, separators=Separators.CODE)


def _main_language(flat: FlatText) -> str:
    """The language that most code of the document is in, by characters; "" if none is named."""
    sizes: Counter[str] = Counter()
    for stretch in flat.stretches:
        if stretch.block.kind is BlockKind.CODE and stretch.block.language:
            sizes[stretch.block.language.lower()] += len(stretch.text)
    return max(sorted(sizes), key=lambda name: sizes[name]) if sizes else ""
