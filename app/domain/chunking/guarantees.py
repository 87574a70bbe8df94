"""The guarantees of the `structure` strategy. Each has a check that yields its breaches."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from operator import attrgetter
from types import MappingProxyType

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_pieces import is_from_other_file
from app.domain.chunking.config import OverlapScope, StructureConfig
from app.domain.chunking.cut_points import (
    SHORTEST,
    code_segments,
    continues,
    leads_in,
    prose_segments,
)
from app.domain.chunking.overlap import NEVER_REPEATED
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Document, Span

_ATOMIC = frozenset(
    {BlockKind.CODE, BlockKind.TABLE, BlockKind.LIST, BlockKind.MATH, BlockKind.GLOSSARY_ENTRY}
)
_GAP_TOKENS = 4
"""Upper bound of the tokens in a gap between two blocks."""
_LINEWISE = frozenset({BlockKind.CODE, BlockKind.MATH})


@dataclass(frozen=True)
class CheckInput:
    """A document and its chunks, with the look-ups that the checks share."""

    document: Document
    chunks: Sequence[Chunk]
    exclude: Sequence[BlockKind]
    config: StructureConfig
    tools: ChunkingTools
    _tokens: dict[str, int] = field(default_factory=dict)
    _cuts: dict[Span, set[int]] = field(default_factory=dict)

    @cached_property
    def blocks(self) -> list[Block]:
        return [block for block in self.document.blocks if block.kind not in self.exclude]

    @cached_property
    def starts(self) -> list[int]:
        """Start offsets of the blocks, ascending."""
        return [block.start for block in self.document.blocks]

    @cached_property
    def by_start(self) -> dict[int, Block]:
        return {block.start: block for block in self.document.blocks}

    @cached_property
    def spans(self) -> list[tuple[Span, int]]:
        """(span, index into `chunks`) of every span, ascending."""
        return sorted(
            (span, number) for number, chunk in enumerate(self.chunks) for span in chunk.spans
        )

    @cached_property
    def longest(self) -> int:
        return max((end - start for (start, end), _ in self.spans), default=0)

    def holders(self, start: int, end: int) -> Iterator[int]:
        """Yield the indexes of the chunks with `start:end` in one span."""
        for span, number in self.spans_from(start):
            if span[0] > start:
                return
            if span[1] >= end:
                yield number

    def spans_from(self, start: int) -> Iterator[tuple[Span, int]]:
        """Return the spans that may contain `start`, and all later ones."""
        first = bisect_left(self.spans, ((start - self.longest, 0), 0))
        return islice(self.spans, first, None)

    def inside(self, start: int, end: int) -> list[Block]:
        """Return the blocks that overlap `start:end`."""
        starts = self.starts
        first = max(bisect_right(starts, start) - 1, 0)
        found = [self.by_start[at] for at in starts[first : bisect_left(starts, end)]]
        return [block for block in found if block.end > start and block.start < end]

    def tokens(self, block: Block) -> int:
        """Return the tokens of the block's source, and of the included text that follows it."""
        if block.paragraph_id not in self._tokens:
            raw = self.document.source[block.start : block.end]
            text = f"{raw}\n\n{block.text}" if self.is_included(block) else raw
            self._tokens[block.paragraph_id] = self.tools.count_tokens(text)
        return self._tokens[block.paragraph_id]

    def is_included(self, block: Block) -> bool:
        """Whether the block comes from another file: its span does not tell which chunk has it."""
        return is_from_other_file(block, self.document.source)

    def cut_points(self, kind: BlockKind, start: int, end: int) -> set[int]:
        """Return the offsets at which a block or part at `start:end` may be cut."""
        if (start, end) not in self._cuts:
            raw = self.document.source[start:end]
            self._cuts[start, end] = _cut_points(self, kind, raw, start)
        return self._cuts[start, end]


def _check_verbatim(given: CheckInput) -> Iterator[str]:
    for chunk in given.chunks:
        if not is_verbatim(chunk, given.document.source):
            yield at_chunk(chunk, "text differs from its spans and context")


def is_verbatim(chunk: Chunk, source: str) -> bool:
    """Whether the text is exactly its spans, in order, and its context, joined by blank lines."""
    at = 0
    spans = iter(chunk.spans)
    context = dict(chunk.context)
    text = chunk.text_content
    while True:
        if at in context:
            at = context[at]
        else:
            span = next(spans, None)
            if span is None:
                return False
            piece = source[span[0] : span[1]]
            if not piece or not text.startswith(piece, at):
                return False
            at += len(piece)
        if at == len(text):
            return next(spans, None) is None
        if not text.startswith("\n\n", at):
            return False
        at += 2


def _check_coverage(given: CheckInput) -> Iterator[str]:
    paths = {chunk.heading_path[: n + 1] for chunk in given.chunks for n in range(9)}
    for block in given.blocks:
        in_path = block.kind is BlockKind.HEADING and block.heading_path in paths
        if not in_path and not _is_covered(given, block):
            yield f"{block.file}:{block.start}: {block.kind} is not whole in the chunks"


