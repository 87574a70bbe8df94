"""BookManifest <-> JSON, as a generation carries it."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import cast

from app.domain.errors import StorageError
from app.services.ports import BookManifest

LAYOUT = 1
"""Of folders, payload and vectors; another number means the book must be ingested again."""

_TYPES = {field.name: int if field.type in ("int", int) else str for field in fields(BookManifest)}


def manifest_to_json(manifest: BookManifest) -> dict[str, object]:
    return {"layout": LAYOUT, **asdict(manifest)}


def manifest_from_json(data: object, where: str) -> BookManifest:
    """StorageError, naming `where`, when this is no manifest of this layout."""
    if not isinstance(data, dict) or data.get("layout") != LAYOUT:
        message = f"{where}: not an index of layout {LAYOUT}; ingest the book again"
        raise StorageError(message)
    values = {name: data.get(name) for name in _TYPES}
    wrong = [name for name, value in values.items() if type(value) is not _TYPES[name]]
    if wrong:
        message = f"{where}: damaged manifest ({', '.join(wrong)}); ingest the book again"
        raise StorageError(message)
    return BookManifest(**cast("dict[str, str]", values))  # type: ignore[arg-type]


def manifest_from_text(text: str, where: str) -> BookManifest:
    try:
        data = json.loads(text)
    except ValueError as error:
        message = f"{where}: damaged manifest ({error}); ingest the book again"
        raise StorageError(message) from error
    return manifest_from_json(data, where)
