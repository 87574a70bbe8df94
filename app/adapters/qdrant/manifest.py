"""Converts a BookManifest to the JSON that is stored with a generation, and back."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields

from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, InputError
from app.domain.indexed_book import BookManifest

LAYOUT = 5
"""Version of folders, payload and vectors. A book with another one must be ingested again."""


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
    known = {field.name: field for field in fields(BookManifest)}
    missing = [name for name, one in known.items() if name not in data and one.default is MISSING]
    if missing:
        raise _damaged(where, f"without {', '.join(missing)}")
    values = {name: data[name] for name in known if name in data}
    try:
        return BookManifest(**{**values, "book": BookId(values["book"])})
    except (InputError, TypeError) as error:
        raise _damaged(where, str(error)) from error


def _damaged(where: str, reason: str) -> IndexUnreadable:
    return IndexUnreadable(f"{where}: damaged manifest ({reason}); ingest the book again")
