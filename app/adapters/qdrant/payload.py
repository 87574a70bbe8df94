"""What the embedded index and the server share: the payload of a point, and conditions on it.

A payload is the JSON form of a `Chunk`.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from operator import itemgetter
from typing import Any

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind, Figure
from app.domain.errors import IndexMismatch, IndexUnreadable, InputError, StorageError
from app.domain.indexed_book import IndexPoint
from app.domain.links import page_key
from app.domain.retrieval.query import SearchFilter, SparseVector

DENSE = "dense"
SPARSE = "bm25"

TENANT_FIELD = "book"
KEYWORD_FIELDS = ("file", "page", "chapter", "kinds", "paragraph_ids")
INTEGER_FIELDS = ("position",)

ORDER_FIELDS = ("position", "file", "chunk_index")

_OPTIONAL_FIELDS = ("pooled_within", "chapter_number")
"""Left out of a payload if they are empty."""
_CHUNK_FIELDS = tuple(one.name for one in fields(Chunk) if one.name not in _OPTIONAL_FIELDS)
_PASSAGE_FIELDS = tuple(one.name for one in fields(Passage) if one.name != "figure")


def to_payload(chunk: Chunk) -> dict[str, object]:
    """Return the chunk's fields under their own names, and some derived ones."""
    payload = {name: getattr(chunk, name) for name in _CHUNK_FIELDS}
    payload |= {
        "paragraph_ids": list(chunk.paragraph_ids),
        "heading_path": list(chunk.heading_path),
        "spans": [list(span) for span in chunk.spans],
        # As text: the embedded engine stores nested values slowly (3 microseconds a string), so
        # text halves the time of a write.
        "passages": json.dumps(
            [_passage_payload(one) for one in chunk.passages],
            ensure_ascii=False,
        ),
        # Derived: the first for other programs that read the store, the others for filters.
        "paragraph_id": chunk.paragraph_id,
        "page": page_key(chunk.deep_link_url),
        "kinds": sorted({passage.kind.value for passage in chunk.passages}),
    }
    optional = {
        "version": chunk.book.version,
        "locale": chunk.book.locale,
        **{name: getattr(chunk, name) for name in _OPTIONAL_FIELDS},
    }
    return payload | {name: value for name, value in optional.items() if value}


def from_payload(payload: Mapping[str, Any] | None) -> Chunk:
    """Rebuild the chunk. IndexUnreadable unless `to_payload` made the payload."""
    payload = payload or {}
    try:
        values = {name: payload[name] for name in _CHUNK_FIELDS}
        values |= {
            "book": BookId(payload["book"]),
            "paragraph_ids": tuple(payload["paragraph_ids"]),
            "heading_path": tuple(payload["heading_path"]),
            "spans": tuple((start, end) for start, end in payload["spans"]),
            "passages": tuple(map(_passage, json.loads(payload["passages"]))),
        }
        values |= {name: payload[name] for name in _OPTIONAL_FIELDS if name in payload}
        return Chunk(**values)
    except (KeyError, TypeError, ValueError, InputError) as error:
        message = f"the index holds a chunk of another layout ({error!r}): ingest the book again"
        raise IndexUnreadable(message) from error


def _passage_payload(passage: Passage) -> dict[str, object]:
    payload = {name: getattr(passage, name) for name in _PASSAGE_FIELDS}
    return payload | ({"figure": asdict(passage.figure)} if passage.figure else {})


def _passage(payload: Mapping[str, Any]) -> Passage:
    figure = payload.get("figure")
    values = {name: payload[name] for name in _PASSAGE_FIELDS}
    values |= {
        "kind": BlockKind(payload["kind"]),
        "heading_path": tuple(payload["heading_path"]),
        "terms": tuple(payload["terms"]),
        "figure": Figure(**figure) if figure else None,
    }
    return Passage(**values)


def index_point(payload: Mapping[str, Any] | None, vectors: Any) -> IndexPoint:  # noqa: ANN401
    """Rebuild a point from its payload and its named vectors, in the types of either engine."""
    sparse = vectors.get(SPARSE)
    return IndexPoint(
        from_payload(payload),
        array("f", vectors[DENSE]),
        SparseVector(tuple(sparse.indices), tuple(sparse.values))
        if sparse is not None
        else SparseVector((), ()),
    )


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


def check_count(book: BookId, found: int, expected: int) -> None:
    """StorageError unless the new generation has as many chunks as the book."""
    if found != expected:
        message = (
            f"book {book!r}: {found} chunks are in the new index, but the book has "
            f"{expected}: not published"
        )
        raise StorageError(message)


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
