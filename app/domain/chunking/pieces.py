"""Blocks as pieces of a chunk: whole, or split where they are too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from app.domain.chunking.cut_points import CUT_PART, GLUE, segments
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Document, Part, Span
from app.domain.fast_dataclass import fast_dataclass

PROSE_KINDS = frozenset({BlockKind.PARAGRAPH, BlockKind.FOOTNOTE, BlockKind.REFERENCE})
_REPEATED_IN_PART = PROSE_KINDS | {BlockKind.LIST}
"""Kinds of which a chunk may repeat the last sentences or items."""
_MAX_GAP = 1_000
"""Characters between the texts of two parts, such as the rule below a table's header."""


@fast_dataclass(frozen=True, slots=True)
class Piece:
    """A block, or a part of one: `block.text[offset:end]`."""

    block: Block
    offset: int
    end: int
    span: Span
    """The source of the text; see `trimmed_piece`."""
    tokens: int = 0
    """Tokens of the text; 0 if they are not counted."""
    cut: float = 0.0
    """Cost of a cut before this piece; see `cut_points`."""
    head: Piece | None = None
    """What a chunk repeats if it begins with this piece: the header of its table, the first line of
    its fence, or the lead-in of its list, which is another block."""

    @property
    def text(self) -> str:
        return self.block.text[self.offset : self.end]

    @property
    def whole(self) -> bool:
        return self.end - self.offset == len(self.block.text)

    def with_cut(self, cut: float) -> Piece:
        """Return a copy with this cost; `dataclasses.replace` takes ten times as long."""
        return Piece(self.block, self.offset, self.end, self.span, self.tokens, cut, self.head)


class _Range(NamedTuple):
    """A range of a block's text, and its source."""

    start: int
    end: int
    kind: BlockKind
    span: Span


