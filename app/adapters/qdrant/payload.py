"""What the embedded index and the server share: the payload of a chunk, the JSON of a manifest."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from operator import itemgetter
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app.domain.chunking.chunk import Chunk
from app.domain.errors import IndexUnreadable
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.retrieval.query import SearchFilter, SparseVector
from app.domain.urls import page_key

LAYOUT = 7
"""Version of folders, payload and vectors. A book with another one must be ingested again."""

DENSE = "dense"
SPARSE = "bm25"

CHUNK_FIELD = "chunk"
"""The chunk as one JSON text: as fields, it takes the embedded engine twice as long to write."""
TAGS_FIELD = "tags"
"""All that a filter compares, as `<name>:<value>`, in one payload index: the embedded engine takes
5 MB of memory for each index of an open book."""
POSITION_FIELD = "position"

ORDER_FIELDS = (POSITION_FIELD, "file", "chunk_index")

_CHUNK = TypeAdapter(Chunk)
_MANIFEST = TypeAdapter(BookManifest)


def to_payload(chunk: Chunk) -> dict[str, object]:
    tags = _tags(
        file=[chunk.file],
        page=[page_key(chunk.deep_link_url)],
        chapter=[chunk.chapter],
        kind=sorted({passage.kind.value for passage in chunk.passages}),
        paragraph=chunk.paragraph_ids,
    )
    return {
        CHUNK_FIELD: _CHUNK.dump_json(chunk, exclude_defaults=True).decode(),
        TAGS_FIELD: list(tags),
        **{name: getattr(chunk, name) for name in ORDER_FIELDS},
    }


def from_payload(payload: Mapping[str, Any] | None) -> Chunk:
    """Rebuild the chunk. IndexUnreadable unless `to_payload` made the payload."""
    try:
        return _CHUNK.validate_json((payload or {})[CHUNK_FIELD])
    except (KeyError, ValidationError) as error:
        message = "the index holds a chunk of another layout: ingest the book again"
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
    """Sort point ids by the `ORDER_FIELDS` of their payloads."""
    place = itemgetter(*ORDER_FIELDS)
    keyed = sorted((place(payload or {}), point_id) for point_id, payload in records)
    return [point_id for _, point_id in keyed]


def manifest_to_json(manifest: BookManifest) -> dict[str, object]:
    return {"layout": LAYOUT, **asdict(manifest)}


def manifest_from_json(data: object, where: str) -> BookManifest:
    """Read a manifest. IndexUnreadable, naming `where`, if it is not a manifest of this layout."""
    if not isinstance(data, dict) or data.get("layout") != LAYOUT:
        raise IndexUnreadable(f"{where}: not an index of layout {LAYOUT}; ingest the book again")
    try:
        return _MANIFEST.validate_python(data)
    except ValidationError as error:
        raise IndexUnreadable(f"{where}: damaged manifest; ingest the book again") from error
