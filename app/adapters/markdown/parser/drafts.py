"""Drafts of blocks: what the walk over the tokens collects before sections and ids are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.document import RUN_BOUNDARY, BlockKind, Part

_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


@dataclass(slots=True)
class Piece:
    """A block in the making; spans are offsets into the file that is being read."""

    kind: BlockKind
    text: str
    id_text: str
    start: int
    end: int
    runs: str = ""
    terms: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    level: int = 0
    language: str = ""
    title: str = ""
    included: str = ""
    author_id: str = ""
    anchor: str = ""
    """A heading's id as the site generator makes it."""
    caption: bool = False
    """An emphasised "Figure 3: ..." paragraph."""
    children: Sequence[Piece] = ()

    def as_parts(self) -> tuple[Part, ...]:
        """Return the joints this piece has as part of a larger block."""
        if self.parts and self.kind in (BlockKind.LIST, BlockKind.TABLE):
            return self.parts
        return (Part(self.kind, self.start, self.end, self.text),)

    def by_part(self) -> Iterator[tuple[Part, list[Piece]]]:
        """Yield each part with the children that begin in it; both are in source order."""
        children = iter(self.children)
        child = next(children, None)
        for part in self.parts:
            inside: list[Piece] = []
            while child is not None and child.start < part.end:
                if child.start >= part.start:
                    inside.append(child)
                child = next(children, None)
            yield part, inside


def merge(kind: BlockKind, pieces: Sequence[Piece], title: str = "") -> Piece:
    """Join pieces into one block; a title the reader sees comes first in its text."""
    shown = [title, *(piece.text for piece in pieces)] if title else [p.text for p in pieces]
    terms = dict.fromkeys(term for piece in pieces for term in piece.terms)
    return Piece(
        kind,
        "\n\n".join(text for text in shown if text),
        " ".join([title, *(piece.id_text for piece in pieces)]),
        pieces[0].start,
        pieces[-1].end,
        runs=RUN_BOUNDARY.join(piece.runs for piece in pieces if piece.runs) or title,
        terms=tuple(terms),
        parts=tuple(part for piece in pieces for part in piece.as_parts()),
        title=title,
        included=next((piece.included for piece in pieces if piece.included), ""),
        author_id=next((piece.author_id for piece in pieces if piece.author_id), ""),
    )


def split_list(piece: Piece, kind: BlockKind) -> list[Piece]:
    """Make each item of a list a block of its own."""
    if not piece.parts or not piece.children:
        piece.kind = kind
        return [piece]
    items: list[Piece] = []
    for part, inside in piece.by_part():
        if not inside:
            items.append(Piece(kind, "", "", part.start, part.end))
            continue
        item = merge(kind, inside)
        item.start, item.end, item.parts = part.start, part.end, ()
        item.text = part.text.removeprefix("- ").replace("\n  ", "\n")
        items.append(item)
    return items


def show_box(pieces: Sequence[Piece]) -> None:
    """Show the box of a task list's item."""
    first = pieces[0] if pieces else None
    if first is not None and first.kind is BlockKind.PARAGRAPH and first.text[:4] in _BOXES:
        first.runs = first.runs.removeprefix(first.text[:4])
        first.text = _BOXES[first.text[:4]] + first.text[4:]