def trimmed_piece(block: Block, start: int, end: int, within: _Range | None = None) -> Piece:
    """Return a piece without blanks at its end and blank lines before it; its tokens are not
    counted.

    Its source is exact if the text of the range is its source, as on a page. Mark-up, which only
    the source has, is taken to be spread evenly.
    """
    text = block.text[start:end]
    lines = text.lstrip("\r\n")
    start += len(text) - len(lines)
    end = start + len(lines.rstrip())
    first, last, _, span = within or (0, len(block.text), block.kind, (block.start, block.end))
    length, size = max(last - first, 1), span[1] - span[0]
    begin = span[0] + (start - first) * size // length
    return Piece(block, start, end, (begin, span[0] - (first - end) * size // length))


@dataclass(frozen=True, slots=True)
class BlockSplitter:
    """Splits the blocks of a document into pieces of at most `limit` tokens."""

    document: Document
    tools: ChunkingTools
    limit: int

    def pieces(self, block: Block) -> list[Piece]:
        """Return the block as one piece or, if it is too long, split at its parts and sentences."""
        tokens, span = self.tools.count_tokens(block.text), (block.start, block.end)
        if tokens > self.limit:
            ranges = _ranges(block, 0, len(block.text), span)
            return self._table(block) or list(self._split(block, ranges))
        if not tokens or block.text.isspace():
            return []
        return [Piece(block, 0, len(block.text), span, tokens)]

    def units(self, piece: Piece) -> list[Piece]:
        """Return the items, rows, sentences or lines of a piece, longer ones cut at the limit."""
        ranges = _ranges(piece.block, piece.offset, piece.end, piece.span)
        return list(self._split(piece.block, ranges, finer=len(ranges) == 1))

    def end_of(
        self,
        pieces: Sequence[Piece],
        least: float,
        most: int,
        in_part: Set[BlockKind] = _REPEATED_IN_PART,
    ) -> list[Piece]:
        """Return the end of `pieces`, of at least `least` and at most `most` tokens, as overlap.

        Less if a heading comes before. Of a piece that is too long and of a kind of `in_part`, it
        has the last sentences, items or lines; of another one nothing.
        """
        chosen: list[Piece] = []
        size = 0
        for piece in reversed(pieces):
            kind, divides = piece.block.kind, piece.block.kind in in_part
            if size >= least or kind is BlockKind.HEADING or not (piece.whole or divides):
                break
            if size + piece.tokens > most:
                last = self._last_units(piece, least - size, most - size) if divides else []
                return [*last, *chosen]
            chosen.insert(0, replace(piece, head=None) if piece.head else piece)
            size += piece.tokens
        return chosen

    def _last_units(self, piece: Piece, least: float, most: int) -> list[Piece]:
        """Return the last units of a piece as one piece; nothing if the last one is too long."""
        units = self.units(piece)
        first, size = len(units), 0
        while first > 1 and size < least and size + units[first - 1].tokens <= most:
            first -= 1
            size += units[first].tokens
        if first == len(units):
            return []
        begin, end = units[first], units[-1]
        span = (begin.span[0], max(begin.span[1], end.span[1]))
        return [self._counted(Piece(piece.block, begin.offset, end.end, span))]

    def _table(self, block: Block) -> list[Piece]:
        """Return the header and the rows, which have it as head; nothing if that is not possible.

        It is not if the block is no table or its header takes more than half of a chunk.
        """
        rows = [start for start, part in _placed(block) if not part.header]
        if block.kind is not BlockKind.TABLE or not rows or not block.parts[0].header:
            return []
        last = max(part.end for part in block.parts if part.header)
        above = _Range(0, rows[0], block.kind, (block.start, last))
        header = self._counted(trimmed_piece(block, 0, rows[0], above))
        if header.tokens * 2 > self.limit:
            return []
        below = replace(self, limit=self.limit - header.tokens - 2)
        ranges = _ranges(block, rows[0], len(block.text), (last, block.end))
        first, *others = (replace(piece, head=header) for piece in below._split(block, ranges))
        return [header, first.with_cut(GLUE), *others]

    def _split(
        self, block: Block, ranges: Iterable[_Range], finer: bool = False
    ) -> Iterator[Piece]:
        """Yield pieces that together have every non-blank character of the ranges.

        They are the ranges themselves unless these are too long or `finer` ones are wanted.
        """
        language = self.document.language
        for one in ranges:
            piece = self._counted(trimmed_piece(block, one.start, one.end, one))
            if piece.tokens <= self.limit and not finer:
                yield piece.with_cut(CUT_PART)
                continue
            text = block.text[one.start : one.end]
            for start, end, cut, head in segments(text, one.kind, language, self.limit, self.tools):
                piece = trimmed_piece(block, one.start + start, one.start + end, one)
                piece = self._counted(piece).with_cut(cut)
                if head:
                    first = trimmed_piece(block, one.start + head[0], one.start + head[1], one)
                    piece = replace(piece, head=self._counted(first))
                yield piece

    def _counted(self, piece: Piece) -> Piece:
        return replace(piece, tokens=self.tools.count_tokens(piece.text))


def _ranges(block: Block, start: int, end: int, span: Span) -> list[_Range]:
    """Return a range for each part in `start:end`, with the text up to the next one."""
    parts = [(at, part) for at, part in _placed(block) if start <= at < end]
    if not parts:
        return [_Range(start, end, block.kind, span)]
    bounds = pairwise([start, *(at for at, _ in parts[1:]), end])
    return [
        _Range(
            first,
            last,
            part.kind,
            (
                part.start if first else block.start,
                part.end if last < len(block.text) else block.end,
            ),
        )
        for (first, last), (_, part) in zip(bounds, parts, strict=True)
    ]


def _placed(block: Block) -> Iterator[tuple[int, Part]]:
    """Yield the parts whose texts occur in order in the block's text, with their offsets."""
    at = 0
    for part in block.parts:
        text = part.text.strip()
        found = block.text.find(text, at, at + len(text) + _MAX_GAP) if text else -1
        if found >= 0:
            yield found, part
            at = found + len(text)
