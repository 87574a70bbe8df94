"""The default strategy `structure`: packs whole blocks by section, with sentences as overlap.

Units are packed at the lowest cost, by dynamic programming. Costs: a chunk outside the target size;
a cut, by what it separates; sections that share a chunk.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.domain.chunking.builder import ChunkDraft, is_above
from app.domain.chunking.config import ChunkingTools, PackingConfig
from app.domain.chunking.pieces import BlockSplitter, Piece
from app.domain.document import Block, BlockKind, Document, Span
from app.domain.terms import CLOSING, COLONS, ends_in_sentence

# All sizes within the target size, less this margin, cost the same. So a paragraph that grows by a
# sentence moves a cut only if its chunk becomes too long.
_MARGIN = 40
_PER_TOKEN = 0.03
_BELOW_MINIMUM = 5.0
_MERGED = 0.5
"""Of each section that does not begin a chunk."""
_RELATED_CUT = 1000.0
"""Made only if a chunk would exceed its maximum otherwise."""
_ENOUGH, _LONGEST = 0.65, 1.7
"""Least and greatest overlap, as shares of the wanted one."""
_APART = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY})
"""Kinds that no other chunk repeats, and whose chunks repeat nothing."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Pieces that no cut separates: one with text, and the headings that it is directly below."""

    pieces: Sequence[Piece]
    cut: float
    """Cost of a cut before it."""
    begins_section: bool = False
    number: int = 0
    """Position of its text among the pieces of the document."""

    @property
    def body(self) -> Piece:
        return self.pieces[-1]

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)


def pack(units: Sequence[Unit], config: PackingConfig) -> list[Sequence[Unit]]:
    """Return the units of each chunk, in order.

    Several units have at most `config.maximum` tokens, the header that they repeat included.
    """
    sizes = [(unit.tokens, _rounded(unit.tokens), unit.body.lead_tokens) for unit in units]
    total, starts = [0.0], [0]  # lowest cost of all chunks up to a unit, and the last one's start
    for end in range(1, len(units) + 1):
        best, choice, tokens, size, merged = float("inf"), end - 1, 0, 0, 0.0
        for start in range(end - 1, -1, -1):
            own, rounded, lead = sizes[start]
            tokens += own
            size += rounded
            if tokens + lead > config.maximum and start < end - 1:
                break
            begins_section = units[start].begins_section
            repeated = lead or config.overlap * (not begins_section)
            cost = total[start] + merged + _size_cost(size + repeated, config)
            if cost < best:
                best, choice = cost, start
            merged += _MERGED * begins_section
        total.append(best + (units[end].cut if end < len(units) else 0.0))
        starts.append(choice)
    ranges: list[Span] = []
    end = len(units)
    while end:
        ranges.append((starts[end], end))
        end = starts[end]
    return [units[start:end] for start, end in reversed(ranges)]


def _rounded(size: int) -> int:
    """Round the size, so that a paragraph reworded to similar length moves no cut."""
    step = 16 if size >= 64 else 8 if size >= 16 else 1
    return (size + step // 2) // step * step


def _size_cost(size: int, config: PackingConfig) -> float:
    low, high = config.low + _MARGIN, config.high - _MARGIN
    outside = _PER_TOKEN * (max(0, low - size) + max(0, size - high))
    if size < config.minimum:
        outside += _BELOW_MINIMUM * (2 - size / config.minimum)
    return outside


def structure(document: Document, sizes: PackingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Chunk by whole blocks of a section; small sections share a chunk."""
    splitter = BlockSplitter(document.language, tools, sizes.maximum)
    streams = _streams([piece for block in document.blocks for piece in splitter.pieces(block)])
    runs = [run for units in streams for run in pack(units, sizes)]
    runs.sort(key=lambda run: run[0].number)
    overlaps = [[], *(_overlap(before, run, sizes, splitter) for before, run in pairwise(runs))]
    return [
        ChunkDraft([piece for unit in run for piece in unit.pieces], overlap)
        for run, overlap in zip(runs, overlaps, strict=False)
    ]


def _streams(pieces: Sequence[Piece]) -> Iterable[Sequence[Unit]]:
    """Return the units that are packed together: each piece below the headings directly above it.

    Solutions are apart, so that they can be excluded. Each glossary entry is a chunk.
    """
    streams: defaultdict[Hashable, list[Unit]] = defaultdict(list)
    headings: list[Piece] = []
    for number, piece in enumerate(pieces):
        following = pieces[number + 1].block if number + 1 < len(pieces) else None
        if following and piece.whole and is_above(piece, following.heading_path):
            headings.append(piece)
            continue
        kind = piece.block.kind
        is_entry = kind is BlockKind.GLOSSARY_ENTRY
        stream = streams[id(piece.block) if is_entry else kind is BlockKind.SOLUTION]
        begins = not stream or _begins_section(stream[-1].body.block, [*headings, piece])
        cut = 0.0 if begins else _cut(stream[-1].body.block, piece)
        stream.append(Unit([*headings, piece], cut, begins, number))
        headings = []
    return streams.values()


def _begins_section(before: Block, pieces: Sequence[Piece]) -> bool:
    first, block = pieces[0].block, pieces[-1].block
    is_other = (block.kind is BlockKind.EXERCISE) != (before.kind is BlockKind.EXERCISE)
    is_heading = first.kind is BlockKind.HEADING
    return is_heading or before.heading_path != block.heading_path or is_other


def _cut(before: Block, piece: Piece) -> float:
    related = leads_in(before, piece.block) or continues(before, piece.block)
    return _RELATED_CUT if related and piece.block is not before else piece.cut


def leads_in(before: Block, block: Block) -> bool:
    """Whether a paragraph introduces the next block: "as the following table shows:"."""
    ends = before.text.rstrip().rstrip(CLOSING).endswith(COLONS)
    return ends and before.kind is BlockKind.PARAGRAPH and block.kind is not BlockKind.HEADING


def continues(before: Block, block: Block) -> bool:
    """Whether a sentence continues across a formula or code: "we get", formula, "where x is"."""
    if block.kind is BlockKind.MATH:
        return before.kind is BlockKind.PARAGRAPH and not ends_in_sentence(before.text[-40:])
    return (
        block.kind is BlockKind.PARAGRAPH
        and before.kind in (BlockKind.MATH, BlockKind.CODE)
        and block.text[:1].islower()
    )


def _overlap(
    before: Sequence[Unit], run: Sequence[Unit], sizes: PackingConfig, splitter: BlockSplitter
) -> list[Piece]:
    """Return what a chunk repeats of the one before it: text of one section."""
    last, first = before[-1], run[0]
    adjacent = first.number - len(first.pieces) == last.number
    kinds = (first.body.block.kind, last.body.block.kind)
    if not adjacent or first.pieces[0].lead_tokens or not _APART.isdisjoint(kinds):
        return []
    # The first piece of the previous chunk is never repeated whole.
    pieces = [unit.body for unit in before[1:]]
    if not pieces and last.body.tokens > sizes.overlap * 2:
        pieces = [last.body]
    room = sizes.maximum - sum(unit.tokens for unit in run)
    most = min(int(sizes.overlap * _LONGEST), room)
    return splitter.end_of(pieces, sizes.overlap * _ENOUGH, most)
