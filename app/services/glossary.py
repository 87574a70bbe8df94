"""The glossary's terms that stand on a page of the book, for a hint where the reader points."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.errors import StorageError
from app.domain.glossary import (
    GlossaryTerm,
    TermFinder,
    TermOnPage,
    glossary_terms,
    with_references,
)
from app.domain.links import page_key
from app.domain.retrieval.query import SearchFilter
from app.services.book_scope import books_asked, require_all
from app.services.ports import BookManifest, VectorIndex

_CACHED_BOOKS = 50
_CACHED_PAGES = 2_000
"""Of each book."""


@dataclass(frozen=True, slots=True)
class PageGlossary:
    book: BookId
    terms: tuple[TermOnPage, ...]
    """In the order in which they first appear on the page."""


@dataclass(slots=True)
class _Generation:
    """What is cached of a book: its terms, and those of each page."""

    manifest: BookManifest
    finder: TermFinder
    defined: Mapping[str, Sequence[GlossaryTerm]]
    """Page key to the entries that stand there, references followed."""
    found: LRUCache[str, tuple[TermOnPage, ...]] = field(
        default_factory=lambda: LRUCache(_CACHED_PAGES)
    )
    """By page key, once somebody asked."""


@dataclass(slots=True)
class LookUpTerms:
    """The use case. A glossary is read once for each generation, a page when first asked for."""

    index: VectorIndex
    _read: LRUCache[str, _Generation] = field(
        default_factory=lambda: LRUCache(_CACHED_BOOKS), init=False, compare=False, repr=False
    )
    _reading: asyncio.Lock = field(
        default_factory=asyncio.Lock, init=False, compare=False, repr=False
    )

    async def on_page(self, page: str, book: BookId | None = None) -> PageGlossary | None:
        """Return the terms on a page, given by URL or path; None if no book has that page.

        Raises BookNotFound when `book` is not indexed; StorageError, also when the page is in no
        book but one could not be read.
        """
        key, damaged = page_key(page), None
        books = await books_asked(self.index, (book,) if book else ())
        # The one whose site the URL is of first.
        for manifest in sorted(books, key=lambda one: not page.startswith(one.base_url)):
            try:
                terms = await self._terms(await self._generation(manifest), key)
            except StorageError as error:
                damaged = error
                continue
            if terms is not None:
                return PageGlossary(manifest.book, terms)
        if damaged:
            raise damaged
        if not book:
            await require_all(self.index)
        return None

    async def _generation(self, manifest: BookManifest) -> _Generation:
        async with self._reading:
            known = self._read.get(manifest.book)
            if known is None or known.manifest != manifest:
                known = self._read[manifest.book] = await self._read_glossary(manifest)
            return known

    async def _read_glossary(self, manifest: BookManifest) -> _Generation:
        entries = SearchFilter(books=(manifest.book,), kinds=(BlockKind.GLOSSARY_ENTRY,))
        # In a thread: 2,000 entries take a second, and a page some 10 ms.
        return await asyncio.to_thread(_glossary_of, manifest, await self.index.matching(entries))

    async def _terms(self, generation: _Generation, page: str) -> tuple[TermOnPage, ...] | None:
        """The terms on a page; None if the book has no such page."""
        known = generation.found.get(page)
        if known is not None:
            return known
        on_page = SearchFilter(books=(generation.manifest.book,), pages=(page,))
        chunks = await self.index.matching(on_page)
        if not chunks:
            return None
        found = await asyncio.to_thread(_terms_of, generation, page, chunks)
        generation.found[page] = found
        return found


def _glossary_of(manifest: BookManifest, chunks: Sequence[Chunk]) -> _Generation:
    defined: dict[str, list[GlossaryTerm]] = {}
    for chunk in chunks:
        terms = [term for passage in chunk.passages for term in glossary_terms(passage)]
        defined.setdefault(page_key(chunk.deep_link_url), []).extend(terms)
    # Sorted, since of two entries with one term the first counts.
    every = [term for page in sorted(defined) for term in sorted(defined[page], key=_by_term)]
    explained = with_references(every)
    by_page = {page: [explained[term] for term in terms] for page, terms in defined.items()}
    return _Generation(manifest, TermFinder.of(explained[term] for term in every), by_page)


def _terms_of(
    generation: _Generation, page: str, chunks: Sequence[Chunk]
) -> tuple[TermOnPage, ...]:
    passages = [
        passage
        for chunk in sorted(chunks, key=lambda chunk: chunk.chunk_index)
        for passage in chunk.passages
    ]
    # What the page itself defines comes before what another page says of the same term.
    own = {entry.term.casefold(): entry for entry in generation.defined.get(page, ())}
    return tuple(
        replace(one, entry=own.get(one.entry.term.casefold(), one.entry))
        for one in generation.finder.find(passages)
    )


def _by_term(entry: GlossaryTerm) -> tuple[str, str]:
    return entry.term.casefold(), entry.paragraph_id
