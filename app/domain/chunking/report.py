"""The chunking report of a book: sizes, overlap, and breaches of the guarantees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StructureConfig
from app.domain.chunking.guarantees import CHECKS, CheckInput, at_chunk
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book


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
    duplicates: int
    """Number of chunks with the same text as an earlier one."""
    content_types: Mapping[str, int]
    breaches: Mapping[str, Sequence[str]]
    """Breaches by guarantee, each `file:offset: what`."""

    @property
    def broken(self) -> int:
        return sum(len(found) for found in self.breaches.values())


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
    for document in book.documents:
        given = CheckInput(document, by_position[document.position], exclude, config, tools)
        for name, check in CHECKS.items():
            breaches[name] += check(given)
    breaches["identity"] = list(_identity(chunks))
    return _measure(chunks, config, breaches)


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


def _measure(
    chunks: Sequence[Chunk], config: StructureConfig, breaches: Mapping[str, Sequence[str]]
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
        duplicates=sum(count - 1 for count in texts.values()),
        content_types=dict(sorted(Counter(chunk.content_type for chunk in chunks).items())),
        breaches=breaches,
    )


def _share_in_band(chunks: Sequence[Chunk], config: StructureConfig) -> float:
    short_by_nature = (BlockKind.GLOSSARY_ENTRY, BlockKind.SOLUTION)
    sizes = [chunk.token_count for chunk in chunks if chunk.content_type not in short_by_nature]
    return _mean([config.low <= size <= config.high for size in sizes])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
