"""The names both stores use: vectors and indexed payload fields."""

from __future__ import annotations

from app.domain.book_id import BookId
from app.domain.errors import IndexMismatch

DENSE = "dense"
SPARSE = "bm25"

TENANT_FIELD = "book"
KEYWORD_FIELDS = (
    "file", "page", "chapter", "content_type", "kinds", "language", "paragraph_ids",
)  # fmt: skip
INTEGER_FIELDS = ("position",)


def check_dimension(book: BookId, model: str, expected: int, got: int) -> None:
    """Raise IndexMismatch when a vector of `got` numbers meets an index of `expected`."""
    if expected != got:
        message = (
            f"book {book!r} is indexed with {expected} dimensions (model {model}), but the vector "
            f"has {got}: use the model of the index, or ingest the book again"
        )
        raise IndexMismatch(message)
