"""Points the link of a citation at the quoted words, by a text fragment."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from app.domain.answer import AnswerEvent, Citation, CitationFound, Finished
from app.domain.answering.verification import QUOTE_CONTEXT
from app.domain.document import BlockKind
from app.domain.errors import RagError
from app.domain.indexed_book import BookList, BookManifest
from app.domain.page_text import PageText, leads_to
from app.domain.retrieval.context_assembly import paragraphs_of
from app.domain.retrieval.query import SearchFilter
from app.services.book_cache import BookCache
from app.services.ports import VectorIndex

_CACHED_PAGES = 300
"""Pages in the cache, about 10 MB."""
_BEGINNING = 40
"""Characters of the next block, of which the first words may be a link's suffix."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class LinkQuotes:
    """The use case. Cited pages are read from the index and cached.

    If a page cannot be read, the link is unchanged.
    """

    index: VectorIndex
    _pages: BookCache[_CitedPage] = field(
        default_factory=lambda: BookCache(_CACHED_PAGES), init=False
    )

    async def event(
        self, event: AnswerEvent, linked: dict[Citation, Citation], books: BookList
    ) -> AnswerEvent:
        """Return the event with its citations' links pointing to their quotes in these books.

        `linked` are the citations of the answer's earlier events; those of this one are added.
        """
        for one in _citations(event):
            if one not in linked:
                linked[one] = await self._linked(one, books[one.book])
        return _with_links(event, linked)

    async def _linked(self, citation: Citation, manifest: BookManifest) -> Citation:
        if leads_to(citation.url, citation.quote):
            return citation
        if citation.quote.count("\n") > 1:
            return citation  # a listing or table, which a text fragment cannot quote
        try:
            page = await self._page(manifest, citation.file)
        except RagError as error:
            _log.warning("answer.quote_link_failed", extra={"error": error.code})
            return citation
        following = _whole_words(citation.suffix, QUOTE_CONTEXT) or page.following.get(
            citation.paragraph_id, ""
        )
        return replace(citation, url=page.text.link(citation.url, citation.quote, following))

    async def _page(self, manifest: BookManifest, file: str) -> _CitedPage:
        async def make() -> _CitedPage:
            return _CitedPage.of(await self._blocks(manifest, file))

        return await self._pages.get(manifest, make, file)

    async def _blocks(self, manifest: BookManifest, file: str) -> Sequence[_Block]:
        """Return the distinct blocks of a page in reading order, headings included."""
        chunks = await self.index.matching(SearchFilter(books=(manifest.book,), files=(file,)))
        blocks: list[_Block] = []
        above: set[tuple[str, ...]] = set()
        for _, one in paragraphs_of(chunks):
            for end in range(1, len(one.heading_path) + 1):
                path = one.heading_path[:end]
                if path not in above:
                    above.add(path)
                    blocks.append(_Block("", path[-1]))
            if one.kind is not BlockKind.HEADING:
                blocks.append(_Block(one.paragraph_id, one.text))
        return blocks


def _citations(event: AnswerEvent) -> tuple[Citation, ...]:
    if isinstance(event, CitationFound):
        return (event.citation,)
    return event.answer.citations if isinstance(event, Finished) else ()


def _with_links(event: AnswerEvent, linked: Mapping[Citation, Citation]) -> AnswerEvent:
    if isinstance(event, CitationFound):
        return CitationFound(linked[event.citation])
    if isinstance(event, Finished):
        citations = tuple(map(linked.__getitem__, event.answer.citations))
        return Finished(replace(event.answer, citations=citations))
    return event


class _Block(NamedTuple):
    paragraph_id: str
    """"" for a heading."""
    text: str


@dataclass(frozen=True, slots=True)
class _CitedPage:
    text: PageText
    """Words must be unique in it."""
    following: Mapping[str, str]
    """Paragraph id -> how the next block begins."""

    @classmethod
    def of(cls, blocks: Sequence[_Block]) -> _CitedPage:
        following = {
            block.paragraph_id: _whole_words(after.text[:_BEGINNING], _BEGINNING)
            for block, after in pairwise(blocks)
        }
        return cls(PageText.of(block.text for block in blocks), following)


def _whole_words(text: str, cut: int) -> str:
    """Drop the last word of a text that was cut at this length."""
    return text.rpartition(" ")[0] if len(text) >= cut else text
