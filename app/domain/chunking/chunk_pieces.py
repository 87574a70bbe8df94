"""Blocks as pieces of a chunk: whole, or split at their cut points when they are too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.domain.chunking.cut_points import CUT_PART, GLUE, Segment, code_segments, prose_segments
from app.domain.chunking.reader_texts import Share, divide_lines, divide_prose
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Document, Part, Span
from app.domain.fast_dataclass import fast_dataclass
from app.domain.fences_and_tables import open_fence

PROSE_KINDS = frozenset({BlockKind.PARAGRAPH, BlockKind.FOOTNOTE, BlockKind.REFERENCE})
_VERBATIM_KINDS = frozenset({BlockKind.CODE, BlockKind.MATH})

UNCOUNTED = -1
_NO_SHARE = Share("", " ")


@fast_dataclass(frozen=True, slots=True)
class ChunkPiece:
    """A block, or a part of one that is too long for a chunk."""

    block: Block
    start: int
    end: int
    text: str
    """The text as a reader sees it."""
    tokens: int
    """Tokens of the source; with `included_text`, about the sum of both. UNCOUNTED if unknown."""
    whole: bool = True
    verbatim: bool = False
    """True if `text` is the source itself."""
    joiner: str = ""
    """Separator between the previous piece's text and this one's."""
    cut: float = 0.0
    """Cost of a cut before this piece; see `cut_points`."""
    head: ChunkPiece | None = None
    """Table header or lead-in that a chunk repeats, as context, if it begins with this piece."""
    included_text: str = ""
    """Text of an included file; the span is the directive's and the text follows as context."""
    fence: str = ""
    """The first line of the fence in the block's text that is open where this piece begins."""

    def with_cut(self, cut: float) -> ChunkPiece:
        """Return a copy with this cost; `dataclasses.replace` takes ten times as long."""
        return ChunkPiece(
            self.block, self.start, self.end, self.text, self.tokens, self.whole, self.verbatim,
            self.joiner, cut, self.head, self.included_text, self.fence,
        )  # fmt: skip


def split_block(
    block: Block, source: str, directive: Span, language: str, limit: int, tools: ChunkingTools
) -> list[ChunkPiece]:
    """Return the block as one piece of at most `limit` tokens, or split at its cut points.

    `directive` is the span of the include directive if the block comes from another file.
    """
    if block.included and is_from_other_file(block, source):
        return _split_included(block, source, directive, limit, tools)
    if block.start == block.end:
        return []
    tokens = tools.count_tokens(source[block.start : block.end])
    if tokens <= limit:
        return [ChunkPiece(block, block.start, block.end, block.text, tokens)]
    splitter = _Splitter(block, source, language, limit, tools)
    if block.kind is BlockKind.TABLE and any(part.header for part in block.parts):
        return splitter.table()
    return list(splitter.pieces(block.parts, block.start))


def sentence_pieces(
    document: Document, limit: int, exclude: Sequence[BlockKind], tools: ChunkingTools
) -> Iterator[ChunkPiece]:
    """Yield each sentence of a paragraph and each other block; split those above `limit` tokens."""
    source, language = document.source, document.language
    directives = include_directives(document.blocks)
    for block in document.blocks:
        if block.kind in exclude:
            continue
        if block.kind in PROSE_KINDS and not block.included:
            yield from _sentences(block, source, language, limit, tools)
            continue
        directive = directives.get(block.start, (block.start, block.end))
        yield from split_block(block, source, directive, language, limit, tools)


def split_at_parts(
    block: Block, document: Document, limit: int, tools: ChunkingTools
) -> list[ChunkPiece]:
    """Split the block into pieces of at most `limit` tokens; nothing for a paragraph."""
    if block.kind in PROSE_KINDS:
        return []
    span, source, language = (block.start, block.end), document.source, document.language
    return split_block(block, source, span, language, limit, tools)


def count_words(document: Document) -> int:
    return sum(len(block.text.split()) for block in document.blocks)


def include_directives(blocks: Iterable[Block]) -> dict[int, Span]:
    """Map the end of each include directive to its span.

    A directive's further blocks have an empty span at that end.
    """
    spans = ((block.start, block.end) for block in blocks if block.included)
    return {end: (start, end) for start, end in spans if start < end}


def is_from_other_file(block: Block, source: str) -> bool:
    """Whether the block's text is in an included file, not in its span."""
    return bool(block.included) and block.text.strip() not in source[block.start : block.end]


def _sentences(
    block: Block, source: str, language: str, limit: int, tools: ChunkingTools
) -> list[ChunkPiece]:
    pieces = list(_Splitter(block, source, language, limit, tools).pieces((), block.start))
    if len(pieces) == 1 and (pieces[0].start, pieces[0].end) == (block.start, block.end):
        return [replace(pieces[0], text=block.text, whole=True, verbatim=False)]
    return pieces


