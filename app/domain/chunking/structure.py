"""The default strategy `structure`: packs whole blocks by section, with sentences as overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from app.domain.chunking.builder import (
    ChunkBuilder,
    ChunkDraft,
    common_path,
    is_above,
    shown_pieces,
    text_of,
)
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, OverlapScope, StrategyName, StructureConfig
from app.domain.chunking.cut_points import GLUE, continues, leads_in
from app.domain.chunking.packer import PackItem, pack
from app.domain.chunking.pieces import BlockSplitter, Piece
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Book, Document
from app.domain.fast_dataclass import fast_dataclass

# Costs of a cut, in the units of `packer`, by the level of the heading after it.
_HEADING_CUTS = {1: 0.0, 2: 0.0, 3: 0.2}
_DEEPER_HEADING_CUT = 0.4
_BLOCK_CUT = 1.2
# A cut between text and exercises is as good as one at a heading.
_EXERCISE_CUT = 0.2
# Cuts made only if a chunk would exceed its maximum otherwise.
_EMPTY_SECTION_CUT = 100.0
_HEADING_GLUE = 3000.0
_LONGEST_LEAD_IN = 120
_SLACK_STEP = 24
_ENOUGH, _LONGEST = 0.65, 1.7
"""Least and greatest overlap, as shares of the wanted one."""
_APART = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY})
"""Kinds that no other chunk repeats, and whose chunks repeat nothing."""


@fast_dataclass(frozen=True, slots=True)
class _Placed:
    """A piece in its place among the pieces that are packed together."""

    piece: Piece
    number: int
    """Position among all pieces of the file."""
    level: int
    """Level of the highest heading since the previous piece; 0: same section."""

    @property
    def kind(self) -> BlockKind:
        return self.piece.block.kind


def chunk_structure(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName = StrategyName.STRUCTURE,
) -> Iterable[Chunk]:
    """Chunk by whole blocks of a section; small sections share a chunk."""
    packing = _FilePacking(
        BlockSplitter(document, tools, config.structure.maximum), config.structure
    )
    blocks = _without(document.blocks, config.exclude)
    return ChunkBuilder(document, book, strategy, config, tools).build(packing.drafts(blocks))


def _without(blocks: Sequence[Block], exclude: Sequence[BlockKind]) -> list[Block]:
    """Leave out blocks of these kinds, and the headings of sections that have nothing else."""
    body = [block for block in blocks if block.kind is not BlockKind.HEADING]
    kept = _paths(block for block in body if block.kind not in exclude)
    left_out = _paths(body) - kept
    return [
        block
        for block in blocks
        if block.kind not in exclude
        and not (block.kind is BlockKind.HEADING and block.heading_path in left_out)
    ]


def _paths(blocks: Iterable[Block]) -> set[tuple[str, ...]]:
    paths = {block.heading_path for block in blocks}
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


@dataclass(frozen=True, slots=True)
class _FilePacking:
    """Packs the blocks of one file."""

    splitter: BlockSplitter
    config: StructureConfig

    def drafts(self, blocks: Sequence[Block]) -> list[ChunkDraft]:
        """Pack solutions apart from other text, so that they can be excluded; each glossary entry
        is a chunk.
        """
        runs: list[list[_Placed]] = []
        streams: dict[bool, list[_Placed]] = {False: [], True: []}
        levels = {False: 0, True: 0}
        number = 0
        for kind, level, pieces in self._sections(blocks):
            # The highest level since the last piece of each stream; 0 is none.
            levels = {name: min(one, level) or max(one, level) for name, one in levels.items()}
            stream = kind is BlockKind.SOLUTION
            first = levels[stream]
            placed = [
                _Placed(one, number + at, 0 if at else first) for at, one in enumerate(pieces)
            ]
            number += len(placed)
            if kind is BlockKind.GLOSSARY_ENTRY:
                runs += self._pack(placed)
            else:
                streams[stream] += placed
                levels[stream] = 0
        runs += [*self._pack(streams[False]), *self._pack(streams[True])]
        runs.sort(key=lambda run: run[0].number)
        overlaps = [[], *(self._overlap(before, run) for before, run in pairwise(runs))]
        return [
            ChunkDraft([one.piece for one in run], overlap)
            for run, overlap in zip(runs, overlaps, strict=False)
        ]

    def _sections(self, blocks: Sequence[Block]) -> Iterator[tuple[BlockKind, int, list[Piece]]]:
        """Yield the kind of each block, the level of the section that it begins or 0, and its
        pieces after those of the headings before it.
        """
        headings: list[Block] = []
        path = blocks[0].heading_path if blocks else ()
        for block in blocks:
            if block.kind is BlockKind.HEADING:
                headings.append(block)
                continue
            level = min((heading.level or 6 for heading in headings), default=0)
            if block.heading_path != path:
                level = level or 6  # a container ended, and with it its sections
                path = block.heading_path
            if pieces := self._glued_to_headings(headings, self.splitter.pieces(block)):
                yield block.kind, level, pieces
            headings = []
        if headings:
            level = min(heading.level or 6 for heading in headings)
            yield BlockKind.HEADING, level, self._glued_to_headings(headings, [])

    def _glued_to_headings(self, headings: Sequence[Block], body: list[Piece]) -> list[Piece]:
        """Return the pieces of the headings and the body, each glued to the heading before it.

        A heading above the next piece is in the heading path, so its tokens do not count, and it is
        left out if it is longer than a chunk.
        """
        path = body[0].block.heading_path if body else ()
        found = chain.from_iterable(map(self.splitter.pieces, headings))
        heads = [one for one in found if one.whole or not is_above(one, path)]
        pieces = [*heads, *body]
        for at, heading in enumerate(heads[: len(pieces) - 1]):
            following = pieces[at + 1]
            nested = (following.block.level or 7) > heading.block.level
            if nested:
                pieces[at] = replace(pieces[at], tokens=0)
            pieces[at + 1] = following.with_cut(_HEADING_GLUE if nested else _EMPTY_SECTION_CUT)
        return pieces

    def _pack(self, placed: Sequence[_Placed]) -> list[list[_Placed]]:
        """Return the pieces of each chunk."""
        if not placed:
            return []
        glued = list(_glued(placed, self.config.maximum))
        items = [PackItem(glued[0].piece.tokens + 1, 0, 0.0, True)]
        items += [self._pack_item(before, this) for before, this in pairwise(glued)]
        for slack in range(0, self.config.maximum // 2 + _SLACK_STEP, _SLACK_STEP):
            runs = [glued[start:end] for start, end in pack(items, self.config, slack)]
            if not any(self._is_too_long([one.piece for one in run]) for run in runs):
                break
        return runs

    def _pack_item(self, before: _Placed, this: _Placed) -> PackItem:
        piece, cut = this.piece, this.piece.cut or _BLOCK_CUT
        begins_section = True
        if this.level:
            cut = max(_HEADING_CUTS.get(this.level, _DEEPER_HEADING_CUT), piece.cut)
        elif (this.kind is BlockKind.EXERCISE) != (before.kind is BlockKind.EXERCISE):
            cut = max(_EXERCISE_CUT, piece.cut)
        else:
            begins_section = False
        head = piece.head.tokens + 2 if piece.head else 0
        return PackItem(piece.tokens + 1, head, cut, begins_section)

    def _overlap(self, before: Sequence[_Placed], run: Sequence[_Placed]) -> list[Piece]:
        """Return what a chunk repeats of the one before it: text of one section."""
        last, first, wanted = before[-1], run[0], self.config.overlap
        barred = first.level and self.config.overlap_scope is OverlapScope.SECTION
        body = next((one for one in run if one.kind is not BlockKind.HEADING), first)
        apart = first.number != last.number + 1 or not _APART.isdisjoint((body.kind, last.kind))
        if barred or apart or first.piece.head:
            return []
        section = max((at for at, one in enumerate(before) if one.level), default=0)
        # Without the first piece of the previous chunk, which is never repeated whole.
        pieces = [one.piece for one in before[max(section, 1) :]]
        if not pieces and last.piece.tokens > wanted * 2:
            pieces = [last.piece]
        own = [one.piece for one in run]
        room = self.config.maximum - sum(piece.tokens + 1 for piece in own) - 2
        most = min(int(wanted * _LONGEST), room)
        overlap = self.splitter.end_of(pieces, wanted * _ENOUGH, most)
        return [] if self._is_too_long([*overlap, *own]) else overlap

    def _is_too_long(self, pieces: Sequence[Piece]) -> bool:
        shown, maximum = shown_pieces(pieces, common_path(pieces)), self.config.maximum
        if len(shown) == 1 or sum(piece.tokens for piece in shown) < maximum * 0.8:
            return False
        return self.splitter.tools.count_tokens(text_of(shown)) > maximum


def _glued(placed: Sequence[_Placed], maximum: int) -> Iterator[_Placed]:
    """Glue blocks that belong together; parts of a long list get its lead-in as head."""
    yield placed[0]
    lead_in: Piece | None = None
    for before, item in pairwise(placed):
        last, piece = before.piece, item.piece
        if item.level:
            lead_in = None
        elif piece.block is not last.block:
            lead_in = last if leads_in(last.block, piece.block) else None
            if lead_in or continues(last.block, piece.block):
                piece = piece.with_cut(GLUE)
        elif lead_in and item.kind is BlockKind.LIST and not piece.head:
            room = min(_LONGEST_LEAD_IN, maximum - piece.tokens - 2)
            piece = replace(piece, head=lead_in if lead_in.tokens <= room else None)
        yield replace(item, piece=piece) if piece is not item.piece else item
