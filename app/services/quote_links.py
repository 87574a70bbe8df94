"""Points the link of a citation at the quoted words, by a text fragment."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from app.domain.answer import Answer, AnswerEvent, Citation, CitationFound, Finished
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.errors import RagError
from app.domain.links import PageText
from app.domain.retrieval.query import SearchFilter
from app.services.book_scope import books_asked
from app.services.ports import BookManifest, VectorIndex

_CACHED_PAGES = 300
"""Pages in the cache, about 10 MB."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class LinkQuotes:
    """The use case. Cited pages are read from the index and cached.

    If a page cannot be read, the link is unchanged.
    """

    index: VectorIndex
    _pages: LRUCache[tuple[str, int, str], PageText] = field(
        default_factory=lambda: LRUCache(_CACHED_PAGES), init=False, compare=False, repr=False
    )

    async def event(self, event: AnswerEvent) -> AnswerEvent:
        """Return the event with its citations' links pointing to their quotes."""
        if isinstance(event, CitationFound):
            return CitationFound(await self._linked(event.citation))
        if isinstance(event, Finished) and event.answer.citations:
            return Finished(await self._all_linked(event.answer))
        return event

    async def _all_linked(self, answer: Answer) -> Answer:
        return replace(answer, citations=tuple([await self._linked(c) for c in answer.citations]))

    async def _linked(self, citation: Citation) -> Citation:
        if citation.quote.count("\n") > 1:
            return citation  # a listing or table, which a text fragment cannot quote
        try:
            page = await self._page(citation.book, citation.file)
        except RagError as error:
            _log.warning("answer.quote_link_failed", extra={"error": error.code})
            return citation
        return replace(citation, url=page.link(citation.url, citation.quote))

    async def _page(self, book: BookId, file: str) -> PageText:
        (manifest,) = await books_asked(self.index, [book])
        key = (book, manifest.generation, file)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = PageText.of(await self._blocks(manifest, file))
        return page

    async def _blocks(self, manifest: BookManifest, file: str) -> Sequence[str]:
        """Return the distinct texts of a page and its headings; words must be unique in them."""
        chunks = await self.index.matching(SearchFilter(books=(manifest.book,), files=(file,)))
        passages = [p for chunk in chunks for p in chunk.passages]
        paths = (
            one.heading_path[: end + 1] for one in passages for end in range(len(one.heading_path))
        )
        headings = [path[-1] for path in dict.fromkeys(paths)]
        texts = (one.text for one in _distinct(passages) if one.kind is not BlockKind.HEADING)
        return [*headings, *texts]


def _distinct(passages: Iterable[Passage]) -> Iterable[Passage]:
    """Yield the passages in reading order, without those that are inside another one."""
    end = 0
    for one in sorted(set(passages), key=lambda one: (one.start, -one.end)):
        if one.end > end:
            end = one.end
            yield one
