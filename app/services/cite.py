"""Resolves a paragraph id or alias to its current URL, or to the nearest section."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.domain.ledger import Entry
from app.services.page_locator import find_paragraph
from app.services.ports import LedgerStore, VectorIndex

_log = logging.getLogger(__name__)


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
