"""What a chunk repeats from the one before it: whole small blocks, or whole sentences."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.chunking.inline import reader_text, sentence_spans, squeeze
from app.domain.chunking.pieces import Piece
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind
from app.domain.long_text import Text

_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.FOOTNOTE, BlockKind.REFERENCE})
_ENOUGH = 0.65
_LONGEST = 1.7
"""Shares of the wanted overlap: stop from the first on, never go beyond the second."""


def may_overlap(piece: Piece, wanted: int) -> bool:
    """Whether a chunk that ends with this piece has something for the next one to repeat."""
    kind = piece.block.kind
    if kind is BlockKind.HEADING or piece.pulled:
        return False
    if kind in _PROSE:
        return True
    return piece.whole and piece.tokens <= wanted * _LONGEST


def choose_overlap(
    pieces: Sequence[Piece],
    wanted: int,
    room: int,
    source: Text,
    language: str,
    tools: ChunkingTools,
) -> list[Piece]:
    """The end of `pieces`, all of one section, as whole blocks and sentences.

    About `wanted` tokens, at most `room`; nothing if the last sentence is longer than that.
    """
    most = min(int(wanted * _LONGEST), room)
    chosen: list[Piece] = []
    size = 0
    for piece in reversed(pieces):
        if not may_overlap(piece, wanted):
            break
        if size + piece.tokens <= most:
            chosen.insert(0, piece)
            size += piece.tokens
        elif piece.whole and piece.block.kind in _PROSE:
            tail = _last_sentences(piece, wanted - size, most - size, source, language, tools)
            return tail + chosen
        else:
            break
        if size >= wanted * _ENOUGH:
            break
    return chosen


def _last_sentences(
    piece: Piece, wanted: int, most: int, source: Text, language: str, tools: ChunkingTools
) -> list[Piece]:
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
    text = raw[begin:end]
    seen = reader_text(text)
    verbatim = seen not in squeeze(piece.block.text)
    shown = text if verbatim else seen
    start = piece.start + begin
    return [Piece(piece.block, start, piece.start + end, shown, size, False, verbatim, " ")]