def _is_covered(given: CheckInput, block: Block) -> bool:
    """Whether every non-blank character of the block is in a chunk."""
    if any(True for _ in given.holders(block.start, block.end)):
        return True
    source = given.document.source
    at = block.start
    for (start, end), _ in given.spans_from(block.start):
        if start >= block.end:
            break
        if end > at and not source[at:start].strip():
            at = max(at, end)
    return not source[at : block.end].strip()


def _check_integrity(given: CheckInput) -> Iterator[str]:
    for block in given.blocks:
        if block.kind not in _ATOMIC:
            continue
        whole = any(True for _ in given.holders(block.start, block.end))
        if not whole and given.tokens(block) <= given.config.maximum:
            yield f"{block.file}:{block.start}: {block.kind} is whole in no chunk"


def _check_size(given: CheckInput) -> Iterator[str]:
    for chunk in given.chunks:
        exact = given.tools.count_tokens(chunk.text_content)
        if exact != chunk.token_count:
            yield at_chunk(chunk, f"has {exact} tokens but reports {chunk.token_count}")
        if exact > given.config.maximum:
            yield at_chunk(chunk, f"has {exact} tokens, more than {given.config.maximum}")


def _check_minimum(given: CheckInput) -> Iterator[str]:
    """Yield chunks below the minimum that could take a block of a neighbour in their section."""
    minimum = given.config.minimum
    streams: defaultdict[BlockKind | None, list[Chunk]] = defaultdict(list)
    for chunk in given.chunks:
        streams[_separate_kind(BlockKind(chunk.content_type))].append(chunk)
    padded = [None, *streams[None], None]
    for before, chunk, after in zip(padded, streams[None], padded[2:], strict=False):
        if chunk.token_count >= minimum or chunk.content_type == BlockKind.HEADING:
            continue
        if any(other and _could_take(given, chunk, other) for other in (before, after)):
            yield at_chunk(chunk, f"has only {chunk.token_count} tokens")


def _could_take(given: CheckInput, chunk: Chunk, other: Chunk) -> bool:
    """Whether a short chunk has room for its whole neighbour, or for the neighbour's edge block."""
    follows = other.char_start > chunk.char_start
    pair = _edge_blocks(given, chunk, other, follows)
    if not pair:  # all of it is overlap
        return False
    edge = pair[0] if follows else pair[-1]
    if edge.heading_path not in {passage.heading_path for passage in chunk.passages}:
        return False
    room = given.config.maximum - chunk.token_count - _GAP_TOKENS
    if other.token_count <= room:
        return True
    minimum, tokens = given.config.minimum, given.tokens(edge)
    stays_above_minimum = other.token_count - other.overlap_start - tokens >= minimum
    helps = minimum - chunk.token_count <= tokens <= room
    return helps and stays_above_minimum and not (len(pair) == 2 and _belong_together(*pair))


def _edge_blocks(given: CheckInput, chunk: Chunk, other: Chunk, follows: bool) -> list[Block]:
    """Return the (at most) two blocks of `other` nearest to `chunk`, without overlap."""
    shared = shared_spans(chunk, other)
    blocks = [
        block
        for start, end in other.spans
        for block in given.inside(start, end)
        if (block.start, block.end) not in shared and _separate_kind(block.kind) is None
    ]
    return blocks[:2] if follows else blocks[-2:]


def _belong_together(before: Block, block: Block) -> bool:
    return before.kind is BlockKind.HEADING or leads_in(before, block) or continues(before, block)


def _check_sentences(given: CheckInput) -> Iterator[str]:
    for chunk in given.chunks:
        for span in chunk.spans:
            for at in span:
                for block in given.inside(at, at + 1):
                    if block.start < at < block.end and not _is_cut_point(given, block, at):
                        yield f"{chunk.file}:{at}: cut inside a sentence or line"


def _is_cut_point(given: CheckInput, block: Block, at: int) -> bool:
    """Whether `at` is between sentences, items, rows or lines of the block."""
    if not block.parts:
        return at in given.cut_points(block.kind, block.start, block.end)
    before = bisect_left(block.parts, at, key=attrgetter("start"))
    if not before or at >= block.parts[before - 1].end:
        return True
    part = block.parts[before - 1]
    return at in given.cut_points(part.kind, part.start, part.end)


def _cut_points(given: CheckInput, kind: BlockKind, raw: str, base: int) -> set[int]:
    """Return the ends of sentences or lines, and the cut points in those too long for a chunk."""
    tools, limit = given.tools, given.config.maximum
    language, split = given.document.language, tools.split_sentences
    cuts: set[int] = set()
    for shortest in (0, SHORTEST):
        segments = (
            code_segments(raw, limit, tools.count_tokens, shortest)
            if kind in _LINEWISE
            else prose_segments(raw, language, limit, tools.count_tokens, split, shortest)
        )
        cuts.update(base + at for segment in segments for at in (segment.start, segment.end))
    return cuts


