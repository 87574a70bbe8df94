"""What the embedded index and the server share: the JSON form of chunks and manifests.

The payload of a point is that of its chunk.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from operator import itemgetter
from typing import Any

from pydantic import TypeAdapter

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.errors import IndexMismatch, IndexUnreadable, InputError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.retrieval.query import SearchFilter, SparseVector
from app.domain.urls import page_key

LAYOUT = 6
"""Version of folders, payload and vectors. A book with another one must be ingested again."""

DENSE = "dense"
SPARSE = "bm25"

TENANT_FIELD = "book"
TAGS_FIELD = "tags"
"""All that a filter compares, as `<name>:<value>`, in one payload index: the embedded engine takes
5 MB of memory for each index of an open book."""
POSITION_FIELD = "position"

ORDER_FIELDS = (POSITION_FIELD, "file", "chunk_index")

_FIELDS = tuple(one.name for one in fields(Chunk))
_PASSAGES = TypeAdapter(tuple[Passage, ...])


def to_payload(chunk: Chunk) -> dict[str, object]:
    """Return the chunk's fields under their own names, and some derived ones."""
    tags = _tags(
        file=[chunk.file],
        page=[page_key(chunk.deep_link_url)],
        chapter=[chunk.chapter],
        kind=sorted({passage.kind.value for passage in chunk.passages}),
        paragraph=chunk.paragraph_ids,
    )
    payload = {name: getattr(chunk, name) for name in _FIELDS}
    return payload | {
        "paragraph_ids": list(chunk.paragraph_ids),
        "heading_path": list(chunk.heading_path),
        "spans": [list(span) for span in chunk.spans],
        # As text: the embedded engine stores nested values slowly (3 microseconds a string), so
        # text halves the time of a write.
        "passages": _PASSAGES.dump_json(chunk.passages, exclude_defaults=True).decode(),
        TAGS_FIELD: list(tags),
        # For other programs that read the store.
        "paragraph_id": chunk.paragraph_id,
        "version": chunk.book.version,
        "locale": chunk.book.locale,
    }


def from_payload(payload: Mapping[str, Any] | None) -> Chunk:
    """Rebuild the chunk. IndexUnreadable unless `to_payload` made the payload."""
    payload = payload or {}
    try:
        values = {name: payload[name] for name in _FIELDS}
        values |= {
            "book": BookId(payload["book"]),
            "paragraph_ids": tuple(payload["paragraph_ids"]),
            "heading_path": tuple(payload["heading_path"]),
            "spans": tuple((start, end) for start, end in payload["spans"]),
            "passages": _PASSAGES.validate_json(payload["passages"]),
        }
        return Chunk(**values)
    except (KeyError, TypeError, ValueError, InputError) as error:
        message = f"the index holds a chunk of another layout ({error!r}): ingest the book again"
        raise IndexUnreadable(message) from error


def _tags(**values: Iterable[str]) -> Iterator[str]:
    return (f"{name}:{value}" for name, some in values.items() for value in some)


def conditions(filter: SearchFilter) -> list[list[str]]:
    """Return lists of tags: a chunk has a tag of each; books and the position are not included."""
    found = (
        _tags(file=filter.files),
        _tags(page=filter.pages),
        _tags(chapter=filter.chapters),
        _tags(kind=(kind.value for kind in filter.kinds)),
        _tags(paragraph=filter.paragraph_ids),
    )
    return [tags for tags in map(list, found) if tags]


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


def manifest_to_json(manifest: BookManifest) -> dict[str, object]:
    return {"layout": LAYOUT, **asdict(manifest)}


def manifest_from_json(data: object, where: str) -> BookManifest:
    """Read a manifest. IndexUnreadable, naming `where`, if it is not a manifest of this layout."""
    if not isinstance(data, dict) or data.get("layout") != LAYOUT:
        message = f"{where}: not an index of layout {LAYOUT}; ingest the book again"
        raise IndexUnreadable(message)
    values = {name: value for name, value in data.items() if name != "layout"}
    try:
        return BookManifest(**values | {"book": BookId(values["book"])})
    except (InputError, TypeError, KeyError) as error:
        message = f"{where}: damaged manifest ({error}); ingest the book again"
        raise IndexUnreadable(message) from error
