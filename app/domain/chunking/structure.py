"""The default strategy `structure`: packs whole blocks by section, with sentences as overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, starmap
from operator import attrgetter

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_builder import ChunkBuilder, ChunkDraft, Renderer, is_above
from app.domain.chunking.chunk_pieces import ChunkPiece, include_directives, split_block
from app.domain.chunking.config import (
    ChunkingConfig,
    OverlapScope,
    StrategyName,
    StructureConfig,
)
from app.domain.chunking.cut_points import (
    CUT_EMPTY_SECTION,
    GLUE,
    HEADING_GLUE,
    continues,
    leads_in,
)
from app.domain.chunking.overlap import NEVER_REPEATED, choose_overlap, may_overlap
from app.domain.chunking.packer import PackItem, pack
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Book, Document, Span
from app.domain.fast_dataclass import fast_dataclass

# Costs of a cut, in the units of `packer`, by the level of the heading after it.
_HEADING_CUTS = {1: 0.0, 2: 0.0, 3: 0.2}
_DEEPER_HEADING_CUT = 0.4
_BLOCK_CUT = 1.2
_BARE_CUT = 1.0
"""Extra cost if the next chunk cannot overlap."""
_INCLUDE_CUT = 3.0
"""Extra cost inside included text: both chunks would repeat the directive."""
# A cut between text and exercises is as good as one at a heading.
_EXERCISE_CUT, _EXERCISE_LEVEL = 0.2, 3
_LONGEST_LEAD_IN = 120
_SLACK_STEP = 24


@fast_dataclass(frozen=True, slots=True)
class SectionPiece:
    """A piece with the number of its section: the section ends since the start of the file."""

    piece: ChunkPiece
    section: int
    number: int
    """Position among all pieces of the file, solutions and glossary entries included."""


def chunk_structure(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName = StrategyName.STRUCTURE,
) -> Iterable[Chunk]:
    """Chunk by whole blocks; `guarantees` checks the properties of the result."""
    builder = ChunkBuilder(document, book, strategy, config, tools)
    packing = _FilePacking(
        builder.renderer, document.language, config.structure, tools, config.exclude
    )
    return builder.build(packing.drafts(document.blocks))


@dataclass(frozen=True, slots=True)
class _FilePacking:
    """Packs the blocks of one file."""

    renderer: Renderer
    language: str
    config: StructureConfig
    tools: ChunkingTools
    exclude: Sequence[BlockKind]

    def drafts(self, blocks: Sequence[Block]) -> list[ChunkDraft]:
        streams: dict[BlockKind, list[SectionPiece]] = {}
        levels = [0]
        chains: list[list[ChunkDraft]] = []
        for block, placed in self._placed(blocks, levels):
            if block is not None and block.kind is BlockKind.GLOSSARY_ENTRY:
                chains += self._pack(placed, levels)
            else:
                streams.setdefault(_stream(block), []).extend(placed)
        for stream in streams.values():
            chains += self._pack(stream, levels)
        chains.sort(key=lambda drafts: drafts[0].pieces[0].start)
        return list(chain.from_iterable(chains))

    def _placed(
        self, blocks: Sequence[Block], levels: list[int]
    ) -> Iterator[tuple[Block | None, list[SectionPiece]]]:
        """Yield each block with its pieces; append the level of each section that begins."""
        directives = include_directives(blocks)
        count = 0
        path = blocks[0].heading_path if blocks else ()
        for headings, block in _with_headings(blocks, self.exclude):
            levels += [heading.level or 6 for heading in headings]
            if block is not None and block.heading_path != path:
                if not headings:  # a container ended, and with it its sections
                    levels.append(6)
                path = block.heading_path
            pieces = self._pieces(headings, block, directives)
            section = len(levels) - 1
            yield block, [SectionPiece(one, section, at) for at, one in enumerate(pieces, count)]
            count += len(pieces)

    def _pieces(
        self, headings: Sequence[Block], block: Block | None, directives: Mapping[int, Span]
    ) -> list[ChunkPiece]:
        """Return the pieces of the headings and the block, glued together if they fit a chunk."""
        body = self._split_block(block, directives) if block else []
        heads = list(chain.from_iterable(self._split_block(one, directives) for one in headings))
        if not heads or not body:
            return [*_glued_headings(heads), *body]
        if sum(piece.tokens + 1 for piece in (*heads, body[0])) <= self.config.maximum:
            return [*_glued_headings(heads), body[0].with_cut(HEADING_GLUE), *body[1:]]
        # The heading path still has the headings above the block. Empty sections stay.
        path = body[0].block.heading_path
        empty = [head for head in heads if not is_above(head, path)]
        return [*(head.with_cut(GLUE) for head in empty), *body]

    def _split_block(self, block: Block, directives: Mapping[int, Span]) -> list[ChunkPiece]:
        directive = directives.get(block.start) or (block.start, block.end)
        source, limit = self.renderer.source, self.config.maximum
        return split_block(block, source, directive, self.language, limit, self.tools)

    def _pack(
        self, placed: Sequence[SectionPiece], levels: Sequence[int]
    ) -> list[list[ChunkDraft]]:
        """Pack pieces into chains of drafts; within a chain each overlaps with the previous one."""
        if len(placed) < 2:
            return [[ChunkDraft([item.piece])] for item in placed]
        glued = list(_glued(placed, self.config.maximum))
        items = [_first_item(glued[0].piece)]
        items += [self._pack_item(before, this, levels) for before, this in pairwise(glued)]
        slack = 0
        while True:
            ranges = pack(items, self.config, slack)
            chains = self._chains(glued, ranges)
            if slack >= self.config.maximum // 2 or not self._any_too_long(chains):
                return chains
            slack += _SLACK_STEP

    def _pack_item(
        self, before: SectionPiece, this: SectionPiece, levels: Sequence[int]
    ) -> PackItem:
        piece = this.piece
        head = piece.head.tokens + 2 if piece.head else 0
        if before.section != this.section:
            level = min(levels[before.section + 1 : this.section + 1])
            cut = _HEADING_CUTS.get(level, _DEEPER_HEADING_CUT)
            return PackItem(piece.tokens + 1, head, 0, max(cut, piece.cut), level)
        cut = piece.cut or _BLOCK_CUT
        same_span = (piece.start, piece.end) == (before.piece.start, before.piece.end)
        if piece.included_text and same_span:
            cut += _INCLUDE_CUT
        if _is_exercise(piece) != _is_exercise(before.piece):
            cut = max(piece.cut, _EXERCISE_CUT)
            return PackItem(piece.tokens + 1, head, 0, cut, _EXERCISE_LEVEL)
        if piece.head:
            return PackItem(piece.tokens + 1, head, 0, cut, 0)
        if may_overlap(before.piece, self.config.overlap) and self._may_repeat(before.piece):
            return PackItem(piece.tokens + 1, 0, self.config.overlap, cut, 0)
        return PackItem(piece.tokens + 1, 0, 0, cut + _BARE_CUT, 0)

    def _chains(
        self, placed: Sequence[SectionPiece], ranges: Sequence[tuple[int, int]]
    ) -> list[list[ChunkDraft]]:
        chains: list[list[ChunkDraft]] = []
        for start, end in ranges:
            pieces = [item.piece for item in placed[start:end]]
            overlap = self._overlap(placed, chains[-1][-1] if chains else None, start, pieces)
            head = pieces[0].head if start else None
            draft = ChunkDraft(pieces, overlap, head)
            if overlap:
                chains[-1].append(draft)
            else:
                chains.append([draft])
        return chains

    def _overlap(
        self,
        placed: Sequence[SectionPiece],
        before: ChunkDraft | None,
        start: int,
        pieces: Sequence[ChunkPiece],
    ) -> list[ChunkPiece]:
        if before is None or pieces[0].head:
            return []
        first, last = start - len(before.pieces), placed[start - 1]
        if _is_exercise(last.piece) != _is_exercise(pieces[0]):
            return []
        if last.section != placed[start].section and not self._may_cross(placed[first : start + 1]):
            return []
        # Without the first piece of the previous chunk, which is never repeated whole.
        same = self._repeatable_end(placed[first + 1 : start])
        if not same and last.piece.tokens > self.config.overlap * 2:
            same = [last.piece]
        room = self.config.maximum - sum(piece.tokens + 1 for piece in pieces) - 2
        wanted = self.config.overlap
        return choose_overlap(same, wanted, room, self.renderer.source, self.language, self.tools)

    def _repeatable_end(self, placed: Sequence[SectionPiece]) -> list[ChunkPiece]:
        """Return the last of these pieces that are in one section and may be repeated."""
        end: list[ChunkPiece] = []
        for item in reversed(placed):
            if item.section != placed[-1].section or not self._may_repeat(item.piece):
                break
            end.insert(0, item.piece)
        return end

    def _may_repeat(self, piece: ChunkPiece) -> bool:
        within_page = self.config.overlap_scope is OverlapScope.PAGE
        return not (within_page and piece.block.kind in NEVER_REPEATED)

    def _may_cross(self, placed: Sequence[SectionPiece]) -> bool:
        """Whether overlap may cross the section boundary before the last of these pieces.

        The other pieces are those of the previous chunk. All must be consecutive in the file: a
        solution or glossary entry among them has a separate chunk, which could come between the two
        chunks.
        """
        if self.config.overlap_scope is not OverlapScope.PAGE:
            return False
        return placed[-1].number - placed[0].number == len(placed) - 1

    def _any_too_long(self, chains: Sequence[Sequence[ChunkDraft]]) -> bool:
        for draft in chain.from_iterable(chains):
            pieces = [*draft.overlap, *draft.pieces]
            if sum(piece.tokens for piece in pieces) < self.config.maximum * 0.95:
                continue
            tokens = self.renderer.render(pieces, draft.head).tokens
            if len(pieces) > 1 and tokens > self.config.maximum:
                return True
        return False


def _first_item(piece: ChunkPiece) -> PackItem:
    return PackItem(piece.tokens + 1, 0, 0, 0.0, 1)


def _glued_headings(heads: Sequence[ChunkPiece]) -> list[ChunkPiece]:
    return [*heads[:1], *starmap(_after_heading, pairwise(heads))]


def _after_heading(before: ChunkPiece, heading: ChunkPiece) -> ChunkPiece:
    """Glue a heading to the previous one, more strongly if it is a subheading."""
    nested = (heading.block.level or 6) > (before.block.level or 6)
    return heading.with_cut(HEADING_GLUE if nested else CUT_EMPTY_SECTION)


def _stream(block: Block | None) -> BlockKind:
    """Solutions are packed separately, so that they can be excluded."""
    solution = block is not None and block.kind is BlockKind.SOLUTION
    return BlockKind.SOLUTION if solution else BlockKind.PARAGRAPH


def _is_exercise(piece: ChunkPiece) -> bool:
    return piece.block.kind is BlockKind.EXERCISE


def _with_headings(
    blocks: Sequence[Block], exclude: Sequence[BlockKind]
) -> Iterator[tuple[list[Block], Block | None]]:
    """Yield each block that is not excluded, with the headings since the previous one.

    Headings of sections with excluded blocks only are dropped. Headings without a following block
    come last, with None.
    """
    headings: list[Block] = []
    # By level, earlier headings whose blocks so far were all excluded. A list for each level: a
    # single one would be filtered at every heading, in quadratic time.
    emptied: dict[int, list[Block]] = {}
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            # Their sections end here unless this heading is below them.
            emptied = {level: held for level, held in emptied.items() if level < (block.level or 6)}
            headings.append(block)
        elif block.kind in exclude:
            for heading in headings:
                emptied.setdefault(heading.level or 6, []).append(heading)
            headings = []
        else:
            earlier = sorted(chain.from_iterable(emptied.values()), key=attrgetter("start"))
            yield [*earlier, *headings], block
            emptied, headings = {}, []
    if headings:
        yield headings, None


def _glued(placed: Sequence[SectionPiece], maximum: int) -> Iterator[SectionPiece]:
    """Glue blocks that belong together; parts of a long list get its lead-in as head."""
    before: SectionPiece | None = None
    lead_in: ChunkPiece | None = None
    for item in placed:
        piece = item.piece
        if before is not None and before.section == item.section:
            if piece.block is not before.piece.block:
                lead_in = before.piece if leads_in(before.piece.block, piece.block) else None
                if lead_in or continues(before.piece.block, piece.block):
                    piece = piece.with_cut(GLUE)
            elif _repeats_lead_in(lead_in, piece, maximum):
                piece = replace(piece, head=lead_in)
        else:
            lead_in = None
        before = replace(item, piece=piece) if piece is not item.piece else item
        yield before


def _repeats_lead_in(lead_in: ChunkPiece | None, piece: ChunkPiece, maximum: int) -> bool:
    return (
        lead_in is not None
        and piece.block.kind is BlockKind.LIST
        and piece.head is None
        and lead_in.tokens <= _LONGEST_LEAD_IN
        and lead_in.tokens + piece.tokens + 2 <= maximum
    )
