"""The chunking report of a book: sizes, overlap, and breaches of the guarantees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.chunk_pieces import PROSE_KINDS
from app.domain.chunking.config import StructureConfig
from app.domain.chunking.guarantees import CHECKS, CheckInput, at_chunk
from app.domain.chunking.inline_markup import sentence_spans
from app.domain.chunking.overlap import LONGEST
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Book


@dataclass(frozen=True, slots=True)
class Report:
    """Measures of a book's chunks, and the breaches by guarantee."""

    chunks: int
    tokens: int
    mean_tokens: float
    in_band: float
    """Share of chunks within the target size, 0 to 1, without glossary entries and solutions."""
    smallest: int
    largest: int
    overlapping: int
    """Number of chunks that overlap with the previous one."""
    overlap: float
    """Mean share of repeated tokens in those chunks, 0 to 1."""
    overlap_of_all: float
    """Share of repeated tokens in all chunks, 0 to 1."""
    pairs: int
    """Number of pairs of adjacent chunks of a page that could overlap: the first chunk ends with a
    sentence or block that fits the overlap. Glossary entries and solutions are left out, because
    they never overlap with other chunks."""
    sharing: float
    """Share of these pairs that overlap, 0 to 1."""
    duplicates: int
    """Number of chunks with the same text as an earlier one."""
    content_types: Mapping[str, int]
    breaches: Mapping[str, Sequence[str]]
    """Breaches by guarantee, each `file:offset: what`."""


def guarantee_report(
    book: Book,
    chunks: Sequence[Chunk],
    tools: ChunkingTools,
    config: StructureConfig | None = None,
    exclude: Sequence[BlockKind] = (),
) -> Report:
    """Measure the book's chunks, given in order, and check every guarantee."""
    config = config or StructureConfig()
    by_position: defaultdict[int, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_position[chunk.position].append(chunk)
    breaches: dict[str, list[str]] = {name: [] for name in CHECKS}
    pairs: list[bool] = []
    for document in book.documents:
        given = CheckInput(document, by_position[document.position], exclude, config, tools)
        for name, check in CHECKS.items():
            breaches[name] += check(given)
        pairs += _pairs(given)
    breaches["identity"] = list(_identity(chunks))
    return _measure(chunks, config, breaches, pairs)


def _identity(chunks: Sequence[Chunk]) -> Iterator[str]:
    ids: set[str] = set()
    positions: set[tuple[str, int]] = set()
    for chunk in chunks:
        position = (chunk.file, chunk.chunk_index)
        if chunk.chunk_id in ids:
            yield at_chunk(chunk, "has the id of another chunk")
        if position in positions:
            yield at_chunk(chunk, "has the position of another chunk")
        ids.add(chunk.chunk_id)
        positions.add(position)


def _pairs(given: CheckInput) -> Iterator[bool]:
    """Yield for each adjacent pair that could overlap whether it does."""
    fits: dict[int, bool] = {}
    for before, chunk in pairwise(given.chunks):
        if _is_separate(before) or _is_separate(chunk):
            continue
        block = given.inside(before.char_end - 1, before.char_end)[-1]
        if block.start not in fits:  # many chunks may end in one long block
            fits[block.start] = block.kind is not BlockKind.HEADING and _fits_overlap(given, block)
        if fits[block.start]:
            yield bool(chunk.overlap_start)


def _is_separate(chunk: Chunk) -> bool:
    return chunk.content_type in (BlockKind.GLOSSARY_ENTRY, BlockKind.SOLUTION)


def _fits_overlap(given: CheckInput, block: Block) -> bool:
    """Whether the block, or the last sentence of prose, is within the greatest overlap."""
    most = int(given.config.overlap * LONGEST)
    if block.kind not in PROSE_KINDS or given.tokens(block) <= most:
        return given.tokens(block) <= most
    raw = given.document.source[block.start : block.end]
    start, end = sentence_spans(raw, given.document.language, given.tools.split_sentences)[-1]
    return given.tools.count_tokens(raw[start:end]) <= most


def _measure(
    chunks: Sequence[Chunk],
    config: StructureConfig,
    breaches: Mapping[str, Sequence[str]],
    pairs: Sequence[bool],
) -> Report:
    sizes = [chunk.token_count for chunk in chunks]
    shares = [chunk.overlap_start / chunk.token_count for chunk in chunks if chunk.overlap_start]
    texts = Counter(chunk.text_content for chunk in chunks)
    return Report(
        chunks=len(chunks),
        tokens=sum(sizes),
        mean_tokens=_mean(sizes),
        in_band=_share_in_band(chunks, config),
        smallest=min(sizes, default=0),
        largest=max(sizes, default=0),
        overlapping=len(shares),
        overlap=_mean(shares),
        overlap_of_all=sum(c.overlap_start for c in chunks) / sum(sizes) if chunks else 0.0,
        pairs=len(pairs),
        sharing=_mean(pairs),
        duplicates=sum(count - 1 for count in texts.values()),
        content_types=dict(sorted(Counter(chunk.content_type for chunk in chunks).items())),
        breaches=breaches,
    )


def _share_in_band(chunks: Sequence[Chunk], config: StructureConfig) -> float:
    sizes = [chunk.token_count for chunk in chunks if not _is_separate(chunk)]
    return _mean([config.low <= size <= config.high for size in sizes])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
