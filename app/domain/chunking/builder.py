"""Builds chunks from pieces: text, passages, spans and ids."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from itertools import groupby, takewhile

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.chunking.pieces import Piece
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book, Document, Span
from app.domain.fast_dataclass import fast_dataclass
from app.domain.fences_and_tables import closing_line, opening_again

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "chunk.textbook-rag")
GAP = "\n\n"
"""Separator of the passages of a chunk."""


@fast_dataclass(frozen=True, slots=True)
class ChunkDraft:
    """The content of one chunk."""

    pieces: Sequence[Piece]
    overlap: Sequence[Piece] = ()
    """Pieces repeated from the end of the previous draft."""

    @property
    def all_pieces(self) -> list[Piece]:
        return [*self.overlap, *self.pieces]


@dataclass(slots=True)
class ChunkBuilder:
    """Builds the chunks of one document, in order."""

    document: Document
    book: Book
    strategy: StrategyName
    config: ChunkingConfig
    tools: ChunkingTools
    seen: Counter[bytes] = field(default_factory=Counter)
    """Number of chunks so far by hash of their text."""

    def build(self, drafts: Sequence[ChunkDraft]) -> Iterator[Chunk]:
        """Yield the chunks one at a time, so that not all need to be in memory."""
        repeated = [self._tokens(draft.overlap) for draft in drafts]
        following = [*repeated[1:], 0]
        for index, draft in enumerate(drafts):
            yield self._chunk(index, draft, repeated[index], following[index])

    def _chunk(self, index: int, draft: ChunkDraft, overlap_start: int, overlap_end: int) -> Chunk:
        document, own = self.document, draft.pieces
        body = _body(own)
        path = common_path(own)
        shown = shown_pieces(draft.all_pieces, path)
        passages = [self._passage(run) for run in _runs(shown)]
        text = GAP.join(passage.text for passage in passages)
        ids = (piece.block.paragraph_id for piece in [*body, *draft.overlap])
        return Chunk(
            chunk_id=self._id(text),
            book=self.book.id,
            book_version=self.book.version,
            chunk_index=index,
            file=document.file,
            position=document.position,
            text_content=text,
            token_count=self._tokens(shown, text),
            overlap_start=overlap_start,
            overlap_end=overlap_end,
            paragraph_ids=tuple(dict.fromkeys(ids)),
            content_type=_main_kind(body),
            chapter=document.chapter,
            section=path[-1] if path else document.title,
            heading_path=path,
            spans=_merged(piece.span for piece in draft.all_pieces),
            deep_link_url=self.tools.link(body[0].block),
            language=document.language,
            passages=tuple(passages),
            chapter_number=document.chapter_number,
        )

    def _tokens(self, pieces: Sequence[Piece], text: str = "") -> int:
        if len(pieces) == 1 and pieces[0].whole and pieces[0].tokens:
            return pieces[0].tokens
        return self.tools.count_tokens(text or text_of(pieces))

    def _id(self, text: str) -> str:
        """Hash the text and its number among equal texts: chunks with other texts do not matter."""
        digest = sha1(text.encode(), usedforsecurity=False).digest()
        self.seen[digest] += 1
        made = (self.book.id, self.strategy, self.config.fingerprint(self.strategy))
        name = (*made, self.document.file, text, str(self.seen[digest]))
        return str(uuid.uuid5(NAMESPACE, "\x1f".join(name)))

    def _passage(self, run: Sequence[Piece]) -> Passage:
        block = run[0].block
        lead, text, trail = _texts(run)
        return Passage(
            paragraph_id=block.paragraph_id,
            kind=block.kind,
            text=lead + text + trail,
            start=run[0].span[0],
            end=max(piece.span[1] for piece in run),
            url=self.tools.link(block),
            heading_path=block.heading_path,
            terms=block.terms,
            language=block.language,
            offset=run[0].offset,
            lead=len(lead),
            trail=len(trail),
            figure=block.figure,
        )


def shown_pieces(pieces: Sequence[Piece], path: tuple[str, ...]) -> Sequence[Piece]:
    """Return the pieces without the headings of the path, after the lead-in that they repeat.

    Pieces that are all headings are all shown.
    """
    if _body(pieces) is not pieces:
        pieces = [piece for piece in pieces if not is_above(piece, path)]
    head = pieces[0].head
    return [head, *pieces] if head and head.block is not pieces[0].block else pieces


def _body(pieces: Sequence[Piece]) -> Sequence[Piece]:
    return [one for one in pieces if one.block.kind is not BlockKind.HEADING] or pieces


def text_of(pieces: Sequence[Piece]) -> str:
    """Return the text of a chunk with these pieces."""
    return GAP.join("".join(_texts(run)) for run in _runs(pieces))


def _runs(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    for _, run in groupby(pieces, key=lambda piece: id(piece.block)):
        yield list(run)


def _texts(run: Sequence[Piece]) -> tuple[str, str, str]:
    """Return what consecutive pieces of a block repeat, their text, and the end of its fence."""
    first, last = run[0], run[-1]
    block, head = first.block, first.head
    text = block.text[first.offset : last.end]
    if first.whole or block.kind is BlockKind.CODE:
        return "", text, ""
    lead = f"{opening_again(head.text)}\n" if head and head.block is block else ""
    closing = closing_line(lead + text)
    return lead, text, f"\n{closing}" if closing else ""


def is_above(heading: Piece, path: tuple[str, ...]) -> bool:
    """Whether this is a heading that is part of the heading path."""
    own = heading.block.heading_path
    return heading.block.kind is BlockKind.HEADING and bool(own) and path[: len(own)] == own


def common_path(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return the headings that all pieces are below."""
    paths = {piece.block.heading_path for piece in _body(pieces)}
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))
    return tuple(names[0] for names in shared)


def _main_kind(pieces: Sequence[Piece]) -> str:
    """Return the kind with most text; the first in reading order if several are equal."""
    sizes: Counter[str] = Counter()
    for piece in pieces:
        sizes[piece.block.kind.value] += piece.end - piece.offset
    return sizes.most_common(1)[0][0]


def _merged(spans: Iterator[Span]) -> tuple[Span, ...]:
    """Join spans that overlap or have only a blank line between them."""
    merged: list[Span] = []
    for start, end in spans:
        if merged and start - merged[-1][1] <= len(GAP):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)
