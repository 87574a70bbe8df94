"""Converts a BookManifest to the JSON that is stored with a generation, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields

from app.adapters.qdrant.checksums import text_digest
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, InputError
from app.services.ports import BookManifest

LAYOUT = 3
"""Version of folders, payload and vectors. A book with another one must be ingested again."""

_TYPES = {"int": (int,), "str": (str,), "BookId": (str, BookId)}


def manifest_to_json(manifest: BookManifest) -> dict[str, object]:
    """`version` and `locale` are left out of a book without editions."""
    values = asdict(manifest)
    unset = [name for name in ("version", "locale") if not values[name]]
    return {"layout": LAYOUT, **{name: values[name] for name in values if name not in unset}}


def manifest_from_json(data: object, where: str) -> BookManifest:
    """Read a manifest. IndexUnreadable, naming `where`, if it is not a manifest of this layout."""
    if not isinstance(data, dict) or data.get("layout") != LAYOUT:
        message = f"{where}: not an index of layout {LAYOUT}; ingest the book again"
        raise IndexUnreadable(message)
    wrong = _wrong_fields(data)
    if wrong:
        raise _damaged(where, ", ".join(wrong))
    values = {field.name: data[field.name] for field in fields(BookManifest) if field.name in data}
    try:
        return BookManifest(**{**values, "book": BookId(values["book"])})
    except InputError as error:
        raise _damaged(where, str(error)) from error


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest file. `checksums` is the hash of `checksums.json` beside it."""

    manifest: BookManifest
    checksums: str

    def to_text(self) -> str:
        data = {**manifest_to_json(self.manifest), "checksums": self.checksums}
        return json.dumps({**data, "digest": _digest(data)}, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str) -> StoredManifest:
        """IndexUnreadable, naming `where`, unless `to_text` wrote this."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise _damaged(where, str(error)) from error
        manifest = manifest_from_json(data, where)
        digest = data.pop("digest", None)
        if digest != _digest(data):
            raise _damaged(where, "its digest differs")
        return cls(manifest, str(data.get("checksums", "")))


def _digest(data: Mapping[str, object]) -> str:
    return text_digest(json.dumps(data, ensure_ascii=False, sort_keys=True))


def _damaged(where: str, reason: str) -> IndexUnreadable:
    return IndexUnreadable(f"{where}: damaged manifest ({reason}); ingest the book again")


def _wrong_fields(data: Mapping[str, object]) -> list[str]:
    """Fields of the wrong type, and missing fields without a default."""
    return [
        field.name
        for field in fields(BookManifest)
        if (
            type(data[field.name]) not in _TYPES[str(field.type)]
            if field.name in data
            else field.default is MISSING
        )
    ]
