"""Looks up the reader's location in a book, by page URL or paragraph id."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from app.domain.answering.chapters import Chapter, chapters_of
from app.domain.answering.exercises import solutions_by_place, task_label
from app.domain.answering.request import NEEDS_PAGE, Scope, narrowed
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.errors import QuestionError
from app.domain.indexed_book import BookList, BookManifest
from app.domain.retrieval.context_assembly import paragraphs_of
from app.domain.retrieval.query import SearchFilter
from app.services.book_scope import BookCache, BookScope, page_among
from app.services.ports import VectorIndex
from app.services.recording import stage

_CACHED_BOOKS = 64


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
            raise QuestionError(
                f"scope {part!s} needs a page of the index, and "
                f"{page_url[:200]!r} is none: give another page, or leave out the scope"
            )
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
