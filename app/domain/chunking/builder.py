"""Builds chunks from pieces: text, passages, spans and ids."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import ChunkingConfig
from app.domain.chunking.pieces import Piece
from app.domain.document import BlockKind, Book, Document, Span
from app.domain.page_links import page_links

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "chunk.textbook-rag")
GAP = "\n\n"
"""Separator of the passages of a chunk."""


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """The content of one chunk."""

    pieces: Sequence[Piece]
    overlap: Sequence[Piece] = ()
    """Pieces repeated from the end of the previous draft."""


@dataclass(slots=True)
class ChunkBuilder:
    """Builds the chunks of one document, in order."""

    document: Document
    book: Book
    config: ChunkingConfig
    count_tokens: Callable[[str], int]
    _made: tuple[str, ...] = field(init=False)
    """What the ids depend on besides the texts."""
    _seen: Counter[str] = field(default_factory=Counter, init=False)
    """Number of chunks so far by their text."""
    _links: Mapping[str, str] = field(init=False)
    """Deep links by paragraph id."""

    def __post_init__(self) -> None:
        made = (self.book.id, self.config.strategy, self.config.fingerprint())
        self._made = (*made, self.document.file)
        ids = (block.paragraph_id for block in self.document.blocks)
        self._links = dict(zip(ids, page_links(self.document), strict=True))

    def build(self, drafts: Sequence[ChunkDraft]) -> Iterator[Chunk]:
        """Yield the chunks one at a time, so that not all need to be in memory."""
        overlaps = (map(_text, _runs(draft.overlap)) for draft in drafts)
        repeated = [self.count_tokens(GAP.join(texts)) for texts in overlaps]
        following = [*repeated[1:], 0]
        for index, draft in enumerate(drafts):
            yield self._chunk(index, draft, repeated[index], following[index])

    def _chunk(self, index: int, draft: ChunkDraft, overlap_start: int, overlap_end: int) -> Chunk:
        document, own = self.document, draft.pieces
        body = [one for one in own if one.block.kind is not BlockKind.HEADING] or own
        path = common_path({piece.block.heading_path for piece in body})
        pieces = [*draft.overlap, *draft.pieces]
        shown = [piece for piece in pieces if not is_above(piece, path)] or pieces
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
            token_count=self.count_tokens(text),
            overlap_start=overlap_start,
            overlap_end=overlap_end,
            paragraph_ids=tuple(dict.fromkeys(ids)),
            content_type=_main_kind(body),
            chapter=document.chapter,
            section=path[-1] if path else document.title,
            heading_path=path,
            spans=_merged(self._source(run) for run in _runs(pieces)),
            deep_link_url=self._links[body[0].block.paragraph_id],
            language=document.language,
            passages=tuple(passages),
            chapter_number=document.chapter_number,
        )

    def _id(self, text: str) -> str:
        """Hash the text and its number among equal texts: chunks with other texts do not matter."""
        self._seen[text] += 1
        name = (*self._made, text, str(self._seen[text]))
        return str(uuid.uuid5(NAMESPACE, "\x1f".join(name)))

    def _passage(self, run: Sequence[Piece]) -> Passage:
        block = run[0].block
        start, end = self._source(run)
        return Passage(
            paragraph_id=block.paragraph_id,
            kind=block.kind,
            text=_text(run),
            start=start,
            end=end,
            url=self._links[block.paragraph_id],
            heading_path=block.heading_path,
            terms=block.terms,
            language=block.language,
            offset=run[0].start,
            lead=run[0].lead and run[0].lead + 1,
            figure=block.figure,
        )

    def _source(self, run: Sequence[Piece]) -> Span:
        """Return the source of consecutive pieces of a block.

        It is exact if the block is whole or its text is its own source, as on a page. Else mark-up,
        which only the source has, is taken to be spread evenly.
        """
        block, size = run[0].block, len(run[0].block.text)
        start, end = (
            block.start + at * (block.end - block.start) // size
            for at in (run[0].start, run[-1].end)
        )
        return start, end


def _runs(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    for _, run in groupby(pieces, key=lambda piece: id(piece.block)):
        yield list(run)


def _text(run: Sequence[Piece]) -> str:
    """Return the text of consecutive pieces of a block, below the header that they repeat."""
    first, block = run[0], run[0].block
    text = block.text[first.start : run[-1].end]
    return f"{block.text[: first.lead]}\n{text}" if first.lead else text


def is_above(heading: Piece, path: tuple[str, ...]) -> bool:
    """Whether this is a heading that is part of the heading path."""
    own = heading.block.heading_path
    return heading.block.kind is BlockKind.HEADING and bool(own) and path[: len(own)] == own


def common_path(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all heading paths begin with."""
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))
    return tuple(names[0] for names in shared)


def _main_kind(pieces: Sequence[Piece]) -> str:
    """Return the kind with most text; the first in reading order if several are equal."""
    sizes: Counter[str] = Counter()
    for piece in pieces:
        sizes[piece.block.kind.value] += piece.end - piece.start
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
