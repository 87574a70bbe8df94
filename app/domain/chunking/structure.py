"""The default strategy `structure`: packs whole blocks by section, with sentences as overlap."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

from app.domain.chunking.builder import ChunkDraft, is_above
from app.domain.chunking.config import ChunkingConfig, ChunkingTools, PackingConfig
from app.domain.chunking.packer import Unit, pack
from app.domain.chunking.pieces import BlockSplitter, Piece
from app.domain.document import Block, BlockKind, Document

_RELATED_CUT = 1000.0
"""Made only if a chunk would exceed its maximum otherwise."""
_ENOUGH, _LONGEST = 0.65, 1.7
"""Least and greatest overlap, as shares of the wanted one."""
_APART = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY})
"""Kinds that no other chunk repeats, and whose chunks repeat nothing."""
_LEAD_IN_ENDS = (":", "\uff1a")
_AFTER_COLON = "\"'*_)" + "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Characters that may follow the colon: quotes, mark-up and blanks."""
_SENTENCE_END = re.compile(r"[.!?:\u3002\uff01\uff1f][\"'*_)\]\u201d\u2019\s]*$")


def structure(document: Document, config: ChunkingConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Chunk by whole blocks of a section; small sections share a chunk."""
    return structure_of(document, config.structure, tools)


def structure_of(
    document: Document, sizes: PackingConfig, tools: ChunkingTools
) -> list[ChunkDraft]:
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
    ends = before.text.rstrip(_AFTER_COLON).endswith(_LEAD_IN_ENDS)
    return ends and before.kind is BlockKind.PARAGRAPH and block.kind is not BlockKind.HEADING


def continues(before: Block, block: Block) -> bool:
    """Whether a sentence continues across a formula or code: "we get", formula, "where x is"."""
    if block.kind is BlockKind.MATH:
        return before.kind is BlockKind.PARAGRAPH and not _SENTENCE_END.search(before.text[-40:])
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
