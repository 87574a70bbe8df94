"""Places in a book: the reader's page, its chapter, paragraphs by their id or a former id."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from app.domain.answering.chapters import Chapter, chapters_of
from app.domain.answering.exercises import solutions_by_place, task_label
from app.domain.answering.request import NEEDS_PAGE, Scope, narrowed
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.errors import QuestionError, StorageError
from app.domain.indexed_book import BookList, BookManifest
from app.domain.retrieval.context_assembly import paragraphs_of, whole_passage
from app.domain.retrieval.query import SearchFilter
from app.services.book_scope import BookCache, BookScope, page_among
from app.services.ports import LedgerStore, VectorIndex
from app.services.recording import stage

_CACHED_BOOKS = 64

_log = logging.getLogger(__name__)


class PageLocator:
    """Looks up pages, paragraphs and files in the index. All methods raise StorageError."""

    def __init__(self, index: VectorIndex) -> None:
        self.index = index
        self._chapters = BookCache(index, chapters_of, _CACHED_BOOKS)

    async def located(self, scope: BookScope, page_url: str, part: Scope | None) -> BookScope:
        """Return the scope with the reader's page, narrowed to the part of the book asked about.

        QuestionError if that needs a page and the index does not have it.
        """
        if page_url:
            with stage("page"):
                found = await page_among(self.index, page_url, scope.books)
            if found:
                manifest, (page, *_) = found
                so_far = part is Scope.SO_FAR
                end = await self._chapter_end(page, manifest) if so_far else None
                within = scope.within(narrowed(scope.filter, part, page, end))
                return replace(within, page=page)
        if part in NEEDS_PAGE:
            message = (
                f"scope {part!s} needs a page of the index, and "
                f"{page_url[:200]!r} is none: give another page, or leave out the scope"
            )
            raise QuestionError(message)
        return scope

    async def _chapter_end(self, page: Chunk, manifest: BookManifest) -> int | None:
        """Return the last position of the page's chapter; None if it ends with the book."""
        starts = (one.pages[0].position for one in await self.chapters(manifest))
        return next((at - 1 for at in starts if at > page.position), None)

    async def chapters(self, manifest: BookManifest) -> list[Chapter]:
        """Return the chapters of a book; they are read once for each generation."""
        return await self._chapters.of(manifest)

    async def chunks_of(self, paragraph_id: str, books: BookList) -> list[Chunk]:
        """Return the chunks that contain a paragraph; empty if no book has it."""
        for book in books:
            wanted = SearchFilter(books=(book,), paragraph_ids=(paragraph_id,))
            if chunks := await self.index.matching(wanted):
                return chunks
        return []

    async def solution_of(self, exercise_id: str, books: BookList) -> list[Chunk]:
        """Return chunks with only the exercise's solution, found by position, else by label."""
        exercise = await self.chunks_of(exercise_id, books)
        if not exercise:
            return []
        file = SearchFilter(books=(exercise[0].book,), files=(exercise[0].file,))
        chunks = await self.index.matching(file)
        passages = [passage for _, passage in paragraphs_of(chunks)]
        wanted = frozenset(solutions_by_place(passages).get(exercise_id, ()))
        if not wanted:
            label = task_label(next(one for one in passages if one.paragraph_id == exercise_id))
            solutions = SearchFilter(books=file.books, kinds=(BlockKind.SOLUTION,))
            chunks = await self.index.matching(solutions) if label else []
            wanted = _labelled(label, chunks)
        held = [_only(chunk, wanted) for chunk in chunks]
        return [chunk for chunk in held if chunk.passages]


def _labelled(label: tuple[int, ...], chunks: Sequence[Chunk]) -> frozenset[str]:
    """Return the ids of the solutions with this label: "Solution 4.2"."""
    solutions = (p for one in chunks for p in one.passages if p.kind is BlockKind.SOLUTION)
    return frozenset(one.paragraph_id for one in solutions if task_label(one) == label)


def _only(chunk: Chunk, wanted: Collection[str]) -> Chunk:
    passages = tuple(one for one in chunk.passages if one.paragraph_id in wanted)
    return replace(chunk, passages=passages)


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
        indexed = dict.fromkeys((*await self.index.books(), *await self.index.damaged()))
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
