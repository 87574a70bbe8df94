"""Finds the glossary terms on a page, for hover hints."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.glossary import (
    GlossaryTerm,
    TermFinder,
    glossary_terms,
    in_glossary,
    with_references,
)
from app.domain.indexed_book import BookManifest
from app.domain.urls import page_key
from app.services.book_scope import BookCache
from app.services.ports import VectorIndex

_CACHED_BOOKS = 50


class _Glossary(NamedTuple):
    finder: TermFinder
    own: Mapping[tuple[str, str], GlossaryTerm]
    """Page key and folded term -> the entry on that page, with references followed."""


class LookUpTerms:
    """The use case. The glossary of each generation is cached."""

    def __init__(self, index: VectorIndex) -> None:
        kinds = (BlockKind.GLOSSARY_ENTRY,)
        self._glossaries = BookCache(index, _glossary_of, _CACHED_BOOKS, kinds)

    async def on_page(self, page: Sequence[Chunk], manifest: BookManifest) -> list[GlossaryTerm]:
        """Return the terms in a page's chunks, in order of first occurrence."""
        glossary = await self._glossaries.of(manifest)
        # In a thread: a page takes about 10 ms.
        return await asyncio.to_thread(_terms_of, glossary, page)


def _glossary_of(chunks: Sequence[Chunk]) -> _Glossary:
    held = [(page_key(chunk.deep_link_url), one) for chunk in chunks for one in chunk.passages]
    # A book with a glossary may have other definition lists, such as that of a program's options.
    entries = [(page, one) for page, one in held if in_glossary(one)] or held
    defined = [(page, term) for page, one in entries for term in glossary_terms(one)]
    # Sorted for a deterministic result: the first entry of a term wins.
    explained = with_references([term for _, term in sorted(defined, key=_by_page_and_term)])
    own = {(page, term.term.casefold()): explained[term] for page, term in defined}
    return _Glossary(TermFinder(explained.values()), own)


def _by_page_and_term(defined: tuple[str, GlossaryTerm]) -> tuple[str, str, str]:
    page, entry = defined
    return page, entry.term.casefold(), entry.paragraph_id


def _terms_of(glossary: _Glossary, page: Sequence[Chunk]) -> list[GlossaryTerm]:
    # The page's own entry for a term is preferred to another page's.
    key = page_key(page[0].deep_link_url)
    found = glossary.finder.find(passage for chunk in page for passage in chunk.passages)
    own = [glossary.own.get((key, one.term.casefold()), one) for one in found]
    return [replace(entry, forms=one.forms) for one, entry in zip(found, own, strict=True)]
