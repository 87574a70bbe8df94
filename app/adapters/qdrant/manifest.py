"""BookManifest <-> JSON, as a generation carries it."""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, fields

from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, InputError
from app.services.ports import BookManifest

LAYOUT = 2
"""Of folders, payload and vectors; another number means the book must be ingested again."""

_TYPES = {"int": int, "str": str, "float": float, "bool": bool}


def manifest_to_json(manifest: BookManifest) -> dict[str, object]:
    return {"layout": LAYOUT, **asdict(manifest)}


def manifest_from_json(data: object, where: str) -> BookManifest:
    """IndexUnreadable, naming `where`, when this is no manifest of this layout."""
    if not isinstance(data, dict) or data.get("layout") != LAYOUT:
        message = f"{where}: not an index of layout {LAYOUT}; ingest the book again"
        raise IndexUnreadable(message)
    values = {field.name: data[field.name] for field in fields(BookManifest) if field.name in data}
    wrong = [
        field.name
        for field in fields(BookManifest)
        if (field.name not in values and field.default is MISSING)
        or (field.name in values and not _fits(values[field.name], str(field.type)))
    ]
    if wrong:
        message = f"{where}: damaged manifest ({', '.join(wrong)}); ingest the book again"
        raise IndexUnreadable(message)
    try:
        return BookManifest(**{**values, "book": BookId(values["book"])})
    except InputError as error:
        message = f"{where}: damaged manifest ({error}); ingest the book again"
        raise IndexUnreadable(message) from error


def manifest_from_text(text: str, where: str) -> BookManifest:
    try:
        data = json.loads(text)
    except ValueError as error:
        message = f"{where}: damaged manifest ({error}); ingest the book again"
        raise IndexUnreadable(message) from error
    return manifest_from_json(data, where)


def _fits(value: object, type_name: str) -> bool:
    return type_name not in _TYPES or type(value) is _TYPES[type_name]
