"""The guarantees: named checks, each of which finds where a document's chunks break one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StructureConfig
from app.domain.chunking.joints import SHORTEST, code_tiles, prose_tiles
from app.domain.chunking.lead_ins import continues, leads_in
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Document, Span
from app.domain.long_text import Text

_ATOMIC = frozenset(
    {BlockKind.CODE, BlockKind.TABLE, BlockKind.LIST, BlockKind.MATH, BlockKind.GLOSSARY_ENTRY}
)
_JOIN = 4
"""Tokens that a gap between two blocks may take, amply."""
_LINEWISE = frozenset({BlockKind.CODE, BlockKind.MATH})


@dataclass(frozen=True)
class Evidence:
    """A document beside its chunks, with what several checks look up."""

    document: Document
    chunks: Sequence[Chunk]
    exclude: Sequence[BlockKind]
    config: StructureConfig
    tools: ChunkingTools
    _tokens: dict[Span, int] = field(default_factory=dict)
    _cuts: dict[Span, set[int]] = field(default_factory=dict)

    @cached_property
    def blocks(self) -> list[Block]:
        return [block for block in self.document.blocks if block.kind not in self.exclude]

    @cached_property
    def starts(self) -> dict[str, list[int]]:
        """By file, where the blocks start, ascending."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for block in self.document.blocks:
            found[block.file].append(block.start)
        return dict(found)

    @cached_property
    def by_start(self) -> dict[tuple[str, int], Block]:
        return {(block.file, block.start): block for block in self.document.blocks}

    @cached_property
    def spans(self) -> dict[str, list[tuple[Span, int]]]:
        """By file, the spans of all chunks with the chunk's number, ascending."""
        found: defaultdict[str, list[tuple[Span, int]]] = defaultdict(list)
        for number, chunk in enumerate(self.chunks):
            found[chunk.file] += [(span, number) for span in chunk.spans]
        return {file: sorted(spans) for file, spans in found.items()}

    @cached_property
    def longest(self) -> dict[str, int]:
        return {
            file: max(span[1] - span[0] for span, _ in spans) for file, spans in self.spans.items()
        }

    def holders(self, file: str, start: int, end: int) -> Iterator[int]:
        """Numbers of the chunks that have `start:end` in one span."""
        for span, number in self.spans_from(file, start):
            if span[0] > start:
                return
            if span[1] >= end:
                yield number

    def spans_from(self, file: str, start: int) -> Iterator[tuple[Span, int]]:
        """The spans of the file that may hold `start`, and all that begin behind it."""
        spans = self.spans.get(file, [])
        first = bisect_left(spans, ((start - self.longest.get(file, 0), 0), 0))
        return (spans[number] for number in range(first, len(spans)))

    def inside(self, file: str, start: int, end: int) -> list[Block]:
        """The blocks that overlap `start:end`."""
        starts = self.starts.get(file, [])
        first = max(bisect_right(starts, start) - 1, 0)
        found = [self.by_start[file, at] for at in starts[first : bisect_left(starts, end)]]
        return [block for block in found if block.end > start and block.start < end]

    def tokens(self, block: Block) -> int:
        span = (block.start, block.end)
        if span not in self._tokens:
            raw = self.document.source[block.start : block.end]
            self._tokens[span] = self.tools.count_tokens(raw)
        return self._tokens[span]

    def cuts(self, kind: BlockKind, start: int, end: int) -> set[int]:
        """Where a cut of `start:end`, a block or a part of one, is allowed."""
        if (start, end) not in self._cuts:
            raw = self.document.source[start:end]
            self._cuts[start, end] = _cuts(self, kind, raw, start)
        return self._cuts[start, end]


def _verbatim(evidence: Evidence) -> Iterator[str]:
    for chunk in evidence.chunks:
        if not is_verbatim(chunk, evidence.document.source):
            yield at_chunk(chunk, "text is not made of its spans and marked context")


def is_verbatim(chunk: Chunk, source: Text) -> bool:
    """Whether the text is exactly its spans, in order, and marked context, joined by gaps."""
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


def _coverage(evidence: Evidence) -> Iterator[str]:
    paths = {chunk.heading_path[: n + 1] for chunk in evidence.chunks for n in range(9)}
    for block in evidence.blocks:
        if any(True for _ in evidence.holders(block.file, block.start, block.end)):
            continue
        source = evidence.document.source
        at = block.start
        for (start, end), _ in evidence.spans_from(block.file, block.start):
            if start >= block.end:
                break
            if end > at and not source[at:start].strip():
                at = max(at, end)
        said = block.kind is BlockKind.HEADING and block.heading_path in paths
        if source[at : block.end].strip() and not said:
            yield f"{block.file}:{block.start}: {block.kind} is not whole in the chunks"


