"""The embedded index: a shard directory for each book and generation, searched in this process."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from app.adapters.qdrant.disk import storage_errors
from app.adapters.qdrant.edge_books import RECHECK_SECONDS, OpenBook
from app.adapters.qdrant.edge_folder import BookFolder
from app.adapters.qdrant.edge_generation import Generation, inverse_frequency
from app.adapters.qdrant.edge_writer import EdgeWriter
from app.domain.book_id import BookId, is_book_id
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, InputError, StorageError
from app.domain.indexed_book import BookList, BookManifest, Damage, Snapshot
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector, Vector
from app.services.threads import in_thread

_Found = TypeVar("_Found")


class EdgeIndex:
    """Implements the `BookStore` port over `home/index`; any number of processes can search it."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is opened yet; the first `begin` creates folders. `clock` gives seconds."""
        self._root = home / "index"
        self._clock = clock
        self._open: dict[BookId, OpenBook] = {}
        self._list: BookList | None = None
        """None until the first listing has ended: questions that come meanwhile list, too."""
        self._listed_at = -math.inf

    async def books(self) -> BookList:
        if self._list is None or self._clock() - self._listed_at >= RECHECK_SECONDS:
            self._list = await self._list_books()
        return self._list

    async def damaged(self) -> Mapping[BookId, Damage]:
        return {book: one.damage for book, one in list(self._open.items()) if one.damage}

    @in_thread
    def begin(self, book: BookId, dimension: int) -> EdgeWriter:
        """Start a generation. IndexBusy names the process that is writing the book."""
        one = self._book(book)
        return EdgeWriter(one.folder, dimension, one.invalidate)

    @in_thread
    def search(
        self, dense: Vector | None, sparse: SparseVector | None, limit: int, filter: SearchFilter
    ) -> Candidates:
        if sparse is not None:
            sparse = self._weighted(sparse, filter.books)
        ask = lambda one: one.search(dense, sparse, limit, filter)  # noqa: E731
        return Candidates.best(list(self._each(filter.books, ask)), limit)

    @in_thread
    def best_scores(self, terms: Sequence[int], books: Sequence[BookId]) -> list[float]:
        every = list(self._each(books, lambda one: one.terms))
        highest = [max([0.0, *(one.of(term)[1] for one in every)]) for term in terms]
        weighted = zip(highest, terms, strict=True)
        return [weight * inverse_frequency(every, term) for weight, term in weighted]

    async def fetch(self, wanted: Mapping[BookId, Sequence[str]]) -> list[Chunk]:
        found: list[Chunk] = []
        for book, ids in wanted.items():
            cached = self._book(book).cached(ids)
            # A thread would cost a search a quarter of its CPU time.
            in_memory = ids and cached.keys() >= {*ids}
            found += map(cached.__getitem__, ids) if in_memory else await self._fetch(book, ids)
        return found

    @in_thread
    def matching(self, filter: SearchFilter) -> list[Chunk]:
        found = self._each(sorted(filter.books), lambda one: one.matching(filter))
        return [chunk for chunks in found for chunk in chunks]

    @in_thread
    def remove(self, book: BookId) -> None:
        """IndexBusy while the book is being written."""
        with self._changing(book) as folder:
            folder.keep(())
            folder.prune()

    @in_thread
    def rollback(self, book: BookId) -> BookManifest:
        """Exchange the two generations; a damaged one is not kept to go back to."""
        with self._changing(book) as folder:
            current, *previous = folder.kept()
            if not previous:
                raise InputError(f"book {folder.book!r} has no previous generation to go back to")
            before = folder.stored(previous[0])
            before.check()
            kept = {current}.intersection(folder.sound())
            folder.publish(before.folder, before.manifest, kept)
            return before.manifest

    @in_thread
    def faults(self, book: BookId, *, previous: bool = False) -> list[str]:
        """Check every byte of the generation."""
        folder = self._book(book).folder

        def check() -> None:
            for number in folder.kept()[previous:][:1]:
                folder.stored(number).check()

        try:
            with storage_errors(folder.path):
                folder.settled(check)
        except StorageError as error:
            return [str(error)]
        return []

    @contextmanager
    def _changing(self, book: BookId) -> Iterator[BookFolder]:
        """Lock a published book. BookNotFound if it is not published, IndexBusy."""
        one = self._book(book)
        with storage_errors(one.folder.path):
            one.folder.kept()
            with one.folder.lock():
                one.folder.kept()
                yield one.folder
        one.invalidate()

    @in_thread
    def snapshot(self, book: BookId) -> Snapshot:
        """Read the current generation, which stays open: its folder may be removed meanwhile."""
        generation = self._book(book).get()
        return Snapshot(generation.manifest, generation.pages())

    @in_thread
    def check(self) -> None:
        list(self._each((), lambda one: one.manifest))

    def _book(self, book: BookId) -> OpenBook:
        if found := self._open.get(book):
            return found
        folder = BookFolder(self._root / BookId(book))
        return self._open.setdefault(folder.book, OpenBook(folder, self._clock, self._relist))

    def _books(self) -> list[OpenBook]:
        """All books, of which some may not be published."""
        with storage_errors(self._root):
            names = os.listdir(self._root) if self._root.is_dir() else []  # noqa: PTH208
        return [self._book(BookId(name)) for name in sorted(filter(is_book_id, names))]

    def _relist(self) -> None:
        self._listed_at = -math.inf

    @in_thread
    def _list_books(self) -> BookList:
        """Return the known list if no manifest has changed."""
        self._listed_at = self._clock()
        manifests, books = [], self._books()
        for gone in self._open.keys() - {one.folder.book for one in books}:
            self._open.pop(gone, None)
        for one in books:
            # `damaged` reports unreadable books. A book that was removed meanwhile is in neither.
            with suppress(StorageError, BookNotFound):
                manifests.append(one.manifest())
        found, known = BookList(manifests), self._list
        return known if known is not None and known == found else found

    def _each(
        self, books: Sequence[BookId], ask: Callable[[Generation], _Found]
    ) -> Iterator[_Found]:
        """Yield the results of `ask` for these books, or for all books if none is named.

        BookNotFound if a named book is missing. Unreadable books are skipped; StorageError if all
        are unreadable.
        """
        asked, failed = 0, None
        for one in map(self._book, dict.fromkeys(books)) if books else self._books():
            try:
                found = self._ask(one, ask)
            except BookNotFound:
                # Without names, a book that was removed since the listing is not an error.
                if books:
                    raise
            except StorageError as error:
                failed = error
            else:
                asked += 1
                yield found
        if failed and not asked:
            raise failed

    def _ask(self, one: OpenBook, ask: Callable[[Generation], _Found]) -> _Found:
        generation = one.get()
        try:
            with storage_errors(generation.stored.folder):
                return ask(generation)
        except StorageError:
            one.invalidate()
            raise

    def _weighted(self, sparse: SparseVector, books: Sequence[BookId]) -> SparseVector:
        """Multiply each term by its idf in these books together; the engine counts in one book."""
        every = list(self._each(books, lambda one: one.terms))
        values = zip(sparse.indices, sparse.values, strict=True)
        weights = [value * inverse_frequency(every, term) for term, value in values]
        return SparseVector(sparse.indices, tuple(weights))

    @in_thread
    def _fetch(self, book: BookId, chunk_ids: Sequence[str]) -> list[Chunk]:
        one = self._book(book)
        found = self._ask(one, lambda current: current.retrieve(chunk_ids))
        missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
        if missing and (previous := Generation.previous(one.folder)):
            # For questions that searched before the switch.
            with suppress(StorageError), storage_errors(previous.stored.folder):
                found |= previous.retrieve(missing)
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]
