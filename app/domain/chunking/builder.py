"""Builds chunks from pieces: text, passages, spans and ids."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import ChunkingConfig
from app.domain.chunking.pieces import Piece
from app.domain.document import BlockKind, Book, Document, Span, union
from app.domain.page_links import page_links

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "chunk.textbook-rag")
GAP = "\n\n"
"""Separator of the passages of a chunk."""


class ChunkDraft(NamedTuple):
    pieces: Sequence[Piece]
    overlap: Sequence[Piece] = ()
    """Pieces repeated from the end of the previous draft."""


def build_chunks(
    drafts: Sequence[ChunkDraft],
    document: Document,
    book: Book,
    config: ChunkingConfig,
    count_tokens: Callable[[str], int],
) -> Iterator[Chunk]:
    """Yield the chunks of a document one at a time, so that not all need to be in memory.

    An id is a hash of the text and its number among equal texts: chunks with other texts do not
    matter.
    """
    paragraphs = (block.paragraph_id for block in document.blocks)
    links = dict(zip(paragraphs, page_links(document), strict=True))
    made_by = (book.id, config.strategy, config.fingerprint(), document.file)
    overlaps = (GAP.join(map(_text, _runs(draft.overlap))) for draft in drafts)
    repeated = [*map(count_tokens, overlaps), 0]
    seen: Counter[str] = Counter()
    for index, draft in enumerate(drafts):
        body = [one for one in draft.pieces if one.block.kind is not BlockKind.HEADING]
        body = body or [*draft.pieces]
        path = common_path({piece.block.heading_path for piece in body})
        pieces = [*draft.overlap, *draft.pieces]
        shown = [piece for piece in pieces if not is_above(piece, path)] or pieces
        passages = tuple(_passage(run, links) for run in _runs(shown))
        text = GAP.join(passage.text for passage in passages)
        seen[text] += 1
        ids = (piece.block.paragraph_id for piece in [*body, *draft.overlap])
        yield Chunk(
            chunk_id=str(uuid.uuid5(NAMESPACE, "\x1f".join((*made_by, text, str(seen[text]))))),
            book=book.id,
            book_version=book.version,
            chunk_index=index,
            file=document.file,
            position=document.position,
            token_count=count_tokens(text),
            overlap_start=repeated[index],
            overlap_end=repeated[index + 1],
            paragraph_ids=tuple(dict.fromkeys(ids)),
            content_type=_main_kind(body),
            chapter=document.chapter,
            section=path[-1] if path else document.title,
            heading_path=path,
            spans=union((_source(run) for run in _runs(pieces)), gap=len(GAP)),
            deep_link_url=links[body[0].block.paragraph_id],
            language=document.language,
            passages=passages,
            chapter_number=document.chapter_number,
        )


def _passage(run: Sequence[Piece], links: Mapping[str, str]) -> Passage:
    first, block = run[0], run[0].block
    return Passage(
        block.paragraph_id,
        block.kind,
        _text(run),
        *_source(run),
        url=links[block.paragraph_id],
        heading_path=block.heading_path,
        terms=block.terms,
        language=block.language,
        offset=first.start,
        lead=first.lead and first.lead + 1,
        figure=block.figure,
    )


def _source(run: Sequence[Piece]) -> Span:
    """Return the source of consecutive pieces of a block.

    It is exact if the block is whole or its text is its own source, as on a page. Else mark-up,
    which only the source has, is taken to be spread evenly.
    """
    block, size = run[0].block, len(run[0].block.text)
    start, end = (
        block.start + at * (block.end - block.start) // size for at in (run[0].start, run[-1].end)
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
