"""The contents and the whole text of an indexed book, for language models."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound
from app.domain.indexed_book import BookManifest
from app.domain.links import page_key
from app.domain.llms_text import ChapterList, contents_of, full_text, page_text, short_text
from app.domain.retrieval.query import SearchFilter
from app.domain.urls import encoded_path
from app.services.book_cache import BookCache
from app.services.ports import VectorIndex

_CACHED = 8
"""Books in each cache; a large one takes a few MB."""


@dataclass(slots=True)
class DescribeBook:
    """The use case. Results are cached until the book's next generation."""

    index: VectorIndex
    _contents: BookCache[ChapterList] = field(
        default_factory=lambda: BookCache(_CACHED), init=False
    )
    _texts: BookCache[str] = field(default_factory=lambda: BookCache(_CACHED), init=False)

    async def contents(self, book: BookId) -> ChapterList:
        """Return the table of contents. Raises BookNotFound."""
        manifest = await self._manifest(book)

        async def make() -> ChapterList:
            chunks = await self.index.matching(SearchFilter(books=(book,)))
            return contents_of(manifest.title, manifest.language, chunks)

        return await self._contents.get(manifest, make)

    async def short_text(self, book: BookId) -> str:
        """Return `llms.txt`. Raises BookNotFound."""
        return short_text(await self.contents(book))

    async def full_text(self, book: BookId) -> str:
        """Return `llms-full.txt`. Raises BookNotFound."""
        manifest = await self._manifest(book)

        async def make() -> str:
            chunks = await self.index.matching(SearchFilter(books=(book,)))
            # In a thread: it takes a second for a large book.
            return await asyncio.to_thread(full_text, manifest.title, chunks)

        return await self._texts.get(manifest, make)

    async def page_text(self, book: BookId, page: str) -> str:
        """Return the Markdown of the page at a path below the book's address, without `.html`.

        "" if the book has no such page. Raises BookNotFound.
        """
        root = (await self._manifest(book)).base_url.rstrip("/")
        key = page_key(f"{root}/{encoded_path(page)}.html")
        chunks = await self.index.matching(SearchFilter(books=(book,), pages=(key,)))
        return page_text(chunks) if chunks else ""

    async def _manifest(self, book: BookId) -> BookManifest:
        manifest = (await self.index.books()).get(book)
        if manifest is None:
            raise BookNotFound.of(book)
        return manifest
