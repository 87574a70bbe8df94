"""Suggests questions on a page: about its terms, its sections, its exercises."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from app.domain.answering.follow_ups import MAX_SUGGESTIONS, suggestions
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.indexed_book import BookManifest
from app.domain.links import TEXT_DIRECTIVE, page_key
from app.domain.retrieval.context_assembly import paragraphs_of
from app.domain.retrieval.query import Hit, SearchFilter
from app.services.book_scope import in_first_book
from app.services.lexical import LexicalEncoder
from app.services.ports import VectorIndex


@dataclass(frozen=True, slots=True)
class PageSuggestions:
    book: BookId
    questions: tuple[str, ...]
    """At most `MAX_SUGGESTIONS`, of different sections, in reading order."""
    exercises: tuple[Passage, ...]
    """All exercises of the page, in reading order."""


@dataclass(frozen=True, slots=True)
class SuggestForPage:
    """The use case; no provider is called."""

    index: VectorIndex
    lexical: LexicalEncoder

    async def on_page(self, page: str, book: BookId | None = None) -> PageSuggestions | None:
        """Return suggestions for a page, given by URL or path; None if no book has it.

        BookNotFound if `book` is not indexed. StorageError if the page was not found and a book
        could not be read.
        """
        key = page_key(page)

        async def read(manifest: BookManifest) -> PageSuggestions | None:
            on_page = SearchFilter(books=(manifest.book,), pages=(key,))
            chunks = await self.index.matching(on_page)
            return await asyncio.to_thread(self._of, manifest.book, chunks) if chunks else None

        return await in_first_book(self.index, page, book, read)

    def _of(self, book: BookId, chunks: Sequence[Chunk]) -> PageSuggestions:
        ordered = sorted(chunks, key=lambda chunk: chunk.chunk_index)
        return PageSuggestions(
            book,
            tuple(islice(self._questions(ordered), MAX_SUGGESTIONS)),
            _exercises(ordered),
        )

    def _questions(self, chunks: Sequence[Chunk]) -> Iterator[str]:
        """Yield at most one question for each section that the site can link to."""
        seen: set[str] = set()
        for section in _sections(chunks):
            terms = partial(self.lexical.terms, language=section.language)
            found = suggestions(frozenset(), [Hit(section, 0.0)], terms, section.language)
            question = next((one for one, _ in found if one not in seen), None)
            if question:
                seen.add(question)
                yield question


def _sections(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return each section of the page as one chunk.

    A section that has the address of an earlier one is left out: a heading in HTML, such as one in
    a note, may have no anchor of its own.
    """
    owners: dict[str, tuple[str, ...]] = {}
    found: dict[tuple[str, ...], Chunk] = {}
    for chunk in chunks:
        for passage in chunk.passages:
            path = passage.heading_path
            address = passage.url.partition(TEXT_DIRECTIVE)[0].rstrip("#")
            if owners.setdefault(address, path) == path:
                before = found[path].passages if path in found else ()
                found[path] = replace(chunk, passages=(*before, passage), heading_path=path)
    return [*found.values()]


def _exercises(chunks: Iterable[Chunk]) -> tuple[Passage, ...]:
    return tuple(one for _, one in paragraphs_of(chunks) if one.kind is BlockKind.EXERCISE)
