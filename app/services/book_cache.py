"""Caches what is made from books: chapters, glossaries, texts, words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache

from app.domain.indexed_book import BookManifest

_Made = TypeVar("_Made")
_Key: TypeAlias = tuple[str, str, int, str]


class BookCache(Generic[_Made]):
    """Keeps values until their book is indexed again."""

    def __init__(self, size: int) -> None:
        self._known: LRUCache[_Key, _Made] = LRUCache(size)
        self._making: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    async def get(
        self, manifest: BookManifest, make: Callable[[], Awaitable[_Made]], part: str = ""
    ) -> _Made:
        """Return the value of the book, or of a part of it; `make` makes it if it is not known."""
        # A removed book starts again with generation 1, so the number alone is not enough.
        key = (manifest.book, manifest.fingerprint, manifest.generation, part)
        if key not in self._known:
            # Not twice for two questions at the same time; other books do not wait.
            async with self._making.setdefault(key, asyncio.Lock()):
                if key not in self._known:
                    self._known[key] = await make()
        return self._known[key]
