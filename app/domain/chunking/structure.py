"""The default strategy `structure`: packs whole blocks by section, with sentences as overlap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.domain.chunking.builder import ChunkDraft, is_above
from app.domain.chunking.config import ChunkingConfig, PackingConfig
from app.domain.chunking.packer import pack
from app.domain.chunking.pieces import BlockSplitter, Piece
from app.domain.chunking.related import continues, leads_in
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Document

_RELATED_CUT = 1000.0
"""Made only if a chunk would exceed its maximum otherwise."""
_ENOUGH, _LONGEST = 0.65, 1.7
"""Least and greatest overlap, as shares of the wanted one."""
_APART = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY})
"""Kinds that no other chunk repeats, and whose chunks repeat nothing."""


@dataclass(frozen=True, slots=True)
class _Item:
    """A piece after the headings that it is directly below."""

    number: int
    """Position in the document."""
    headings: list[Piece]
    piece: Piece

    @property
    def kind(self) -> BlockKind:
        return self.piece.block.kind

    @property
    def path(self) -> tuple[str, ...]:
        return self.piece.block.heading_path

    @property
    def first(self) -> Piece:
        return self.headings[0] if self.headings else self.piece

    @property
    def stream(self) -> Hashable:
        """Items are packed with others of the same stream.

        Solutions are apart, so that they can be excluded. Each glossary entry is a chunk.
        """
        if self.kind is BlockKind.GLOSSARY_ENTRY:
            return id(self.piece.block)
        return self.kind is BlockKind.SOLUTION


def structure(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Chunk by whole blocks of a section; small sections share a chunk."""
    return structure_of(document, config.exclude, config.structure, tools)


def structure_of(
    document: Document, exclude: Sequence[BlockKind], sizes: PackingConfig, tools: ChunkingTools
) -> list[ChunkDraft]:
    splitter = BlockSplitter(document.language, tools, sizes.maximum)
    blocks = _without(document.blocks, exclude)
    streams: defaultdict[Hashable, list[_Item]] = defaultdict(list)
    for item in _items([piece for block in blocks for piece in splitter.pieces(block)]):
        streams[item.stream].append(item)
    runs = [run for items in streams.values() for run in _pack(items, sizes)]
    runs.sort(key=lambda run: run[0].number)
    overlaps = [[], *(_overlap(before, run, sizes, splitter) for before, run in pairwise(runs))]
    return [
        ChunkDraft([piece for item in run for piece in (*item.headings, item.piece)], overlap)
        for run, overlap in zip(runs, overlaps, strict=False)
    ]


def _without(blocks: Sequence[Block], exclude: Sequence[BlockKind]) -> list[Block]:
    """Leave out blocks of these kinds, and the headings of sections that have nothing else.

    A heading without anything below it stays: it may be all the text that a page has of a question.
    """
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


def _items(pieces: Sequence[Piece]) -> Iterator[_Item]:
    """Yield each piece with the headings directly above it, which are not cut from it."""
    headings: list[Piece] = []
    for number, piece in enumerate(pieces):
        following = pieces[number + 1].block if number + 1 < len(pieces) else None
        if following and piece.whole and is_above(piece, following.heading_path):
            headings.append(piece)
            continue
        yield _Item(number, headings, piece)
        headings = []


def _pack(items: Sequence[_Item], sizes: PackingConfig) -> list[Sequence[_Item]]:
    """Return the items of each chunk."""
    packed = [_packed(*pair) for pair in zip([None, *items], items, strict=False)]
    return [items[start:end] for start, end in pack(packed, sizes)]


def _packed(before: _Item | None, item: _Item) -> Piece:
    """Return the item as one piece: with its headings' tokens and the cost of a cut before them."""
    piece = replace(item.piece, tokens=_tokens(item))
    if before is None or _begins_section(before, item):
        return replace(piece, cut=0.0, begins_section=True)
    last = before.piece.block
    related = leads_in(last, piece.block) or continues(last, piece.block)
    return replace(piece, cut=_RELATED_CUT) if related and piece.block is not last else piece


def _begins_section(before: _Item, item: _Item) -> bool:
    is_other = (item.kind is BlockKind.EXERCISE) != (before.kind is BlockKind.EXERCISE)
    return item.first.block.kind is BlockKind.HEADING or before.path != item.path or is_other


def _tokens(item: _Item) -> int:
    return sum(piece.tokens for piece in [*item.headings, item.piece])


def _overlap(
    before: Sequence[_Item], run: Sequence[_Item], sizes: PackingConfig, splitter: BlockSplitter
) -> list[Piece]:
    """Return what a chunk repeats of the one before it: text of one section."""
    last, first = before[-1], run[0]
    adjacent = first.number - len(first.headings) == last.number + 1
    if not adjacent or first.first.lead_tokens or not _APART.isdisjoint((first.kind, last.kind)):
        return []
    # The first piece of the previous chunk is never repeated whole.
    pieces = [item.piece for item in before[1:]]
    if not pieces and last.piece.tokens > sizes.overlap * 2:
        pieces = [last.piece]
    room = sizes.maximum - sum(map(_tokens, run))
    most = min(int(sizes.overlap * _LONGEST), room)
    return splitter.end_of(pieces, sizes.overlap * _ENOUGH, most)
