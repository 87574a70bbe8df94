"""The books in which a question is searched, which of them are damaged, what is made from them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.edition import edition_at
from app.domain.errors import NO_BOOKS, BookNotFound, StorageError
from app.domain.indexed_book import BookList, BookManifest
from app.domain.retrieval.query import SearchFilter
from app.domain.urls import page_key
from app.services.ports import VectorIndex
from app.services.recording import failed_step


@dataclass(frozen=True, slots=True)
class BookScope:
    """The part of the index that a question is about: looked up once, then passed down."""

    books: BookList
    """The readable books that are searched; not empty."""
    filter: SearchFilter
    """Its `books` are those asked, in the editions of the reader's page; empty means all."""
    every: BookList
    """All readable books of the index."""
    page: Chunk | None = None
    """The first chunk of the reader's page."""

    def within(self, filter: SearchFilter) -> BookScope:
        """Return the scope of a filter whose books are some of this scope's."""
        return replace(self, books=self.books.only(filter.books), filter=filter)

    def in_default_editions(self) -> BookScope | None:
        """Return the scope of the default editions, on no page; None if it is the same or empty."""
        names = tuple(dict.fromkeys(book.name for book in self.filter.books))
        books = self.every.only(names)
        if names == self.filter.books or not books:
            return None
        return replace(self, books=books, filter=replace(self.filter, books=names), page=None)


async def scope_of(index: VectorIndex, filter: SearchFilter, page_url: str) -> BookScope:
    """Look up the books of a filter, or all default editions, in the edition of the reader's page.

    BookNotFound if one of them is not indexed, or none; StorageError if none can be read.
    """
    every = await index.books()
    editions = _readers_editions(every, filter.books, page_url)
    asked = editions or every.defaults
    missing = [book for book in asked if book not in every]
    damaged = await index.damaged() if missing or not asked else {}
    require_indexed(missing, {*every, *damaged})
    if len(missing) == len(asked):
        if damaged:
            raise StorageError(damaged[next(iter(missing or damaged))].reason)
        named = f"only editions are indexed: ask one of {', '.join(every)}"
        raise BookNotFound(named if every else NO_BOOKS)
    return BookScope(every.only(editions), replace(filter, books=editions), every)


async def indexed_books(index: VectorIndex) -> list[BookId]:
    """Return all books of the index, each once, also those that cannot be read."""
    # A damaged book whose previous generation answers is in both.
    return list(dict.fromkeys((*await index.books(), *await index.damaged())))


def require_indexed(books: Sequence[BookId], indexed: Collection[BookId]) -> None:
    """BookNotFound if one of these books is not indexed."""
    for book in books:
        if book not in indexed:
            raise BookNotFound.among(book, indexed)


def _readers_editions(
    every: BookList, books: Sequence[BookId], page_url: str
) -> tuple[BookId, ...]:
    """Return for each of these books, or for all, the edition of the reader's page.

    A book that does not have the page is replaced by its default edition. `books` is returned
    unchanged if none of them has several editions.
    """
    if not any(name in books or not books for name in every.with_editions):
        return tuple(books)
    names = books or every.defaults
    # All roots are compared together, because a page belongs to one site.
    roots = [(one.book, one.base_url) for one in every.named() if one.book.name in names]
    here = edition_at(page_url, roots) if page_url else None
    return tuple(here if here and here.name == book else book for book in names)


async def find_page(
    index: VectorIndex, page: str, books: Sequence[BookId] = ()
) -> tuple[BookManifest, list[Chunk]] | None:
    """Return the first of these books, or of all, that has a page, and the page's chunks.

    The page is given by URL or path. Each book is looked up in the edition of the page; the book
    whose site the URL belongs to is the first. BookNotFound if a book is not indexed; StorageError
    if the page was not found and a book could not be read.
    """
    scope = await scope_of(index, SearchFilter(books=tuple(books)), page)
    found = await page_among(index, page, scope.books)
    if found is None:
        for book, damage in (await index.damaged()).items():
            if not damage.answers and (not books or book in books):
                raise StorageError(damage.reason)
    return found


async def page_among(
    index: VectorIndex, page: str, books: BookList
) -> tuple[BookManifest, list[Chunk]] | None:
    """Return the first of these books that has a page, and the page's chunks, as `find_page`."""
    damaged: StorageError | None = None
    for manifest in sorted(books.named(), key=lambda one: not page.startswith(one.base_url)):
        on_page = SearchFilter(books=(manifest.book,), pages=(page_key(page),))
        try:
            chunks = await index.matching(on_page)
        except StorageError as error:
            damaged = error
            continue
        if chunks:
            return manifest, sorted(chunks, key=lambda chunk: chunk.chunk_index)
    if damaged:
        raise damaged
    return None


async def degraded_books(index: VectorIndex, books: Sequence[BookId]) -> tuple[str, ...]:
    """Entries of `degraded` for these books, or for all.

    "book:x" could not be read; "generation:x" was answered from the previous generation.
    """
    entries = []
    for book, damage in sorted((await index.damaged()).items()):
        if not books or book in books:
            entries.append(f"generation:{book}" if damage.answers else f"book:{book}")
            failed_step(entries[-1], "index_damaged", damage.reason)
    return tuple(entries)


_Made = TypeVar("_Made")
_Key: TypeAlias = tuple[str, str, int, tuple[str, ...]]


class BookCache(Generic[_Made]):
    """Makes values from books, in a thread, and keeps them until their book is indexed again."""

    def __init__(
        self,
        index: VectorIndex,
        make: Callable[[Sequence[Chunk]], _Made],
        size: int,
        kinds: tuple[BlockKind, ...] = (),
    ) -> None:
        """`make` gets the chunks with passages of these kinds; all chunks if there are none."""
        self._index, self._make, self._kinds = index, make, kinds
        self._known: LRUCache[_Key, _Made] = LRUCache(size)
        self._making: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    async def of(self, manifest: BookManifest, files: tuple[str, ...] = ()) -> _Made:
        """Return the value of the book, or of these files of it. Raises StorageError."""
        # A removed book starts again with generation 1, so the number alone is not enough.
        key = (manifest.book, manifest.fingerprint, manifest.generation, files)
        if key not in self._known:
            # Not twice for two questions at the same time; other books do not wait.
            async with self._making.setdefault(key, asyncio.Lock()):
                if key not in self._known:
                    wanted = SearchFilter(books=(manifest.book,), files=files, kinds=self._kinds)
                    chunks = await self._index.matching(wanted)
                    self._known[key] = await asyncio.to_thread(self._make, chunks)
        return self._known[key]
