"""Caches what is made from the chunks of books: chapters, glossaries, figures, words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache

from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.indexed_book import BookManifest
from app.domain.retrieval.query import SearchFilter
from app.services.ports import VectorIndex

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