def _integrity(evidence: Evidence) -> Iterator[str]:
    for block in evidence.blocks:
        if block.kind not in _ATOMIC:
            continue
        whole = any(True for _ in evidence.holders(block.file, block.start, block.end))
        if not whole and evidence.tokens(block) <= evidence.config.maximum:
            yield f"{block.file}:{block.start}: {block.kind} is whole in no chunk"


def _size(evidence: Evidence) -> Iterator[str]:
    for chunk in evidence.chunks:
        exact = evidence.tools.count_tokens(chunk.text_content)
        if exact != chunk.token_count:
            yield at_chunk(chunk, f"has {exact} tokens and says {chunk.token_count}")
        if exact > evidence.config.maximum:
            yield at_chunk(chunk, f"has {exact} tokens")


def _minimum(evidence: Evidence) -> Iterator[str]:
    """Too short, though a neighbour of its section has a block that would go with it."""
    minimum = evidence.config.minimum
    streams: defaultdict[BlockKind | None, list[Chunk]] = defaultdict(list)
    for chunk in evidence.chunks:
        streams[_apart(BlockKind(chunk.content_type))].append(chunk)
    for before, chunk, after in _threes(streams[None]):
        if chunk.token_count >= minimum or chunk.content_type == BlockKind.HEADING:
            continue
        if any(other and _would_take(evidence, chunk, other) for other in (before, after)):
            yield at_chunk(chunk, f"has only {chunk.token_count} tokens")


def _would_take(evidence: Evidence, chunk: Chunk, other: Chunk) -> bool:
    """Whether a short chunk could have all of its neighbour, or the nearest block of it."""
    if other.file != chunk.file:
        return False
    shared = shared_spans(chunk, other)
    blocks = [
        block
        for start, end in other.spans
        for block in evidence.inside(other.file, start, end)
        if (block.start, block.end) not in shared and _apart(block.kind) is None
    ]
    if other.char_start > chunk.char_start:
        near, next_near = blocks[0], blocks[1:2]
        tied = any(_tied(near, block) for block in next_near)
    else:
        near, next_near = blocks[-1], blocks[-2:-1]
        tied = any(_tied(block, near) for block in next_near)
    if near.heading_path not in {passage.heading_path for passage in chunk.passages}:
        return False
    room = evidence.config.maximum - chunk.token_count - _JOIN
    tokens = evidence.tokens(near)
    minimum = evidence.config.minimum
    stays = other.token_count - other.overlap_start - tokens >= minimum
    helps = minimum - chunk.token_count <= tokens <= room
    return other.token_count <= room or (helps and stays and not tied)


def _tied(before: Block, block: Block) -> bool:
    return before.kind is BlockKind.HEADING or leads_in(before, block) or continues(before, block)


def _threes(
    chunks: Sequence[Chunk],
) -> Iterator[tuple[Chunk | None, Chunk, Chunk | None]]:
    """Each chunk between its neighbours."""
    padded = [None, *chunks, None]
    yield from zip(padded, chunks, padded[2:], strict=False)


def _sentences(evidence: Evidence) -> Iterator[str]:
    for chunk in evidence.chunks:
        for span in chunk.spans:
            for at in span:
                for block in evidence.inside(chunk.file, at, at + 1):
                    if block.start < at < block.end and not _is_joint(evidence, block, at):
                        yield f"{chunk.file}:{at}: cut inside a sentence or line"


def _is_joint(evidence: Evidence, block: Block, at: int) -> bool:
    """Whether a cut at `at` is between sentences, items, rows or lines of the block."""
    if not block.parts:
        return at in evidence.cuts(block.kind, block.start, block.end)
    before = bisect_left(block.parts, at, key=attrgetter("start"))
    if not before or at >= block.parts[before - 1].end:
        return True
    part = block.parts[before - 1]
    return at in evidence.cuts(part.kind, part.start, part.end)


def _cuts(evidence: Evidence, kind: BlockKind, raw: str, base: int) -> set[int]:
    """Where a cut is between two sentences or lines, or inside one that is too long for a chunk."""
    tools, limit = evidence.tools, evidence.config.maximum
    language, split = evidence.document.language, tools.split_sentences
    cuts: set[int] = set()
    for shortest in (0, SHORTEST):
        tiles = (
            code_tiles(raw, limit, tools.count_tokens, shortest)
            if kind in _LINEWISE
            else prose_tiles(raw, language, limit, tools.count_tokens, split, shortest)
        )
        cuts.update(base + at for tile in tiles for at in (tile.start, tile.end))
    return cuts


