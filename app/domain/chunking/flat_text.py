"""A document's blocks as one string, for the strategies that cut it as such."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from app.domain.chunking.chunk_builder import GAP, ChunkDraft
from app.domain.chunking.chunk_pieces import (
    UNCOUNTED,
    ChunkPiece,
    include_directives,
    is_from_other_file,
)
from app.domain.document import Block, BlockKind, Document, Span


@dataclass(frozen=True, slots=True)
class _FlatBlock:
    """A block at offset `at` of the flat text. `text` is its source, or its included text."""

    block: Block
    at: int
    text: str
    span: Span
    included: bool


@dataclass(frozen=True, slots=True)
class FlatText:
    """The source of all blocks in order, joined by the blanks between them or a blank line."""

    text: str
    flat_blocks: Sequence[_FlatBlock]

    def drafts(self, ranges: Sequence[Span]) -> list[ChunkDraft]:
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

    def _pieces(self, start: int, end: int) -> Iterator[ChunkPiece]:
        first = max(bisect_right(self.flat_blocks, start, key=attrgetter("at")) - 1, 0)
        for number in range(first, len(self.flat_blocks)):
            each = self.flat_blocks[number]
            if each.at >= end:
                return
            piece = _trimmed_piece(each, start - each.at, end - each.at)
            if piece is not None:
                yield piece


def flatten(document: Document, exclude: Sequence[BlockKind]) -> FlatText:
    source, known = document.source, include_directives(document.blocks)
    flat_blocks: list[_FlatBlock] = []
    parts: list[str] = []
    length, before = 0, -1
    for block in document.blocks:
        if block.kind in exclude:
            continue
        included = is_from_other_file(block, source)
        span = known.get(block.start, (block.start, block.end))
        text = block.text if included else source[block.start : block.end]
        blank = before >= 0 and not included and not source[before : block.start].strip()
        gap = (source[before : block.start] if blank else GAP) if parts else ""
        length += len(gap)
        flat_blocks.append(_FlatBlock(block, length, text, span, included))
        parts += (gap, text)
        length += len(text)
        before = -1 if included else block.end
    return FlatText("".join(parts), flat_blocks)


def _trimmed_piece(each: _FlatBlock, start: int, end: int) -> ChunkPiece | None:
    """Return the block's text between two offsets, without blanks at the ends; None if empty."""
    start, end = max(start, 0), min(end, len(each.text))
    text = each.text[start:end]
    start += len(text) - len(text.lstrip())
    text = text.strip()
    end = start + len(text)
    if not text:
        return None
    block, (begin, stop) = each.block, each.span
    if each.included:
        return ChunkPiece(
            block, begin, stop, text, UNCOUNTED, text == block.text, included_text=text
        )
    whole = text == each.text
    shown = block.text if whole else text
    return ChunkPiece(block, begin + start, begin + end, shown, UNCOUNTED, whole, not whole)
