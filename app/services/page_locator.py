"""Looks up the reader's location in a book, by page URL or paragraph id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.domain.answering.chapters import Chapter, chapters_of
from app.domain.answering.exercises import solutions_by_place, task_label
from app.domain.answering.request import PageLocation
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.indexed_book import BookList, BookManifest
from app.domain.retrieval.context_assembly import paragraphs_of
from app.domain.retrieval.query import SearchFilter
from app.services.book_cache import BookCache
from app.services.book_scope import page_among
from app.services.ports import VectorIndex

_CACHED_BOOKS = 64


@dataclass(frozen=True, slots=True)
class PageLocator:
    """Looks up pages, paragraphs and files in the index. All methods raise StorageError."""

    index: VectorIndex
    _chapters: BookCache[list[Chapter]] = field(
        default_factory=lambda: BookCache(_CACHED_BOOKS), init=False, compare=False, repr=False
    )

    async def page(self, url: str, books: BookList) -> PageLocation | None:
        """Return the location of a page, given by URL or path; None if no book has it."""
        found = await page_among(self.index, url, books)
        if found is None:
            return None
        one = found[1][0]
        return PageLocation(one.book, one.file, one.chapter, one.position)

    async def chapter_end(self, place: PageLocation, books: BookList) -> int | None:
        """Return the last position of the page's chapter; None if it ends with the book."""
        starts = (one.pages[0].position for one in await self.chapters(books[place.book]))
        return next((at - 1 for at in starts if at > place.position), None)

    async def chapters(self, manifest: BookManifest) -> list[Chapter]:
        """Return the chapters of a book; they are read once for each generation."""

        async def make() -> list[Chapter]:
            return chapters_of(await self.index.matching(SearchFilter(books=(manifest.book,))))

        return await self._chapters.get(manifest, make)

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
        solved = solutions_by_place(passages)
        wanted = solved.get(exercise_id, ())
        if not wanted:
            task = next(one for one in passages if one.paragraph_id == exercise_id)
            chunks, wanted = await self._solution_labelled(task_label(task), exercise[0].book)
        held = [_only(chunk, wanted) for chunk in chunks]
        return [chunk for chunk in held if chunk.passages]

    async def _solution_labelled(
        self, label: tuple[int, ...], book: BookId
    ) -> tuple[list[Chunk], tuple[str, ...]]:
        """Return the book's solutions, and the ids of those with this label: "Solution 4.2"."""
        solutions = SearchFilter(books=(book,), kinds=(BlockKind.SOLUTION,))
        chunks = await self.index.matching(solutions) if label else []
        found = [one for chunk in chunks for one in chunk.passages]
        return chunks, tuple(
            one.paragraph_id
            for one in found
            if one.kind is BlockKind.SOLUTION and task_label(one) == label
        )


def _only(chunk: Chunk, wanted: Sequence[str]) -> Chunk:
    passages = tuple(one for one in chunk.passages if one.paragraph_id in wanted)
    return replace(chunk, passages=passages)
