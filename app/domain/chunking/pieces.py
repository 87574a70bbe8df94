"""Blocks as pieces of a chunk: whole, or cut between sentences, lines, items and rows."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.chunking.config import ChunkingTools
from app.domain.document import Block, BlockKind
from app.domain.fences_and_tables import is_fence_or_table, table_rows, whole_lines

# Costs of a cut in the units of `structure.pack`: 1 equals about 30 tokens above the target size.
CUT_BLOCK = 1.2
CUT_PART = 1.0
CUT_SENTENCE = 1.5
CUT_BLANK_LINE = 1.0
CUT_LINE = 6.0
CUT_WORD = 20.0

_SHORTEST = 24
"""Characters; a shorter sentence or line stays with the next one."""
_LINEWISE = frozenset({BlockKind.CODE, BlockKind.MATH})
_FORMULA = re.compile(r"\$\$[^$]{1,2000}\$\$|\$(?=\S)[^$\n]{1,400}(?<=\S)\$(?!\d)")
_CLAUSE = re.compile(r"[,;:)\u2014](?=\s)|[\u3001\uff0c\uff1b\uff1a]")
_BLANK = re.compile(r"\s+")
PROSE_KINDS = frozenset({BlockKind.PARAGRAPH, BlockKind.FOOTNOTE, BlockKind.REFERENCE})
_REPEATED_IN_PART = PROSE_KINDS | {BlockKind.LIST}
"""Kinds of which a chunk may repeat the last sentences or items."""


class Segment(NamedTuple):
    """A stretch of text between two cut points, without blanks at its end."""

    start: int
    end: int
    cut: float
    """Cost of a cut before it."""
    lead: int = 0
    """End of the header of the table that began before it; 0 if none. A chunk that begins with the
    segment repeats it."""


def _lines(text: str) -> Iterator[Segment]:
    """Yield the lines; short ones are joined to the next."""
    return _joined_short(_each_line(text))


def _each_line(text: str) -> Iterator[Segment]:
    at = 0
    after_blank = False
    for line in text.splitlines(keepends=True):
        start, end = at, at + len(line.rstrip())
        at += len(line)
        if end > start:
            yield Segment(start, end, CUT_BLANK_LINE if after_blank else CUT_LINE)
        after_blank = end == start


def _joined_short(found: Iterable[Segment]) -> Iterator[Segment]:
    """Join short segments to the next, so that ten thousand "}" lines stay cheap."""
    held: Segment | None = None
    for segment in found:
        held = segment if held is None else held._replace(end=segment.end)
        if held.end - held.start >= _SHORTEST:
            yield held
            held = None
    if held is not None:
        yield held


def _parts(
    text: str, segment: Segment, limit: int, count_tokens: Callable[[str], int]
) -> Iterator[Segment]:
    """Cut a segment at clauses, words or code points into parts of at most `limit` tokens."""
    start, end, cut, lead = segment
    while start < end:
        size = min(end - start, limit * 4)  # in some scripts one code point is several tokens
        while size > 1 and count_tokens(text[start : start + size]) > limit:
            size = size * 3 // 4
        stop = start + size
        if stop < end:
            half = start + size // 2
            clauses = [match.end() for match in _CLAUSE.finditer(text, half, stop)]
            words = [match.end() for match in _BLANK.finditer(text, half, stop)]
            stop = (clauses or words or [stop])[-1]
        tail = start + len(text[start:stop].rstrip())
        if tail > start:
            yield Segment(start, tail, cut, lead)
        cut = CUT_WORD
        start = end - len(text[stop:end].lstrip())


@dataclass(frozen=True, slots=True)
class Piece:
    """A block, or a part of one: `block.text[start:end]`."""

    block: Block
    start: int
    end: int
    tokens: int = 0
    """Tokens of the text and of a separator before it; 0 if they are not counted."""
    cut: float = CUT_BLOCK
    """Cost of a cut before this piece."""
    lead: int = 0
    """End of what a chunk repeats if it begins with this piece: the header of its table."""
    lead_tokens: int = 0

    @property
    def text(self) -> str:
        return self.block.text[self.start : self.end]

    @property
    def whole(self) -> bool:
        return self.end - self.start == len(self.block.text)


@dataclass(frozen=True, slots=True)
class BlockSplitter:
    """Splits blocks of a document in `language` into pieces of at most `limit` tokens."""

    language: str
    tools: ChunkingTools
    limit: int

    def pieces(self, block: Block) -> list[Piece]:
        """Return the block as one piece or, if it is too long, its units."""
        tokens = self.tools.count_tokens(block.text)
        if tokens > self.limit:
            return self.units(block, 0, len(block.text))
        if not tokens or block.text.isspace():
            return []
        return [Piece(block, 0, len(block.text), tokens + 1)]

    def units(self, block: Block, start: int, end: int) -> list[Piece]:
        """Return the items, rows, sentences or lines of a part of the block's text."""
        text = block.text[start:end]
        found = self._segments(text, block.kind)
        return [unit for one in found for unit in self._fitting(block, start, text, one)]

    def _segments(self, text: str, kind: BlockKind) -> Iterator[Segment]:
        """Yield the lines of code, the rows of a table, the sentences or lines of other text.

        A segment without cut points in it may be too long: see `_parts`.
        """
        if kind in PROSE_KINDS:
            return self.sentences(text)
        if kind is BlockKind.TABLE:
            return self._rows(text)
        return _lines(text) if kind in _LINEWISE else self._items(text)

    def sentences(self, text: str) -> Iterator[Segment]:
        """Yield the sentences; short ones are joined to the next, none ends inside a formula."""
        plain = _FORMULA.sub(lambda formula: "x" * len(formula[0]), text) if "$" in text else text
        spans = self.tools.split_sentences(plain, self.language)
        return _joined_short(Segment(start, end, CUT_SENTENCE) for start, end in spans)

    def _items(self, text: str) -> Iterator[Segment]:
        """Yield the lines, a fence or table as one; of those that are too long the parts."""
        at = 0
        for line in whole_lines(text):
            shown = line.rstrip()
            if self.tools.count_tokens(shown) <= self.limit:
                found = iter([Segment(0, len(shown), CUT_PART)] if shown else [])
            else:
                found = _lines(line) if is_fence_or_table(line) else self.sentences(line)
            for one in found:
                yield Segment(at + one.start, at + one.end, one.cut)
            at += len(line)

    def _rows(self, table: str) -> Iterator[Segment]:
        """Yield the lines of a table; a header of at most half a chunk is repeated below."""
        header, _ = table_rows(table)
        yield Segment(0, header, CUT_PART)
        repeats = (self.tools.count_tokens(table[:header]) + 2) * 2 <= self.limit
        for one in _lines(table[header:]):
            yield Segment(header + one.start, header + one.end, one.cut, header if repeats else 0)

    def _fitting(self, block: Block, at: int, text: str, segment: Segment) -> Iterator[Piece]:
        """Yield a segment of the text, which begins at `at` in the block, or parts that fit."""
        count, lead = self.tools.count_tokens, segment.lead
        lead_tokens = count(text[:lead]) + 2 if lead else 0
        tokens, room = count(text[segment.start : segment.end]), self.limit - lead_tokens
        for one in [segment] if tokens <= room else _parts(text, segment, room, count):
            own = tokens if one is segment else count(text[one.start : one.end])
            yield Piece(block, at + one.start, at + one.end, own + 1, one.cut, lead, lead_tokens)

    def end_of(self, pieces: Sequence[Piece], least: float, most: int) -> list[Piece]:
        """Return the end of `pieces`, of at least `least` and at most `most` tokens, as overlap.

        It is of one section and has no heading; it is less where a block is too long to be
        repeated. Of prose and lists the last sentences or items may be repeated, but not all.
        """
        chosen: list[Piece] = []
        path = pieces[-1].block.heading_path if pieces else ()
        for piece in reversed(pieces):
            block, divides = piece.block, piece.block.kind in _REPEATED_IN_PART
            if block.kind is BlockKind.HEADING or block.heading_path != path:
                break
            units = [piece] if piece.whole or divides else []
            if divides and piece.tokens > most:
                units = self.units(block, piece.start, piece.end)[1:]
            for unit in reversed(units):
                if sum(one.tokens - 1 for one in chosen) >= least or unit.tokens > most:
                    return chosen
                chosen.insert(0, unit)
                most -= unit.tokens
            if units != [piece]:
                break
        return chosen
