"""What a book's chunks keep of the guarantees, and their measures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StructureConfig
from app.domain.chunking.guarantees import CHECKS, Evidence, at_chunk
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book


@dataclass(frozen=True, slots=True)
class Report:
    """Counts of a book's chunks, and what breaks a guarantee, by the guarantee's name."""

    chunks: int
    tokens: int
    mean_tokens: float
    in_band: float
    """Share of chunks of the aimed size, 0 to 1; glossary entries and solutions not counted."""
    smallest: int
    largest: int
    overlapping: int
    """Chunks that repeat something of the one before."""
    overlap: float
    """Mean share of its tokens that such a chunk repeats, 0 to 1."""
    overlap_of_all: float
    """Share of all tokens that are repeated."""
    duplicates: int
    """Chunks whose text another one of the book has too."""
    content_types: Mapping[str, int]
    breaches: Mapping[str, Sequence[str]]
    """For each guarantee, where it does not hold: `file:offset: what`."""

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
    """Check the book's chunks, given in order, against every guarantee."""
    config = config or StructureConfig()
    by_position: defaultdict[int, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_position[chunk.position].append(chunk)
    breaches: dict[str, list[str]] = {name: [] for name in CHECKS}
    for document in book.documents:
        evidence = Evidence(
            document,
            by_position[document.position],
            exclude,
            config,
            tools,
        )
        for name, check in CHECKS.items():
            breaches[name] += check(evidence)
    breaches["identity"] = list(_identity(chunks))
    return _measured(chunks, config, breaches)


def _identity(chunks: Sequence[Chunk]) -> Iterator[str]:
    ids: set[str] = set()
    places: set[tuple[str, int]] = set()
    for chunk in chunks:
        place = (chunk.file, chunk.chunk_index)
        if chunk.chunk_id in ids:
            yield at_chunk(chunk, "has an id that another chunk has")
        if place in places:
            yield at_chunk(chunk, "has a place that another chunk has")
        ids.add(chunk.chunk_id)
        places.add(place)


def _measured(
    chunks: Sequence[Chunk], config: StructureConfig, breaches: Mapping[str, Sequence[str]]
) -> Report:
    sizes = [chunk.token_count for chunk in chunks]
    short_by_nature = (BlockKind.GLOSSARY_ENTRY, BlockKind.SOLUTION)
    sized = [chunk.token_count for chunk in chunks if chunk.content_type not in short_by_nature]
    shares = [chunk.overlap_start / chunk.token_count for chunk in chunks if chunk.overlap_start]
    texts = Counter(chunk.text_content for chunk in chunks)
    return Report(
        chunks=len(chunks),
        tokens=sum(sizes),
        mean_tokens=_mean(sizes),
        in_band=_mean([config.low <= size <= config.high for size in sized]),
        smallest=min(sizes, default=0),
        largest=max(sizes, default=0),
        overlapping=len(shares),
        overlap=_mean(shares),
        overlap_of_all=sum(c.overlap_start for c in chunks) / sum(sizes) if chunks else 0.0,
        duplicates=sum(count - 1 for count in texts.values()),
        content_types=dict(sorted(Counter(chunk.content_type for chunk in chunks).items())),
        breaches=breaches,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
