"""The glossary's terms that stand on a page of the book, for a hint where the reader points."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from app.domain.errors import BookNotFound
from app.domain.glossary import GlossaryTerm, TermFinder, TermOnPage, glossary_terms
from app.services.ports import BookManifest, VectorIndex

_FETCHED = 500
"""Chunks read at a time."""


@dataclass(frozen=True, slots=True)
class PageGlossary:
    book: str
    terms: tuple[TermOnPage, ...]
    """In the order in which they first appear on the page."""


@dataclass(slots=True)
class _Generation:
    """What is remembered of a book: its terms, and the pages with those that stand on them."""

    manifest: BookManifest
    finder: TermFinder
    chunks: Mapping[str, Sequence[str]]
    """Page key to chunk ids."""
    defined: Mapping[str, Sequence[GlossaryTerm]]
    """Page key to the entries that stand there."""
    found: dict[str, tuple[TermOnPage, ...]] = field(default_factory=dict)
    """By page key, once somebody asked."""


@dataclass(frozen=True, slots=True)
class LookUpTerms:
    """The use case. A book is read once for each generation, a page when first asked for."""

    index: VectorIndex
    _read: dict[str, _Generation] = field(default_factory=dict, compare=False)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)

    async def on_page(self, page: str, book: str = "") -> PageGlossary | None:
        """Return the terms on a page, given by URL or path; None if no book has that page.

        Raises BookNotFound when `book` is not indexed, StorageError.
        """
        key = page_key(page)
        for manifest in _in_scope(await self.index.books(), page, book):
            generation = await self._generation(manifest)
            if key in generation.chunks:
                return PageGlossary(manifest.book, await self._terms(generation, key))
        return None

    async def _generation(self, manifest: BookManifest) -> _Generation:
        async with self._reading:
            known = self._read.get(manifest.book)
            if known is None or known.manifest != manifest:
                known = self._read[manifest.book] = await self._read_book(manifest)
            return known

    async def _read_book(self, manifest: BookManifest) -> _Generation:
        chunk_ids: dict[str, list[str]] = {}
        defined: dict[str, list[GlossaryTerm]] = {}
        ids = list(await self.index.chunks(manifest.book))
        for start in range(0, len(ids), _FETCHED):
            for chunk in await self.index.fetch(manifest.book, ids[start : start + _FETCHED]):
                page = page_key(chunk.deep_link_url)
                chunk_ids.setdefault(page, []).append(chunk.chunk_id)
                terms = [term for passage in chunk.passages for term in glossary_terms(passage)]
                if terms:
                    defined.setdefault(page, []).extend(terms)
        # Sorted, since chunks come in no order and of two entries with one term the first counts.
        every = (term for page in sorted(defined) for term in sorted(defined[page], key=_by_term))
        return _Generation(manifest, TermFinder.of(every), chunk_ids, defined)

    async def _terms(self, generation: _Generation, page: str) -> tuple[TermOnPage, ...]:
        if page not in generation.found:
            ids = generation.chunks[page]
            chunks = await self.index.fetch(generation.manifest.book, ids)
            passages = [
                passage
                for chunk in sorted(chunks, key=lambda chunk: chunk.chunk_index)
                for passage in chunk.passages
            ]
            # What the page itself defines comes before what another page says of the same term.
            own = {entry.term.casefold(): entry for entry in generation.defined.get(page, ())}
            generation.found[page] = tuple(
                replace(one, entry=own.get(one.entry.term.casefold(), one.entry))
                for one in generation.finder.find(passages)
            )
        return generation.found[page]


def _by_term(entry: GlossaryTerm) -> tuple[str, str]:
    return entry.term.casefold(), entry.paragraph_id


def _in_scope(books: Sequence[BookManifest], page: str, book: str) -> list[BookManifest]:
    """The books to look in; the one whose site the URL is of first."""
    if book and book not in {manifest.book for manifest in books}:
        message = f"no book {book!r} in the index"
        raise BookNotFound(message)
    asked = [manifest for manifest in books if not book or manifest.book == book]
    return sorted(asked, key=lambda manifest: not page.startswith(manifest.base_url))


def page_key(url: str) -> str:
    """Return what the URLs of one page have in common, the site's address left out.

    A page is known by its path, with or without a slash, `.html` or `index.html` at its end; so a
    preview of the site at another address is served as well.
    """
    path = unquote(urlsplit(url).path).removesuffix("index.html").rstrip("/")
    return path.removesuffix(".html") or "/"
