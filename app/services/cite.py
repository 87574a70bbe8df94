"""Where a paragraph is now: by its id, by an alias, or what is nearest to where it was."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.domain.ledger import Entry
from app.services.ports import LedgerStore, VectorIndex

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CitationTarget:
    """`gone` is True when the paragraph left the book: `url` then is the nearest section's."""

    book: BookId
    paragraph_id: str
    url: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class CiteParagraph:
    """The use case behind the permanent links `/cite/{paragraph_id}`."""

    index: VectorIndex
    ledgers: LedgerStore

    async def find(self, paragraph_id: str, book: BookId | None = None) -> CitationTarget | None:
        """Look in this indexed book, or in every one; None if the id was never known there.

        A paragraph that lives in one book is preferred to a tombstone in another. StorageError when
        it was not found but a ledger could not be read.
        """
        readable = [manifest.book for manifest in await self.index.books()]
        indexed = dict.fromkeys((*readable, *await self.index.damaged()))
        gone: CitationTarget | None = None
        failed: StorageError | None = None
        for name in [book] if book in indexed else [] if book else indexed:
            try:
                place = await self._in_book(name, paragraph_id)
            except StorageError as error:
                failed = error
                continue
            if place is not None and not place.gone:
                return place
            gone = gone or place
        if failed and not gone:
            raise failed
        return gone

    async def _in_book(self, book: BookId, paragraph_id: str) -> CitationTarget | None:
        found = await self.ledgers.locate(book, paragraph_id)
        if found is None:
            return None
        entry, nearest = found.entry, found.nearest
        if entry.live:
            return CitationTarget(book, entry.paragraph_id, await self._link(book, entry))
        url = nearest.paragraph.url if nearest else ""
        return CitationTarget(book, entry.paragraph_id, url, gone=True)

    async def _link(self, book: BookId, entry: Entry) -> str:
        """Return the link to the paragraph itself; its section's if no chunk holds it, or the index
        cannot be read.
        """
        try:
            passage = await self.index.find_paragraph(entry.paragraph_id, book)
        except StorageError as error:
            _log.warning("cite.index_failed", extra={"book": book, "error": error.code})
            passage = None
        return passage.url if passage else entry.paragraph.url
