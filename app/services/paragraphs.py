"""Paragraphs by their id or a former id: the permanent link, and the text.

An id that is no longer used leads to the nearest section.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from app.domain.answering.passage_text import passage_markdown
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Passage
from app.domain.errors import StorageError
from app.domain.ledger import Entry
from app.domain.retrieval.context_assembly import whole_passage
from app.domain.retrieval.query import SearchFilter
from app.services.ports import LedgerStore, VectorIndex

_log = logging.getLogger(__name__)


async def find_paragraph(index: VectorIndex, paragraph_id: str, book: BookId) -> Passage | None:
    """Return the whole paragraph with this id; None if no chunk has it."""
    return whole_passage(await index.matching(_with(paragraph_id, book)), paragraph_id)


@dataclass(frozen=True, slots=True)
class CitationTarget:
    """If `gone`, the paragraph was removed and `url` opens the nearest section."""

    book: BookId
    paragraph_id: str
    url: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class CiteParagraph:
    """The use case of the permanent links `/cite/{paragraph_id}`."""

    index: VectorIndex
    ledgers: LedgerStore

    async def find(self, paragraph_id: str, book: BookId | None = None) -> CitationTarget | None:
        """Search `book`, or all indexed books; None if the id was never used there.

        A paragraph that exists in one book is preferred to a removed one of another. StorageError
        if it was not found and a ledger could not be read.
        """
        gone: CitationTarget | None = None
        failed: StorageError | None = None
        for name in await self._books(book):
            try:
                target = await self._find_in_book(name, paragraph_id)
            except StorageError as error:
                failed = error
                continue
            if target is not None and not target.gone:
                return target
            gone = gone or target
        if failed and not gone:
            raise failed
        return gone

    async def _books(self, book: BookId | None) -> list[BookId]:
        indexed = dict.fromkeys((*await self.index.books(), *await self.index.damaged()))
        if book is None:
            return [*indexed]
        return [book] if book in indexed else []

    async def _find_in_book(self, book: BookId, paragraph_id: str) -> CitationTarget | None:
        found = await self.ledgers.locate(book, paragraph_id)
        if found is None:
            return None
        entry, nearest = found.entry, found.nearest
        # After a rollback the index has paragraphs that the ledger already calls gone.
        url = await self._link(book, entry)
        if url or entry.live:
            return CitationTarget(book, entry.paragraph_id, url or entry.paragraph.url)
        url = nearest.paragraph.url if nearest else ""
        return CitationTarget(book, entry.paragraph_id, url, gone=True)

    async def _link(self, book: BookId, entry: Entry) -> str:
        """Return the paragraph's deep link; "" if no chunk has it or the index cannot be read."""
        try:
            passage = await find_paragraph(self.index, entry.paragraph_id, book)
        except StorageError as error:
            _log.warning("cite.index_failed", extra={"book": book, "error": error.code})
            passage = None
        return passage.url if passage else ""


@dataclass(frozen=True, slots=True)
class ParagraphText:
    """`text` is Markdown. If the paragraph was removed, it is "", and `url` the nearest section."""

    paragraph_id: str
    book: BookId
    url: str
    heading_path: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class ReadParagraph:
    index: VectorIndex
    cite: CiteParagraph

    async def read(self, paragraph_id: str, books: tuple[BookId, ...] = ()) -> ParagraphText | None:
        """Search these books, or all; None if the id was never used there. Raises BookNotFound."""
        if stored := await self._stored(paragraph_id, books):
            return stored
        for book in books or (None,):
            target = await self.cite.find(paragraph_id, book)
            if target is not None:
                current = target.paragraph_id
                found = None if target.gone else await self._stored(current, (target.book,))
                return found or ParagraphText(current, target.book, target.url)
        return None

    async def _stored(self, paragraph_id: str, books: tuple[BookId, ...]) -> ParagraphText | None:
        chunks = await self.index.matching(_with(paragraph_id, *books))
        book = chunks[0].book if chunks else None
        passage = whole_passage((one for one in chunks if one.book == book), paragraph_id)
        if book is None or passage is None:
            return None
        text = passage_markdown(passage)
        return ParagraphText(paragraph_id, book, passage.url, passage.heading_path, text)


def _with(paragraph_id: str, *books: BookId) -> SearchFilter:
    return SearchFilter(books=books, paragraph_ids=(paragraph_id,))