@dataclass(slots=True)
class _Splitter:
    """Splits one block at its parts, and a part of more than `limit` tokens at its segments."""

    block: Block
    source: str
    language: str
    limit: int
    tools: ChunkingTools

    def table(self) -> list[ChunkPiece]:
        """Return the header and the rows; each row has the header as its head."""
        block, source = self.block, self.source
        header = [part for part in block.parts if part.header]
        rows = [part for part in block.parts if not part.header and part.start >= header[-1].end]
        begin = rows[0].start if rows else block.end
        start, end = _trimmed(source, block.start, begin)
        tokens = self.tools.count_tokens(source[start:end])
        if not rows or tokens * 2 > self.limit:
            return self._table_with_long_start(header[0].start, begin)
        head = ChunkPiece(block, start, end, "\n".join(part.text for part in header), tokens, False)
        below = replace(self, limit=self.limit - tokens - 2)
        tail = [replace(piece, head=head) for piece in below.pieces(rows, begin)]
        return [head, tail[0].with_cut(GLUE), *tail[1:]]

    def _table_with_long_start(self, header: int, rows: int) -> list[ChunkPiece]:
        """Split the mark-up before the header, such as a summary, from the header, which stays with
        the first row. `header` and `rows` are the offsets where these begin.
        """
        block = self.block
        start, end = _trimmed(self.source, block.start, header)
        raw = self.source[start:end]
        before = [
            self._segment_piece(
                start, segment, raw[segment.start : segment.end], _NO_SHARE, segment.cut, True
            )
            for segment in self._segments(raw, block.kind)
        ]
        shown = self.pieces(block.parts, header)
        return before + [piece.with_cut(GLUE) if piece.start == rows else piece for piece in shown]

    def pieces(self, parts: Iterable[Part], start: int) -> Iterator[ChunkPiece]:
        """Yield the pieces from `start` to the block's end, every non-blank character in one."""
        block, source = self.block, self.source
        kept = [part for part in parts if part.start >= start]
        if not kept:
            kept = [Part(block.kind, start, block.end, "")]
        starts = [start, *(part.start for part in kept[1:]), block.end]
        for part, span in zip(kept, pairwise(starts), strict=True):
            begin, end = _trimmed(source, *span)
            if begin < end:
                yield from self._part(part, begin, end)

    def _part(self, part: Part, start: int, end: int) -> Iterator[ChunkPiece]:
        raw = self.source[start:end]
        tokens = self.tools.count_tokens(raw)
        if tokens <= self.limit and part.text:
            yield ChunkPiece(
                self.block, start, end, part.text, tokens, False, False, "\n", CUT_PART
            )
            return
        segments = list(self._segments(raw, part.kind))
        sources = [raw[segment.start : segment.end] for segment in segments]
        shares = self._shares(part, sources)
        fence = ""
        for number, (segment, share) in enumerate(zip(segments, shares, strict=True)):
            cut = CUT_PART if part.text and not number else segment.cut
            piece = self._segment_piece(start, segment, sources[number], share, cut, bool(number))
            yield replace(piece, fence=fence) if fence else piece
            if self.block.kind is not BlockKind.CODE:
                fence = open_fence(share.text, fence)

    def _shares(self, part: Part, sources: Sequence[str]) -> list[Share]:
        text = part.text or self.block.text
        if part.kind in _VERBATIM_KINDS:
            return divide_lines(text, sources)
        is_row = part.kind is BlockKind.TABLE and part.text
        if is_row and self.tools.count_tokens(text) <= self.limit:
            # The mark-up before the cells is long, such as a table's summary.
            return [*(_NO_SHARE for _ in sources[1:]), Share(text, "\n")]
        return divide_prose(text, sources)

    def _segments(self, raw: str, kind: BlockKind) -> Iterator[Segment]:
        tools = self.tools
        if kind in _VERBATIM_KINDS:
            return code_segments(raw, self.limit, tools.count_tokens)
        return prose_segments(
            raw, self.language, self.limit, tools.count_tokens, tools.split_sentences
        )

    def _segment_piece(
        self, base: int, segment: Segment, source: str, share: Share, cut: float, inside: bool
    ) -> ChunkPiece:
        return ChunkPiece(
            block=self.block,
            start=base + segment.start,
            end=base + segment.end,
            text=share.text,
            tokens=self.tools.count_tokens(source),
            whole=False,
            joiner=share.joiner if inside else "\n",
            cut=cut,
        )


def _split_included(
    block: Block, source: str, directive: Span, limit: int, tools: ChunkingTools
) -> list[ChunkPiece]:
    """Return pieces of an include directive, each followed by some of the included text."""
    start, end = directive
    own = tools.count_tokens(source[start:end]) + 2
    tokens = own + tools.count_tokens(block.text)
    if tokens <= limit:
        return [ChunkPiece(block, start, end, block.text, tokens, included_text=block.text)]
    # Every piece repeats the directive. So they are made large here instead of by the packer.
    pieces: list[ChunkPiece] = []
    fence = ""
    # The directive may be inside a list that is longer than a chunk.
    room = limit - own if own < limit else limit // 2
    for number, text in enumerate(_even_runs(block.text, room, tools)):
        piece = ChunkPiece(
            block=block,
            start=start,
            end=end,
            text=text,
            tokens=own + tools.count_tokens(text),
            whole=False,
            joiner="\n",
            cut=CUT_PART if number else 0.0,
            included_text=text,
            fence=fence,
        )
        pieces.append(piece)
        if block.kind is not BlockKind.CODE:
            fence = open_fence(text, fence)
    return pieces


def _even_runs(text: str, room: int, tools: ChunkingTools) -> Iterator[str]:
    """Yield runs of whole lines of about equal length, each of at most `room` tokens."""
    segments = list(code_segments(text, room, tools.count_tokens))
    sizes = [tools.count_tokens(text[each.start : each.end]) + 1 for each in segments]
    share = sum(sizes) / (sum(sizes) // room + 1)
    first, size = 0, 0
    for number, segment in enumerate(segments):
        full = size + sizes[number] > room
        good = size >= share * 0.7 and segment.cut < CUT_PART * 5
        if number > first and (full or good):
            yield text[segments[first].start : segments[number - 1].end]
            first, size = number, 0
        size += sizes[number]
    if segments:
        yield text[segments[first].start : segments[-1].end]


def _trimmed(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without blanks at its end and without blank lines at its start."""
    while end > start and source[end - 1].isspace():
        end -= 1
    while start < end and source[start] in "\r\n":
        start += 1
    return start, end
