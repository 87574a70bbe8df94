"""What the embedded index and the server share: the payload of a point, ranking, joining passages.

A payload is the JSON form of a `Chunk`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import NotRequired, TypedDict

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind, Span
from app.domain.errors import IndexMismatch, IndexUnreadable, InputError
from app.domain.links import page_key
from app.domain.retrieval.query import ScoredId, SearchFilter

DENSE = "dense"
SPARSE = "bm25"

TENANT_FIELD = "book"
KEYWORD_FIELDS = ("file", "page", "chapter", "kinds", "paragraph_ids")
INTEGER_FIELDS = ("position",)

ORDER_FIELDS = ("position", "file", "chunk_index")

_KINDS = {kind.value: kind for kind in BlockKind}


class PassagePayload(TypedDict):
    paragraph_id: str
    kind: str
    text: str
    start: int
    end: int
    url: str
    heading_path: list[str]
    terms: list[str]
    verbatim: bool
    language: str


class ChunkPayload(TypedDict):
    chunk_id: str
    book: str
    book_version: str
    chunk_index: int
    file: str
    position: int
    text_content: str
    token_count: int
    overlap_start: int
    overlap_end: int
    paragraph_id: str
    """Derived; for other programs that read the store."""
    page: str
    """Derived, for filters: the key of the page."""
    kinds: list[str]
    """Derived, for filters: the kinds of all passages."""
    paragraph_ids: list[str]
    content_type: str
    chapter: str
    section: str
    heading_path: list[str]
    spans: list[list[int]]
    context: list[list[int]]
    deep_link_url: str
    language: str
    version: NotRequired[str]
    """Version of an edition that is not the book's default; the book id contains it, too."""
    locale: NotRequired[str]
    """Locale, as for `version`."""
    chapter_number: NotRequired[int]
    """Present if the site shows one."""
    pooled_within: NotRequired[str]
    """Present if the chunk's vector was made by late chunking."""
    passages: str
    """A list of `PassagePayload` as JSON text. The embedded engine stores nested values slowly (3
    microseconds a string); text halves the time of a write."""


def to_payload(chunk: Chunk) -> ChunkPayload:
    payload: ChunkPayload = {
        "chunk_id": chunk.chunk_id,
        "book": chunk.book,
        "book_version": chunk.book_version,
        "chunk_index": chunk.chunk_index,
        "file": chunk.file,
        "position": chunk.position,
        "text_content": chunk.text_content,
        "token_count": chunk.token_count,
        "overlap_start": chunk.overlap_start,
        "overlap_end": chunk.overlap_end,
        "paragraph_id": chunk.paragraph_id,
        "paragraph_ids": list(chunk.paragraph_ids),
        "page": page_key(chunk.deep_link_url),
        "kinds": sorted({passage.kind.value for passage in chunk.passages}),
        "content_type": chunk.content_type,
        "chapter": chunk.chapter,
        "section": chunk.section,
        "heading_path": list(chunk.heading_path),
        "spans": [list(span) for span in chunk.spans],
        "context": [list(span) for span in chunk.context],
        "deep_link_url": chunk.deep_link_url,
        "language": chunk.language,
        "passages": json.dumps(
            [_passage_payload(passage) for passage in chunk.passages], ensure_ascii=False
        ),
    }
    if chunk.book.version:
        payload["version"] = chunk.book.version
    if chunk.book.locale:
        payload["locale"] = chunk.book.locale
    if chunk.chapter_number:
        payload["chapter_number"] = chunk.chapter_number
    if chunk.pooled_within:
        payload["pooled_within"] = chunk.pooled_within
    return payload


def from_payload(payload: ChunkPayload) -> Chunk:
    """Rebuild the chunk. IndexUnreadable unless `to_payload` made the payload."""
    try:
        return Chunk(
            chunk_id=payload["chunk_id"],
            book=BookId(payload["book"]),
            book_version=payload["book_version"],
            chunk_index=payload["chunk_index"],
            file=payload["file"],
            position=payload["position"],
            text_content=payload["text_content"],
            token_count=payload["token_count"],
            overlap_start=payload["overlap_start"],
            overlap_end=payload["overlap_end"],
            paragraph_ids=tuple(payload["paragraph_ids"]),
            content_type=payload["content_type"],
            chapter=payload["chapter"],
            section=payload["section"],
            heading_path=tuple(payload["heading_path"]),
            spans=_spans(payload["spans"]),
            deep_link_url=payload["deep_link_url"],
            language=payload["language"],
            passages=tuple(_passage(passage) for passage in json.loads(payload["passages"])),
            context=_spans(payload["context"]),
            pooled_within=payload.get("pooled_within", ""),
            chapter_number=payload.get("chapter_number", 0),
        )
    except (KeyError, TypeError, ValueError, InputError) as error:
        message = f"the index holds a chunk of another layout ({error!r}): ingest the book again"
        raise IndexUnreadable(message) from error


def in_reading_order(records: Iterable[tuple[str, Mapping[str, object] | None]]) -> list[str]:
    """Sort chunk ids by the `ORDER_FIELDS` of their payloads."""
    place = itemgetter(*ORDER_FIELDS)
    keyed = [(place(payload or {}), chunk_id) for chunk_id, payload in records]
    return [chunk_id for _, chunk_id in sorted(keyed)]


def check_dimension(book: BookId, model: str, expected: int, got: int) -> None:
    """Raise IndexMismatch unless a vector has as many dimensions as the index."""
    if expected != got:
        message = (
            f"book {book!r} is indexed with {expected} dimensions (model {model}), but the vector "
            f"has {got}: use the model of the index, or ingest the book again"
        )
        raise IndexMismatch(message)


def keyword_conditions(filter: SearchFilter) -> list[tuple[str, list[str]]]:
    """Return (payload field, allowed values); books are not included, they select the shard."""
    fields = (
        ("file", filter.files),
        ("page", filter.pages),
        ("chapter", filter.chapters),
        ("kinds", tuple(kind.value for kind in filter.kinds)),
        ("paragraph_ids", filter.paragraph_ids),
    )
    return [(name, list(values)) for name, values in fields if values]


def _passage_payload(passage: Passage) -> PassagePayload:
    return {
        "paragraph_id": passage.paragraph_id,
        "kind": passage.kind.value,
        "text": passage.text,
        "start": passage.start,
        "end": passage.end,
        "url": passage.url,
        "heading_path": list(passage.heading_path),
        "terms": list(passage.terms),
        "verbatim": passage.verbatim,
        "language": passage.language,
    }


def _passage(payload: PassagePayload) -> Passage:
    return Passage(
        paragraph_id=payload["paragraph_id"],
        kind=_KINDS[payload["kind"]],
        text=payload["text"],
        start=payload["start"],
        end=payload["end"],
        url=payload["url"],
        heading_path=tuple(payload["heading_path"]),
        terms=tuple(payload["terms"]),
        verbatim=payload["verbatim"],
        language=payload["language"],
    )


def _spans(pairs: Iterable[list[int]]) -> tuple[Span, ...]:
    return tuple((start, end) for start, end in pairs)


_FLOWING = {BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.FOOTNOTE}


def best(found: Iterable[ScoredId], limit: int) -> tuple[ScoredId, ...]:
    """Return the best `limit` hits by descending score; ties by book and chunk id."""
    ranked = sorted(found, key=lambda hit: (-hit.score, hit.book, hit.chunk_id))
    return tuple(ranked[:limit])


def find_passage(chunks: Iterable[Chunk], paragraph_id: str) -> Passage | None:
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
