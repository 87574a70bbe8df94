"""The chunking report of a book: sizes, overlap, broken blocks and cut sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import PackingConfig
from app.domain.chunking.cut_points import sentence_segments
from app.domain.chunking.pieces import PROSE_KINDS
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book

_WHOLE = frozenset(
    {BlockKind.CODE, BlockKind.TABLE, BlockKind.LIST, BlockKind.MATH, BlockKind.GLOSSARY_ENTRY}
)


@dataclass(frozen=True, slots=True)
class Report:
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
    duplicates: int
    """Number of chunks with the same text as an earlier one."""
    broken_blocks: Sequence[str]
    """Code, tables, lists, maths and glossary entries that would fit into a chunk but are whole in
    none, each `file:offset kind`."""
    cut_sentences: int
    """Beginnings and ends of chunks inside a sentence of a paragraph."""
    content_types: Mapping[str, int]


def chunking_report(
    book: Book, chunks: Sequence[Chunk], tools: ChunkingTools, config: PackingConfig
) -> Report:
    """Measure the book's chunks."""
    sizes = [chunk.token_count for chunk in chunks]
    shares = [chunk.overlap_start / chunk.token_count for chunk in chunks if chunk.overlap_start]
    apart = (BlockKind.GLOSSARY_ENTRY, BlockKind.SOLUTION)
    main = [chunk.token_count for chunk in chunks if chunk.content_type not in apart]
    return Report(
        chunks=len(chunks),
        tokens=sum(sizes),
        mean_tokens=_mean(sizes),
        in_band=_mean([config.low <= size <= config.high for size in main]),
        smallest=min(sizes, default=0),
        largest=max(sizes, default=0),
        overlapping=len(shares),
        overlap=_mean(shares),
        duplicates=len(chunks) - len({chunk.text_content for chunk in chunks}),
        broken_blocks=[*_broken(book, chunks, tools, config.maximum)],
        cut_sentences=_cut_sentences(book, chunks, tools),
        content_types=dict(sorted(Counter(chunk.content_type for chunk in chunks).items())),
    )


def _broken(
    book: Book, chunks: Sequence[Chunk], tools: ChunkingTools, maximum: int
) -> Iterator[str]:
    parts = _passages(chunks)
    for block in book.blocks():
        held = parts.get(block.paragraph_id, ())
        if block.kind not in _WHOLE or not held or tools.count_tokens(block.text) > maximum:
            continue
        if not any(one.own_text == block.text for one in held):
            yield f"{block.file}:{block.start} {block.kind}"


def _cut_sentences(book: Book, chunks: Sequence[Chunk], tools: ChunkingTools) -> int:
    parts = _passages(chunks)
    count = 0
    for document in book.documents:
        for block in document.blocks:
            if block.kind not in PROSE_KINDS:
                continue
            found = [*sentence_segments(block.text, document.language, tools)]
            starts, ends = {one.start for one in found}, {one.end for one in found}
            for one in parts.get(block.paragraph_id, ()):
                count += (one.offset not in starts | {0}) + (
                    one.stop not in ends | {len(block.text)}
                )
    return count


def _passages(chunks: Sequence[Chunk]) -> Mapping[str, Sequence[Passage]]:
    parts: defaultdict[str, list[Passage]] = defaultdict(list)
    for chunk in chunks:
        for passage in chunk.passages:
            parts[passage.paragraph_id].append(passage)
    return parts


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