def _check_overlap(given: CheckInput) -> Iterator[str]:
    for before, chunk in pairwise(given.chunks):
        if before.overlap_end != chunk.overlap_start:
            yield at_chunk(
                chunk, f"overlap is {before.overlap_end} before, {chunk.overlap_start} here"
            )
        yield from _check_shared_text(given, before, chunk)
    if given.chunks and given.chunks[0].overlap_start:
        yield at_chunk(given.chunks[0], "overlaps but has no previous chunk")
    if given.chunks and given.chunks[-1].overlap_end:
        yield at_chunk(given.chunks[-1], "overlaps but has no next chunk")


def _check_shared_text(given: CheckInput, before: Chunk, chunk: Chunk) -> Iterator[str]:
    shared = shared_spans(before, chunk)
    text = "\n\n".join(given.document.source[start:end] for start, end in shared)
    if given.tools.count_tokens(text) != chunk.overlap_start:
        yield at_chunk(chunk, f"shares {text[:40]!r} but reports {chunk.overlap_start} tokens")
    blocks = [block for span in shared for block in given.inside(*span)]
    if len({block.heading_path for block in blocks}) > 1:
        yield at_chunk(chunk, "overlap is of several sections")
    within_page = given.config.overlap_scope is OverlapScope.PAGE
    if within_page and any(block.kind in NEVER_REPEATED for block in blocks):
        yield at_chunk(chunk, "repeats an exercise, a solution or a glossary entry")


def shared_spans(before: Chunk, after: Chunk) -> list[Span]:
    """Return the source spans that both chunks contain, in order."""
    shared = [
        (max(a[0], b[0]), min(a[1], b[1]))
        for a in before.spans
        for b in after.spans
        if a[0] < b[1] and b[0] < a[1]
    ]
    return sorted(shared)


def _check_headings(given: CheckInput) -> Iterator[str]:
    """Yield chunks that end with a heading, unless its section is empty."""
    empty = _empty_sections(given)
    for chunk in given.chunks:
        blocks = given.inside(chunk.char_end - 1, chunk.char_end)
        if not blocks or blocks[-1].kind is not BlockKind.HEADING:
            continue
        if given.is_included(blocks[-1]) and not chunk.text_content.endswith(blocks[-1].text):
            continue
        if blocks[-1].start not in empty:
            yield at_chunk(chunk, "ends with a heading")


def _empty_sections(given: CheckInput) -> set[int]:
    """Return the offset of each heading without a block below it."""
    return {
        heading.start
        for heading, block in zip(given.blocks, [*given.blocks[1:], None], strict=False)
        if heading.kind is BlockKind.HEADING
        and (block is None or (block.kind is BlockKind.HEADING and block.level <= heading.level))
    }


def _check_lead_ins(given: CheckInput) -> Iterator[str]:
    """Yield lead-ins separated from their block although all that belongs together fits a chunk."""
    blocks = [block for block in given.blocks if _separate_kind(block.kind) is None]
    run: list[Block] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=False):
        run.append(block)
        if following is not None and _belong_together(block, following):
            continue
        if sum(given.tokens(each) + _GAP_TOKENS for each in run) <= given.config.maximum:
            yield from _separated(given, run)
        run = []


def _separated(given: CheckInput, run: Sequence[Block]) -> Iterator[str]:
    for before, block in pairwise(run):
        if not leads_in(before, block) or given.is_included(block):
            continue
        held = set(given.holders(before.end - 1, before.end))
        if not held.intersection(given.holders(block.start, block.start + 1)):
            yield f"{before.file}:{before.start}: lead-in is separated from its block"


def _separate_kind(kind: BlockKind) -> BlockKind | None:
    return kind if kind in (BlockKind.GLOSSARY_ENTRY, BlockKind.SOLUTION) else None


def _check_purity(given: CheckInput) -> Iterator[str]:
    for chunk in given.chunks:
        kinds = [p.kind for p in chunk.passages if p.kind is not BlockKind.HEADING]
        entries = {p.paragraph_id for p in chunk.passages if p.kind is BlockKind.GLOSSARY_ENTRY}
        if len(entries) > 1 or len({_separate_kind(kind) for kind in kinds}) > 1:
            yield at_chunk(chunk, "mixes glossary entries or solutions with other text")


def _check_passages(given: CheckInput) -> Iterator[str]:
    paths = {block.paragraph_id: block.heading_path for block in given.document.blocks}
    for chunk in given.chunks:
        source = given.document.source
        for passage in chunk.passages:
            if passage.heading_path != paths.get(passage.paragraph_id):
                yield at_chunk(chunk, "a passage is under a wrong heading")
            if passage.verbatim and passage.text != source[passage.start : passage.end]:
                yield at_chunk(chunk, "a verbatim passage is not its source")


def at_chunk(chunk: Chunk, what: str) -> str:
    return f"{chunk.file}:{chunk.char_start}: chunk {chunk.chunk_index} {what}"


CHECKS: Mapping[str, Callable[[CheckInput], Iterator[str]]] = MappingProxyType(
    {
        "verbatim": _check_verbatim,
        "coverage": _check_coverage,
        "integrity": _check_integrity,
        "size": _check_size,
        "minimum": _check_minimum,
        "sentences": _check_sentences,
        "overlap": _check_overlap,
        "headings": _check_headings,
        "lead-ins": _check_lead_ins,
        "purity": _check_purity,
        "passages": _check_passages,
    }
)
