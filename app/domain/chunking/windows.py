"""The strategies `fixed`, `recursive` and `auto`, which cut a document's text as one string."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.domain.chunking.builder import GAP, ChunkDraft
from app.domain.chunking.config import (
    ChunkingConfig,
    ChunkingTools,
    FixedConfig,
    Separators,
    missing_tool,
)
from app.domain.chunking.pieces import Piece
from app.domain.chunking.sentences import sentence
from app.domain.document import Block, BlockKind, Document, Span
from app.domain.fences_and_tables import fence_lines
from app.domain.scripts import word_count

_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_MARKUP = frozenset({BlockKind.HEADING, BlockKind.LIST, BlockKind.TABLE, BlockKind.CODE})
_MARKED = 0.02
"""Least share of headings, lists, tables and code among blocks to cut it as Markdown."""


def fixed(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:  # noqa: ARG001 - as all strategies
    """Cut into windows of a fixed number of characters; the next one repeats the end."""
    flat = _FlatText.of(document, config.exclude)
    return flat.drafts(_windows(flat.text, config.fixed))


def recursive(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Cut at a hierarchy of separators. ConfigError without a recursive splitter."""
    if tools.split_recursively is None:
        raise missing_tool(config.strategy, "a recursive splitter")
    markdown = config.recursive.separators is Separators.MARKDOWN
    flat = _FlatText.of(document, config.exclude, markdown)
    return flat.drafts(tools.split_recursively(flat.text, config.recursive))


def auto(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Keep short documents whole; cut those with mark-up recursively, others by sentences."""
    blocks = document.blocks
    if sum(word_count(block.text) for block in blocks) < config.auto.whole_below_words:
        flat = _FlatText.of(document, config.exclude)
        return flat.drafts([(0, len(flat.text))])
    if sum(block.kind in _MARKUP for block in blocks) < _MARKED * len(blocks):
        return sentence(document, config, tools)
    sizes = replace(config.recursive, separators=Separators.MARKDOWN)
    return recursive(document, replace(config, recursive=sizes), tools)


@dataclass(frozen=True, slots=True)
class _FlatText:
    """The texts of all blocks in order, joined by blank lines."""

    text: str
    blocks: Sequence[Block]
    starts: Sequence[int]
    """Offset in `text` of each block's text."""

    @classmethod
    def of(
        cls, document: Document, exclude: Sequence[BlockKind], markdown: bool = False
    ) -> _FlatText:
        """With `markdown`, marks of headings and code are between the texts, to be cut at."""
        blocks = [one for one in document.blocks if one.text and one.kind not in exclude]
        texts: list[str] = []
        starts: list[int] = []
        at = 0
        for block in blocks:
            before, after = _marks(block) if markdown else ("", "")
            starts.append(at + len(before))
            texts.append(before + block.text + after)
            at += len(texts[-1]) + len(GAP)
        return cls(GAP.join(texts), blocks, starts)

    def drafts(self, ranges: Iterable[Span]) -> list[ChunkDraft]:
        """Return chunks of these half-open, ascending ranges of `text`; empty ones are dropped."""
        drafts: list[ChunkDraft] = []
        before = 0
        for start, end in ranges:
            overlap = list(self._pieces(start, min(before, end)))
            own = list(self._pieces(max(start, before), end))
            if own:
                drafts.append(ChunkDraft(own, overlap))
                before = end
        return drafts

    def _pieces(self, start: int, end: int) -> Iterator[Piece]:
        for number in range(max(bisect_right(self.starts, start) - 1, 0), len(self.blocks)):
            block, at = self.blocks[number], self.starts[number]
            if at >= end:
                return
            text = block.text[: end - at].rstrip()
            first = max(start - at, 0)
            first += len(text[first:]) - len(text[first:].lstrip("\r\n"))
            if first < len(text):
                yield Piece(block, first, len(text))


def _windows(text: str, config: FixedConfig) -> Iterator[Span]:
    start = end = 0
    while end < len(text):
        end = min(start + config.size, len(text))
        if config.prefer_sentence_ends and end < len(text):
            half = start + (end - start) // 2
            end = max((one.end() for one in _SENTENCE_END.finditer(text, half, end)), default=end)
        yield start, end
        start = max(end - config.overlap, start + 1)


def _marks(block: Block) -> tuple[str, str]:
    """Return what Markdown writes before and after the block's text."""
    if block.kind is BlockKind.HEADING:
        return "#" * (block.level or 6) + " ", ""
    if block.kind is BlockKind.CODE:
        opening, closing = fence_lines(block.text, block.language)
        return f"{opening}\n", f"\n{closing}"
    return "", ""
