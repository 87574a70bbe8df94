"""Joins the pieces of a paragraph that was split between chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind

_FLOWING = {BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.FOOTNOTE}


def whole_passage(chunks: Iterable[Chunk], paragraph_id: str) -> Passage | None:
    """Return the whole paragraph: its pieces from all chunks, joined in reading order.

    A piece that repeats another piece or lies inside it (overlap) is left out. None if there is no
    piece.
    """
    kept: list[Passage] = []
    for piece in _pieces(chunks, paragraph_id):
        if not any(_covers(other, piece) for other in kept):
            kept.append(piece)
    if not kept:
        return None
    joint = " " if kept[0].kind in _FLOWING else "\n"
    return replace(
        kept[0],
        text=joint.join(piece.text for piece in kept),
        end=max(piece.end for piece in kept),
    )


def _pieces(chunks: Iterable[Chunk], paragraph_id: str) -> list[Passage]:
    pieces = [
        passage
        for chunk in sorted(chunks, key=lambda chunk: chunk.chunk_index)
        for passage in chunk.passages
        if passage.paragraph_id == paragraph_id
    ]
    return sorted(pieces, key=lambda piece: (piece.start, -piece.end))


def _covers(outer: Passage, inner: Passage) -> bool:
    if (outer.start, outer.end) == (inner.start, inner.end):
        # Pieces of an included file all have the span of the directive that includes it.
        return outer.text == inner.text
    return outer.start <= inner.start and inner.end <= outer.end