def _overlap(evidence: Evidence) -> Iterator[str]:
    for before, chunk in pairwise(evidence.chunks):
        if before.overlap_end != chunk.overlap_start:
            yield at_chunk(
                chunk, f"overlap is {before.overlap_end} before, {chunk.overlap_start} here"
            )
        if before.file != chunk.file:
            continue
        shared = shared_spans(before, chunk)
        source = evidence.document.source
        text = "\n\n".join(source[start:end] for start, end in shared)
        if evidence.tools.count_tokens(text) != chunk.overlap_start:
            yield at_chunk(chunk, f"shares {text[:40]!r} and says {chunk.overlap_start} tokens")
        paths = {
            block.heading_path
            for start, end in shared
            for block in evidence.inside(chunk.file, start, end)
        }
        if len(paths) > 1:
            yield at_chunk(chunk, "overlap goes over a section's end")
    for chunk in (*evidence.chunks[:1], *evidence.chunks[-1:]):
        edge = chunk.overlap_start if chunk is evidence.chunks[0] else chunk.overlap_end
        if edge:
            yield at_chunk(chunk, "overlaps with nothing")


def shared_spans(before: Chunk, after: Chunk) -> list[Span]:
    """Source that both chunks have, in order."""
    shared = [
        (max(a[0], b[0]), min(a[1], b[1]))
        for a in before.spans
        for b in after.spans
        if a[0] < b[1] and b[0] < a[1]
    ]
    return sorted(shared)


def _headings(evidence: Evidence) -> Iterator[str]:
    """Headings at the end of a chunk, save those of sections that hold nothing."""
    empty = {
        (heading.file, heading.start)
        for heading, block in zip(evidence.blocks, [*evidence.blocks[1:], None], strict=False)
        if heading.kind is BlockKind.HEADING
        and (block is None or (block.kind is BlockKind.HEADING and block.level <= heading.level))
    }
    for chunk in evidence.chunks:
        blocks = evidence.inside(chunk.file, chunk.char_end - 1, chunk.char_end)
        if not blocks or blocks[-1].kind is not BlockKind.HEADING:
            continue
        if (chunk.file, blocks[-1].start) not in empty:
            yield at_chunk(chunk, "ends with a heading")


def _lead_ins(evidence: Evidence) -> Iterator[str]:
    """Lead-ins apart from what they introduce, where all that is tied together fits a chunk."""
    blocks = [block for block in evidence.blocks if _apart(block.kind) is None]
    run: list[Block] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=False):
        run.append(block)
        if following is not None and _tied(block, following):
            continue
        if sum(evidence.tokens(each) + _JOIN for each in run) <= evidence.config.maximum:
            yield from _parted(evidence, run)
        run = []


def _parted(evidence: Evidence, run: Sequence[Block]) -> Iterator[str]:
    for before, block in pairwise(run):
        if not leads_in(before, block):
            continue
        held = set(evidence.holders(before.file, before.end - 1, before.end))
        if not held.intersection(evidence.holders(block.file, block.start, block.start + 1)):
            yield f"{before.file}:{before.start}: lead-in is parted from what it introduces"


def _apart(kind: BlockKind) -> BlockKind | None:
    return kind if kind in (BlockKind.GLOSSARY_ENTRY, BlockKind.SOLUTION) else None


def _purity(evidence: Evidence) -> Iterator[str]:
    for chunk in evidence.chunks:
        kinds = [p.kind for p in chunk.passages if p.kind is not BlockKind.HEADING]
        entries = {p.paragraph_id for p in chunk.passages if p.kind is BlockKind.GLOSSARY_ENTRY}
        if len(entries) > 1 or len({_apart(kind) for kind in kinds}) > 1:
            yield at_chunk(chunk, "mixes glossary entries or solutions with other text")


def _passages(evidence: Evidence) -> Iterator[str]:
    for chunk in evidence.chunks:
        source = evidence.document.source
        for passage in chunk.passages:
            if passage.verbatim and passage.text != source[passage.start : passage.end]:
                yield at_chunk(chunk, "a verbatim passage is not its source")


def at_chunk(chunk: Chunk, what: str) -> str:
    return f"{chunk.file}:{chunk.char_start}: chunk {chunk.chunk_index} {what}"


CHECKS: Mapping[str, Callable[[Evidence], Iterator[str]]] = MappingProxyType(
    {
        "verbatim": _verbatim,
        "coverage": _coverage,
        "integrity": _integrity,
        "size": _size,
        "minimum": _minimum,
        "sentences": _sentences,
        "overlap": _overlap,
        "headings": _headings,
        "lead-ins": _lead_ins,
        "purity": _purity,
        "passages": _passages,
    }
)
