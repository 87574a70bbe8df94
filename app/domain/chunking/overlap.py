"""Overlap of a chunk with the previous one: whole small blocks, or whole sentences."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.chunking.chunk_pieces import PROSE_KINDS, ChunkPiece
from app.domain.chunking.inline_markup import collapse_blanks, matching_texts, sentence_spans
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind

NEVER_REPEATED = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY})
"""Kinds that a chunk of the overlap scope `page` never repeats."""
_ENOUGH = 0.65
LONGEST = 1.7
"""Shares of the wanted overlap: stop at `_ENOUGH`, never exceed `LONGEST`."""


def may_overlap(piece: ChunkPiece, wanted: int) -> bool:
    """Whether the chunk after this piece can repeat it or its last sentences."""
    kind = piece.block.kind
    if kind is BlockKind.HEADING or piece.included_text:
        return False
    if kind in PROSE_KINDS:
        return True
    return piece.whole and piece.tokens <= wanted * LONGEST


def choose_overlap(
    pieces: Sequence[ChunkPiece],
    wanted: int,
    room: int,
    source: str,
    language: str,
    tools: ChunkingTools,
) -> list[ChunkPiece]:
    """Return the end of `pieces`, which are of one section, as whole blocks and sentences.

    It has about `wanted` tokens and at most `room`; empty if the last sentence is longer.
    """
    most = min(int(wanted * LONGEST), room)
    chosen: list[ChunkPiece] = []
    size = 0
    for piece in reversed(pieces):
        if not may_overlap(piece, wanted):
            break
        if size + piece.tokens <= most:
            chosen.insert(0, piece)
            size += piece.tokens
        elif piece.whole and piece.block.kind in PROSE_KINDS:
            tail = _last_sentences(piece, wanted - size, most - size, source, language, tools)
            return tail + chosen
        else:
            break
        if size >= wanted * _ENOUGH:
            break
    return chosen


def _last_sentences(
    piece: ChunkPiece, wanted: int, most: int, source: str, language: str, tools: ChunkingTools
) -> list[ChunkPiece]:
    raw = source[piece.start : piece.end]
    spans = sentence_spans(raw, language, tools.split_sentences)
    end = spans[-1][1]
    begin, size = end, 0
    for start, _ in reversed(spans[1:]):
        tokens = tools.count_tokens(raw[start:end])
        if tokens > most:
            break
        begin, size = start, tokens
        if size >= wanted * _ENOUGH:
            break
    if not size:
        return []
    shown = _shown(raw[begin:end], collapse_blanks(piece.block.text))
    if not shown:
        return []
    start = piece.start + begin
    return [ChunkPiece(piece.block, start, piece.start + end, shown, size, False, False, " ")]


def _shown(source: str, text: str) -> str:
    """Return what a reader sees of a part of a block's source; "" if that is not certain."""
    return next((part for part in matching_texts(source) if part in text), "")
