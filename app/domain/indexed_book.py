"""An indexed book: its manifest, its points, its damage, and the list of all books."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.retrieval.query import SparseVector, Vector


@dataclass(frozen=True, slots=True)
class BookManifest:
    """Description of a generation of a book, stored in the index."""

    book: BookId
    title: str
    book_version: str
    model: str
    """The embedder's `space`."""
    dimension: int
    strategy: str
    site: str
    base_url: str
    language: str
    fingerprint: str
    """Hash of everything that determines chunks and vectors; if it is equal, an ingest changes
    nothing."""
    chunks: int
    tokens: int
    files: int
    created_at: str
    """ISO 8601, UTC."""
    generation: int = 0
    """Set by the index at publication; counts from 1."""
    size_bytes: int = 0
    """Size on this machine's disk; 0 for a book on a server."""
    version: str = ""
    """The edition's version as the site names it; "" in a book with one version."""
    locale: str = ""
    """The edition's locale; "" in a book with one locale."""


class BookList(dict[BookId, BookManifest]):
    """The readable books of an index, by id in ascending order. It never changes.

    An index returns the same list until one of its books changes. So the cost of a question about
    one book does not grow with the number of books.
    """

    def __init__(self, manifests: Iterable[BookManifest] = ()) -> None:
        super().__init__((one.book, one) for one in sorted(manifests, key=lambda one: one.book))

    def named(self, books: Collection[BookId] = ()) -> Sequence[BookManifest]:
        """Return these books, or all, in the order of ids; missing ones are left out."""
        return [self[book] for book in sorted({*books}) if book in self] if books else self._all

    def only(self, books: Collection[BookId]) -> BookList:
        """Return the list of these books, without missing ones; this list if none is named."""
        return BookList(self.named(books)) if books else self

    @cached_property
    def generations(self) -> str:
        """A cache key that changes with each new generation of a book."""
        # A removed book starts again with generation 1, so the number alone is not enough.
        return "/".join(f"{one.book}@{one.fingerprint}.{one.generation}" for one in self._all)

    @cached_property
    def by_language(self) -> Mapping[str, tuple[BookId, ...]]:
        """The books of each language, starting with that of the first book."""
        languages = dict.fromkeys(one.language for one in self._all)
        return {
            language: tuple(one.book for one in self._all if one.language == language)
            for language in languages
        }

    @property
    def language(self) -> str:
        """The language of the first book."""
        return self._all[0].language

    @cached_property
    def defaults(self) -> Sequence[BookId]:
        return [book for book in self if book == book.name]

    @cached_property
    def with_editions(self) -> Mapping[BookId, Sequence[BookManifest]]:
        """The editions, the default one among them, of each book that has several."""
        names = {one.name for one in self if one != one.name}
        return {name: [one for one in self._all if one.book.name == name] for name in sorted(names)}

    @cached_property
    def _all(self) -> Sequence[BookManifest]:
        return tuple(self.values())


@dataclass(frozen=True, slots=True)
class Damage:
    reason: str
    """For the operator; it may name files."""
    answers: bool = False
    """Whether the previous generation answers instead; otherwise the book is left out."""


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """A chunk as it is stored."""

    chunk: Chunk
    dense: Vector
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One published generation of a book; it stays readable when a newer one is published."""

    manifest: BookManifest
    pages: AsyncIterator[list[IndexPoint]]
    """All points in pages, in reading order; dense vectors as stored: scaled to length 1.

    On a server, pages lack points if the generation was replaced twice while it was read: compare
    their number with the manifest's.
    """
