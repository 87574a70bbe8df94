"""Blocks as the packer moves them: whole, or cut at their own joints when they are too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from app.domain.chunking.inline import reader_text, squeeze
from app.domain.chunking.joints import CUT_PART, GLUE, Tile, code_tiles, prose_tiles
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Part, Span
from app.domain.fast_dataclass import fast_dataclass
from app.domain.long_text import Text

_VERBATIM_KINDS = frozenset({BlockKind.CODE, BlockKind.MATH})

UNCOUNTED = -1
# How far ahead of the piece before, in characters, the next is looked for in the reader's text.
_LOOK_AHEAD = 2_000


@fast_dataclass(frozen=True, slots=True)
class Piece:
    """A block, or a part of one that is too long for a chunk."""

    block: Block
    start: int
    end: int
    text: str
    """What a reader sees of it."""
    tokens: int
    """Exactly those of its source; with `pulled`, about those of both. UNCOUNTED if not known."""
    whole: bool = True
    verbatim: bool = False
    """True where `text` is the source itself."""
    joiner: str = ""
    """What stands between this piece's text and that of the piece before it."""
    cut: float = 0.0
    """Cost of a cut before this piece; see `joints`."""
    head: Piece | None = None
    """What is repeated, as context, where a chunk begins here: a table's header, a lead-in."""
    pulled: str = ""
    """Text of an included file; it follows the span, which is the directive's, as context."""

    def with_cut(self, cut: float) -> Piece:
        """The same with another cost; `dataclasses.replace` takes ten times as long."""
        return Piece(
            self.block, self.start, self.end, self.text, self.tokens, self.whole, self.verbatim,
            self.joiner, cut, self.head, self.pulled,
        )  # fmt: skip


def pieces_of(
    block: Block, source: Text, directive: Span, language: str, limit: int, tools: ChunkingTools
) -> list[Piece]:
    """The block as one piece if it has at most `limit` tokens, else cut at its joints.

    `directive` is where the source names the file that an included block comes from.
    """
    if block.included and is_pulled(block, source):
        return _included(block, source, directive, limit, tools)
    if block.start == block.end:
        return []
    tokens = tools.count_tokens(source[block.start : block.end])
    if tokens <= limit:
        return [Piece(block, block.start, block.end, block.text, tokens)]
    if any(part.header for part in block.parts):
        return _with_header(block, source, language, limit, tools)
    return list(_split(block, block.parts, block.start, source, language, limit, tools))


def sentences_of(
    block: Block, source: Text, language: str, limit: int, tools: ChunkingTools
) -> list[Piece]:
    """The sentences of a paragraph, each a piece; one longer than `limit` is cut further."""
    pieces = list(_split(block, (), block.start, source, language, limit, tools))
    if len(pieces) == 1 and (pieces[0].start, pieces[0].end) == (block.start, block.end):
        return [replace(pieces[0], text=block.text, whole=True, verbatim=False)]
    return pieces


def directives(blocks: Iterable[Block]) -> dict[int, Span]:
    """Where an include directive ends: its span, for the further blocks that it pulled in."""
    spans = ((block.start, block.end) for block in blocks if block.included)
    return {end: (start, end) for start, end in spans if start < end}


def is_pulled(block: Block, source: Text) -> bool:
    """Whether the block's text stands in another file than its span."""
    return bool(block.included) and block.text.strip() not in source[block.start : block.end]


def _split(
    block: Block,
    parts: Iterable[Part],
    start: int,
    source: Text,
    language: str,
    limit: int,
    tools: ChunkingTools,
) -> Iterator[Piece]:
    """Pieces of `source[start : block.end]`; together they hold every non-blank character."""
    seen = _Seen(block)
    kept = [part for part in parts if part.start >= start]
    if not kept:
        kept = [Part(block.kind, start, block.end, "")]
    starts = [start, *(part.start for part in kept[1:]), block.end]
    for part, (begin, end) in zip(kept, pairwise(starts), strict=True):
        begin, end = _trimmed(source, begin, end)  # noqa: PLW2901
        if begin == end:
            continue
        raw = source[begin:end]
        tokens = tools.count_tokens(raw)
        if tokens <= limit and part.text:
            yield Piece(block, begin, end, part.text, tokens, False, False, "\n", CUT_PART)
            continue
        for number, tile in enumerate(_tiles(raw, part.kind, language, limit, tools)):
            cut = CUT_PART if part.text and not number else tile.cut
            yield _tile_piece(seen, raw, begin, tile, cut, bool(number), tools)


