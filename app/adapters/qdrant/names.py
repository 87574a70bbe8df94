"""The names both stores use: vectors, indexed payload fields, book ids."""

from __future__ import annotations

import re

from app.domain.errors import IndexMismatch, InputError

DENSE = "dense"
SPARSE = "bm25"

TENANT_FIELD = "book"
KEYWORD_FIELDS = (
    "file", "page", "chapter", "content_type", "kinds", "language", "paragraph_ids",
)  # fmt: skip
INTEGER_FIELDS = ("position",)

_BOOK_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
# `<prefix>_<book>_v<N>` names a generation on a server, so no book may be called that way.
_GENERATION_SUFFIX = re.compile(r"_v[0-9]+")


def check_book_id(book: str) -> str:
    """Return `book` when it may name folders and collections; else raise InputError."""
    if not _BOOK_ID.fullmatch(book):
        message = (
            f"book id {book[:80]!r}: use 1 to 64 of a-z, 0-9, '.', '_' and '-', "
            "starting with a letter or digit"
        )
        raise InputError(message)
    ending = _GENERATION_SUFFIX.search(book)
    if ending and ending.end() == len(book):
        message = f"book id {book!r}: must not end like a generation's name, {ending.group()!r}"
        raise InputError(message)
    return book


def check_dimension(book: str, model: str, expected: int, got: int) -> None:
    """Raise IndexMismatch when a vector of `got` numbers meets an index of `expected`."""
    if expected != got:
        message = (
            f"book {book!r} is indexed with {expected} dimensions (model {model}), but the vector "
            f"has {got}: use the model of the index, or ingest the book again"
        )
        raise IndexMismatch(message)
