"""A document's indexable text as one string, for strategies that cut anywhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.chunking.assembly import GAP, Draft
from app.domain.chunking.pieces import UNCOUNTED, Piece, directives, is_pulled
from app.domain.document import Block, BlockKind, Document, Span


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A block's place in the flat text: its source, or what was pulled in for it."""

    block: Block
    at: int
    text: str
    span: Span
    pulled: bool


@dataclass(frozen=True, slots=True)
class FlatText:
    """The source of all blocks in order, joined by what stands between, or a blank line."""

    text: str
    stretches: Sequence[_Stretch]
    starts: Sequence[int]

    def drafts(self, ranges: Sequence[Span]) -> list[Draft]:
        """Chunks of these half-open ranges of `text`, ascending; empty ones are left out."""
        drafts: list[Draft] = []
        before = 0
        for start, end in ranges:
            overlap = list(self._pieces(start, min(before, end)))
            own = list(self._pieces(max(start, before), end))
            if own:
                drafts.append(Draft(own, overlap))
                before = end
        return drafts

    def _pieces(self, start: int, end: int) -> Iterator[Piece]:
        first = max(bisect_right(self.starts, start) - 1, 0)
        for number in range(first, len(self.stretches)):
            stretch = self.stretches[number]
            if stretch.at >= end:
                return
            piece = _piece(stretch, start - stretch.at, end - stretch.at)
            if piece is not None:
                yield piece


def flatten(document: Document, exclude: Sequence[BlockKind]) -> FlatText:
    source, known = document.source, directives(document.blocks)
    stretches: list[_Stretch] = []
    parts: list[str] = []
    length, before = 0, -1
    for block in document.blocks:
        if block.kind in exclude:
            continue
        pulled = is_pulled(block, source)
        span = known.get(block.start, (block.start, block.end))
        text = block.text if pulled else source[block.start : block.end]
        blank = before >= 0 and not pulled and not source[before : block.start].strip()
        gap = (source[before : block.start] if blank else GAP) if parts else ""
        length += len(gap)
        stretches.append(_Stretch(block, length, text, span, pulled))
        parts += (gap, text)
        length += len(text)
        before = -1 if pulled else block.end
    starts = [stretch.at for stretch in stretches]
    return FlatText("".join(parts), stretches, starts)


def _piece(stretch: _Stretch, start: int, end: int) -> Piece | None:
    """The part of the block between two offsets into its text, blanks at its ends left out."""
    start, end = max(start, 0), min(end, len(stretch.text))
    text = stretch.text[start:end]
    start += len(text) - len(text.lstrip())
    text = text.strip()
    end = start + len(text)
    if not text:
        return None
    block, (begin, stop) = stretch.block, stretch.span
    if stretch.pulled:
        return Piece(block, begin, stop, text, UNCOUNTED, text == block.text, pulled=text)
    whole = text == stretch.text
    shown = block.text if whole else text
    return Piece(block, begin + start, begin + end, shown, UNCOUNTED, whole, not whole)