def _tiles(
    raw: str, kind: BlockKind, language: str, limit: int, tools: ChunkingTools
) -> Iterator[Tile]:
    if kind in _VERBATIM_KINDS:
        return code_tiles(raw, limit, tools.count_tokens)
    return prose_tiles(raw, language, limit, tools.count_tokens, tools.split_sentences)


@dataclass(slots=True)
class _Seen:
    """What a reader sees of a block, read through piece by piece."""

    block: Block
    text: str = ""
    at: int = 0

    def of(self, source: str) -> str | None:
        """What a reader sees of this piece of the source; None if that cannot be told."""
        self.text = self.text or squeeze(self.block.text)
        piece = reader_text(source)
        found = self.text.find(piece, self.at, self.at + _LOOK_AHEAD + len(piece))
        if found < 0:
            self.at += len(piece) // 2
            return None
        self.at = found + len(piece)
        return piece


def _tile_piece(
    seen: _Seen, raw: str, base: int, tile: Tile, cut: float, inside: bool, tools: ChunkingTools
) -> Piece:
    source = raw[tile.start : tile.end]
    code = seen.block.kind in _VERBATIM_KINDS
    text = None if code else seen.of(source)
    return Piece(
        block=seen.block,
        start=base + tile.start,
        end=base + tile.end,
        text=source if text is None else text,
        tokens=tools.count_tokens(source),
        whole=False,
        verbatim=text is None,
        joiner=" " if inside and not code else "\n",
        cut=cut,
    )


def _with_header(
    block: Block, source: Text, language: str, limit: int, tools: ChunkingTools
) -> list[Piece]:
    """A table's rows, each with the header as what is repeated where a chunk begins with it."""
    header = [part for part in block.parts if part.header]
    rows = [part for part in block.parts if not part.header and part.start >= header[-1].end]
    begin = rows[0].start if rows else block.end
    start, end = _trimmed(source, block.start, begin)
    tokens = tools.count_tokens(source[start:end])
    if not rows or tokens * 2 > limit:
        return list(_split(block, block.parts, block.start, source, language, limit, tools))
    text = "\n".join(part.text for part in header)
    head = Piece(block, start, end, text, tokens, False)
    room = limit - tokens - 2
    pieces = _split(block, rows, begin, source, language, room, tools)
    tail = [replace(piece, head=head) for piece in pieces]
    return [head, tail[0].with_cut(GLUE), *tail[1:]]


def _included(
    block: Block, source: Text, directive: Span, limit: int, tools: ChunkingTools
) -> list[Piece]:
    """A directive whose text stands in another file: that text follows it as context."""
    start, end = directive
    own = tools.count_tokens(source[start:end]) + 2
    tokens = own + tools.count_tokens(block.text)
    if tokens <= limit:
        return [Piece(block, start, end, block.text, tokens, pulled=block.text)]
    # Each piece brings the directive along, so pieces are made large here and not by the packer.
    return [
        Piece(
            block=block,
            start=start,
            end=end,
            text=text,
            tokens=own + tools.count_tokens(text),
            whole=False,
            joiner="\n",
            cut=CUT_PART if number else 0.0,
            pulled=text,
        )
        for number, text in enumerate(_filled(block.text, limit - own, tools))
    ]


def _filled(text: str, room: int, tools: ChunkingTools) -> Iterator[str]:
    """Runs of whole lines, each of at most `room` tokens and about as long as the others."""
    tiles = list(code_tiles(text, room, tools.count_tokens))
    sizes = [tools.count_tokens(text[tile.start : tile.end]) + 1 for tile in tiles]
    share = sum(sizes) / (sum(sizes) // room + 1)
    first, size = 0, 0
    for number, tile in enumerate(tiles):
        full = size + sizes[number] > room
        good = size >= share * 0.7 and tile.cut < CUT_PART * 5
        if number > first and (full or good):
            yield text[tiles[first].start : tiles[number - 1].end]
            first, size = number, 0
        size += sizes[number]
    if tiles:
        yield text[tiles[first].start : tiles[-1].end]


def _trimmed(source: Text, start: int, end: int) -> tuple[int, int]:
    """The span without blanks at its end, and without blank lines at its start."""
    while end > start and source[end - 1].isspace():
        end -= 1
    while start < end and source[start] in "\r\n":
        start += 1
    return start, end
