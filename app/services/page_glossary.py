"""Finds the glossary terms on a page, for hover hints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.glossary import (
    GlossaryTerm,
    TermFinder,
    TermOnPage,
    glossary_terms,
    in_glossary,
    with_references,
)
from app.domain.indexed_book import BookManifest
from app.domain.links import page_key
from app.domain.retrieval.query import SearchFilter
from app.services.book_cache import BookCache
from app.services.book_scope import in_first_book
from app.services.ports import VectorIndex

_CACHED_BOOKS = 50
_CACHED_PAGES = 10_000


@dataclass(frozen=True, slots=True)
class PageGlossary:
    book: BookId
    terms: tuple[TermOnPage, ...]
    """In order of first occurrence."""


class _Glossary(NamedTuple):
    finder: TermFinder
    defined: Mapping[str, Sequence[GlossaryTerm]]
    """Page key -> entries on that page, with references followed."""


@dataclass(slots=True)
class LookUpTerms:
    """The use case. The glossary of each generation is cached, and the terms of each page."""

    index: VectorIndex
    _glossaries: BookCache[_Glossary] = field(
        default_factory=lambda: BookCache(_CACHED_BOOKS), init=False
    )
    _pages: BookCache[tuple[TermOnPage, ...] | None] = field(
        default_factory=lambda: BookCache(_CACHED_PAGES), init=False
    )

    async def on_page(self, page: str, book: BookId | None = None) -> PageGlossary | None:
        """Return the terms on a page, given by URL or path; None if no book has that page.

        BookNotFound if `book` is not indexed. StorageError if the page was not found and a book
        could not be read.
        """
        key = page_key(page)

        async def read(manifest: BookManifest) -> PageGlossary | None:
            async def make() -> tuple[TermOnPage, ...] | None:
                on_page = SearchFilter(books=(manifest.book,), pages=(key,))
                chunks = await self.index.matching(on_page)
                glossary = await self._glossary(manifest)
                # In a thread: a page takes about 10 ms, and 2,000 entries a second.
                return await asyncio.to_thread(_terms_of, glossary, key, chunks) if chunks else None

            terms = await self._pages.get(manifest, make, key)
            return None if terms is None else PageGlossary(manifest.book, terms)

        return await in_first_book(self.index, page, book, read)

    async def _glossary(self, manifest: BookManifest) -> _Glossary:
        async def make() -> _Glossary:
            entries = SearchFilter(books=(manifest.book,), kinds=(BlockKind.GLOSSARY_ENTRY,))
            return await asyncio.to_thread(_glossary_of, await self.index.matching(entries))

        return await self._glossaries.get(manifest, make)


def _glossary_of(chunks: Sequence[Chunk]) -> _Glossary:
    defined = _terms_by_page(chunks)
    # Sorted for a deterministic result: the first entry of a term wins.
    every = [term for page in sorted(defined) for term in sorted(defined[page], key=_by_term)]
    explained = with_references(every)
    by_page = {page: [explained[term] for term in terms] for page, terms in defined.items()}
    return _Glossary(TermFinder.of(explained[term] for term in every), by_page)


def _terms_by_page(chunks: Sequence[Chunk]) -> dict[str, list[GlossaryTerm]]:
    held = [(page_key(chunk.deep_link_url), one) for chunk in chunks for one in chunk.passages]
    # A book with a glossary may have other definition lists, such as that of a program's options.
    entries = [(page, one) for page, one in held if in_glossary(one)] or held
    defined: dict[str, list[GlossaryTerm]] = {}
    for page, passage in entries:
        defined.setdefault(page, []).extend(glossary_terms(passage))
    return defined


def _terms_of(glossary: _Glossary, page: str, chunks: Sequence[Chunk]) -> tuple[TermOnPage, ...]:
    passages = [
        passage
        for chunk in sorted(chunks, key=lambda chunk: chunk.chunk_index)
        for passage in chunk.passages
    ]
    # The page's own entry for a term is preferred to another page's.
    own = {entry.term.casefold(): entry for entry in glossary.defined.get(page, ())}
    return tuple(
        replace(one, entry=own.get(one.entry.term.casefold(), one.entry))
        for one in glossary.finder.find(passages)
    )


def _by_term(entry: GlossaryTerm) -> tuple[str, str]:
    return entry.term.casefold(), entry.paragraph_id
