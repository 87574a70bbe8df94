"""The strategy `sentence`: groups whole sentences up to a target size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from app.domain.chunking.builder import ChunkBuilder, ChunkDraft
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, SentenceConfig, StrategyName
from app.domain.chunking.pieces import PROSE_KINDS, BlockSplitter, Piece
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book, Document
from app.domain.word_count import word_count


def chunk_sentence(
    document: Document,
    book: Book,
    config: ChunkingConfig,
    tools: ChunkingTools,
    strategy: StrategyName = StrategyName.SENTENCE,
) -> Iterable[Chunk]:
    """Group sentences up to a target size; the next chunk repeats the last ones."""
    sizes = config.sentence
    splitter = BlockSplitter(document, tools, sizes.maximum)
    pieces = list(sentence_pieces(splitter, config.exclude))
    builder = ChunkBuilder(document, book, strategy, config, tools)
    short = count_words(document) < sizes.whole_below_words
    if short and _size(pieces) <= sizes.maximum:
        return builder.build([ChunkDraft(pieces)] if pieces else [])
    return builder.build(_drafts(pieces, sizes, splitter))


def count_words(document: Document) -> int:
    """Return the words; of text without blanks, how many it would have in English."""
    return sum(word_count(block.text) for block in document.blocks)


def sentence_pieces(splitter: BlockSplitter, exclude: Sequence[BlockKind]) -> Iterator[Piece]:
    """Yield each sentence of a paragraph and each other block; split those above the limit."""
    kept = (block for block in splitter.document.blocks if block.kind not in exclude)
    pieces = chain.from_iterable(map(splitter.pieces, kept))
    for piece in pieces:
        if piece.block.kind in PROSE_KINDS and piece.whole:
            yield from splitter.units(piece)
        else:
            yield piece


def _drafts(
    pieces: Sequence[Piece], sizes: SentenceConfig, splitter: BlockSplitter
) -> list[ChunkDraft]:
    drafts: list[ChunkDraft] = []
    rest = _size(pieces)
    start = 0
    while start < len(pieces):
        overlap: list[Piece] = []
        if drafts:
            most = min(sizes.target // 2, sizes.maximum - pieces[start].tokens - 2)
            before = drafts[-1].all_pieces
            overlap = splitter.end_of(before, sizes.overlap, most, frozenset(BlockKind))
        size, end = _size(overlap), start
        while end < len(pieces) and (end == start or size + pieces[end].tokens <= sizes.target):
            size += pieces[end].tokens + 1
            end += 1
        rest -= _size(pieces[start:end])
        if rest < sizes.minimum and size + rest <= sizes.maximum:
            end = len(pieces)
        drafts.append(ChunkDraft(pieces[start:end], overlap))
        start = end
    return drafts


def _size(pieces: Iterable[Piece]) -> int:
    """Return the tokens of the pieces; a gap counts as one, which is never too few."""
    return sum(piece.tokens + 1 for piece in pieces)
