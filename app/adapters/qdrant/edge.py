"""The embedded index: a shard directory for each book and generation, searched in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import qdrant_edge as edge

from app.adapters.qdrant.edge_books import Generation, OpenBooks
from app.adapters.qdrant.edge_shard import (
    SEGMENT,
    best_scores,
    matching,
    next_chapter,
    paragraph_ids,
    point_page,
    search_shard,
    storage_errors,
)
from app.adapters.qdrant.edge_writer import EdgeWriter
from app.adapters.qdrant.folder import BookFolder, Current
from app.adapters.qdrant.lock import BookLock
from app.adapters.qdrant.names import check_dimension
from app.adapters.qdrant.paragraph import find_passage
from app.adapters.qdrant.ranking import best
from app.domain.book_id import BookId, is_book_id
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.errors import BookNotFound, InputError
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector
from app.services.ports import BookManifest, IndexPoint


class EdgeIndex:
    """`VectorIndex` over `home/index`; any number of processes may search it at a time."""

    def __init__(
        self, home: Path, clock: Callable[[], float] = time.monotonic, segment: int = SEGMENT
    ) -> None:
        """Open nothing yet; folders are made by the first `begin`.

        `clock` gives seconds; `segment` is the number of chunks that a writer has in memory.
        """
        self._root = home / "index"
        self._segment = segment
        self._books = OpenBooks(clock)

    async def books(self) -> list[BookManifest]:
        listed = self._books.listed()
        return await asyncio.to_thread(self._manifests) if listed is None else listed

    async def manifest(self, book: BookId) -> BookManifest | None:
        return await asyncio.to_thread(self._manifest, self._folder(book))

    async def begin(self, book: BookId, dimension: int) -> EdgeWriter:
        """Start a generation. IndexBusy names the process that is writing the book."""
        folder = self._folder(book)
        return await asyncio.to_thread(
            EdgeWriter.open,
            folder,
            dimension,
            self._segment,
            lambda: self._books.look_again(book),
        )

    async def chunks(self, book: BookId) -> Mapping[str, tuple[str, ...]]:
        return await asyncio.to_thread(self._chunks, book)

    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        return await asyncio.to_thread(self._search, dense, sparse, limit, filter)

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
        return await asyncio.to_thread(self._best_scores, terms, books)

    async def fetch(self, book: BookId, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Chunks of the current generation, or else of the one that it replaced.

        So a question whose search came before a switch still gets its chunks after it.
        """
        return await asyncio.to_thread(self._fetch, book, chunk_ids)

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        return await asyncio.to_thread(self._matching, filter)

    async def next_chapter(self, book: BookId, chapter: str, position: int) -> int | None:
        return await asyncio.to_thread(self._next_chapter, book, chapter, position)

    async def find_paragraph(self, paragraph_id: str, book: BookId | None = None) -> Passage | None:
        return await asyncio.to_thread(self._find_paragraph, paragraph_id, book)

    async def remove(self, book: BookId) -> None:
        """IndexBusy when the book is being written."""
        await asyncio.to_thread(self._remove, self._folder(book))

    async def rollback(self, book: BookId) -> BookManifest:
        """Switch readers to the generation before; a second rollback switches back again.

        BookNotFound if there is no such book, InputError if it has only one generation, IndexBusy
        when it is being written.
        """
        return await asyncio.to_thread(self._rollback, self._folder(book))

    async def points(self, book: BookId) -> AsyncIterator[list[IndexPoint]]:
        """Pages of the generation that is current at the first one."""
        opened = await asyncio.to_thread(self._books.get, self._folder(book))
        generation, offset = opened.generation, None
        while True:
            page, offset = await asyncio.to_thread(_point_page, generation, offset)
            yield page
            if offset is None:
                return

    async def check(self) -> None:
        await asyncio.to_thread(self._check)

    def _folder(self, book: BookId) -> BookFolder:
        return BookFolder.of(self._root, book)

    def _published(self) -> list[BookFolder]:
        with storage_errors(self._root):
            if not self._root.is_dir():
                return []
            paths = [path for path in sorted(self._root.iterdir()) if is_book_id(path.name)]
            folders = [BookFolder(path) for path in paths]
            return [folder for folder in folders if folder.stamp() is not None]

    def _manifests(self) -> list[BookManifest]:
        manifests, switches = [], self._books.switches
        for folder in self._published():
            with storage_errors(folder.path):
                if current := folder.current():
                    manifests.append(folder.manifest(current.generation))
        self._books.keep_list(manifests, switches)
        return manifests

    def _manifest(self, folder: BookFolder) -> BookManifest | None:
        with storage_errors(folder.path):
            current = folder.current()
            return folder.manifest(current.generation) if current else None

    def _generations(self, books: Sequence[BookId]) -> Iterator[Generation]:
        """Of these books, BookNotFound if one is missing; of all when none is named."""
        if books:
            for book in dict.fromkeys(books):
                yield self._books.get(self._folder(book)).generation
            return
        for folder in self._published():
            # A book removed since it was listed is no error of who asked for any book.
            with suppress(BookNotFound):
                yield self._books.get(folder).generation

    def _chunks(self, book: BookId) -> dict[str, tuple[str, ...]]:
        folder = self._folder(book)
        generation = self._books.get(folder).generation
        with storage_errors(folder.path):
            return paragraph_ids(generation.shard)

    def _search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        if sparse is not None and not sparse.indices:
            sparse = None
        by_dense: list[ScoredId] = []
        by_sparse: list[ScoredId] = []
        for generation in self._generations(filter.books):
            manifest = generation.manifest
            if dense is not None:
                check_dimension(manifest.book, manifest.model, manifest.dimension, len(dense))
            with storage_errors(generation.folder.path):
                found = search_shard(generation.shard, dense, sparse, limit, filter)
            for hits, points in zip((by_dense, by_sparse), found, strict=True):
                hits += [ScoredId(manifest.book, str(point.id), point.score) for point in points]
        return Candidates(best(by_dense, limit), best(by_sparse, limit))

    def _best_scores(self, terms: Sequence[int], books: Sequence[BookId]) -> list[float]:
        best = [0.0] * len(terms)
        for generation in self._generations(books):
            with storage_errors(generation.folder.path):
                best = list(map(max, best, best_scores(generation.shard, terms)))
        return best

    def _fetch(self, book: BookId, chunk_ids: Sequence[str]) -> list[Chunk]:
        folder = self._folder(book)
        opened = self._books.get(folder)
        with storage_errors(folder.path):
            found = opened.generation.retrieve(chunk_ids)
            missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
            if missing:
                found |= opened.retrieve_replaced(missing)
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]

    def _find_paragraph(self, paragraph_id: str, book: BookId | None) -> Passage | None:
        wanted = SearchFilter(paragraph_ids=(paragraph_id,))
        for generation in self._generations((book,) if book else ()):
            with storage_errors(generation.folder.path):
                chunks = matching(generation.shard, wanted)
            if passage := find_passage(chunks, paragraph_id):
                return passage
        return None

    def _matching(self, filter: SearchFilter) -> list[Chunk]:
        chunks: list[Chunk] = []
        for generation in self._generations(sorted(filter.books)):
            with storage_errors(generation.folder.path):
                chunks += matching(generation.shard, filter)
        return chunks

    def _next_chapter(self, book: BookId, chapter: str, position: int) -> int | None:
        generation = self._books.get(self._folder(book)).generation
        with storage_errors(generation.folder.path):
            return next_chapter(generation.shard, chapter, position)

    def _remove(self, folder: BookFolder) -> None:
        with _locked(folder) as lock:
            folder.unpublish()
            folder.prune()
            lock.release(remove=True)
            # Not empty when another process began the book anew this very moment.
            with suppress(OSError):
                folder.path.rmdir()
        self._books.look_again(folder.book)

    def _rollback(self, folder: BookFolder) -> BookManifest:
        with _locked(folder):
            current = folder.current() or Current(0)
            if not current.previous:
                message = f"book {folder.book!r} has no generation to go back to"
                raise InputError(message)
            manifest = folder.manifest(current.previous)
            folder.switch(Current(current.previous, current.generation))
        self._books.look_again(folder.book)
        return manifest

    def _check(self) -> None:
        for folder in self._published():
            with suppress(BookNotFound):
                self._books.check(folder)


def _point_page(
    generation: Generation, offset: edge.PointId | None
) -> tuple[list[IndexPoint], edge.PointId | None]:
    with storage_errors(generation.folder.path):
        return point_page(generation.shard, offset)


@contextmanager
def _locked(folder: BookFolder) -> Iterator[BookLock]:
    """Hold the lock of a published book."""
    with storage_errors(folder.path):
        if folder.stamp() is None:
            message = f"no book {folder.book!r} in the index"
            raise BookNotFound(message)
        lock = BookLock.take(folder.path, folder.book)
        try:
            yield lock
        finally:
            lock.release()
