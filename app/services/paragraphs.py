"""Paragraphs by their id or a former id.

An id that is no longer used leads to the nearest section.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Passage
from app.domain.errors import StorageError
from app.domain.retrieval.context_assembly import whole_passage
from app.domain.retrieval.query import SearchFilter
from app.services.book_scope import indexed_books
from app.services.ports import LedgerStore, VectorIndex

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CitationTarget:
    """If `gone`, the paragraph was removed and `url` opens the nearest section."""

    book: BookId
    paragraph_id: str
    url: str
    passage: Passage | None = None
    """None if no chunk has the paragraph, or the index cannot be read."""
    gone: bool = False


@dataclass(frozen=True, slots=True)
class CiteParagraph:
    """The use case of the permanent links `/cite/{paragraph_id}`."""

    index: VectorIndex
    ledgers: LedgerStore

    async def find(self, paragraph_id: str, books: Sequence[BookId] = ()) -> CitationTarget | None:
        """Search these books, or all that are indexed; None if the id was never used there.

        A paragraph that exists in one book is preferred to a removed one of another. StorageError
        if it was not found and a ledger could not be read.
        """
        gone: CitationTarget | None = None
        failed: StorageError | None = None
        indexed = await indexed_books(self.index)
        for book in [one for one in books if one in indexed] if books else indexed:
            try:
                target = await self._find_in_book(book, paragraph_id)
            except StorageError as error:
                failed = error
                continue
            if target is not None and not target.gone:
                return target
            gone = gone or target
        if failed and not gone:
            raise failed
        return gone

    async def _find_in_book(self, book: BookId, paragraph_id: str) -> CitationTarget | None:
        found = await self.ledgers.locate(book, paragraph_id)
        if found is None:
            return None
        entry, nearest = found
        # After a rollback the index has paragraphs that the ledger already calls gone.
        passage = await self._passage(book, entry.paragraph_id)
        if passage or entry.live:
            url = passage.url if passage else entry.url
            return CitationTarget(book, entry.paragraph_id, url, passage)
        url = nearest.url if nearest else ""
        return CitationTarget(book, entry.paragraph_id, url, gone=True)

    async def _passage(self, book: BookId, paragraph_id: str) -> Passage | None:
        wanted = SearchFilter(books=(book,), paragraph_ids=(paragraph_id,))
        try:
            return whole_passage(await self.index.matching(wanted), paragraph_id)
        except StorageError as error:
            _log.warning("cite.index_failed", extra={"book": book, "error": error.code})
            return None
