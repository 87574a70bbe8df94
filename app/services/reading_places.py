"""Where the reader is: the place in the book of a page's address, and of a paragraph."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.answering.exercises import TASKS, solutions_by_place
from app.domain.answering.scope import Place
from app.domain.chunking.chunk import Chunk, Passage
from app.services.glossary import page_key
from app.services.ports import BookManifest, VectorIndex

_FETCHED = 500
"""Chunks read at a time."""


@dataclass(frozen=True, slots=True)
class _Generation:
    """What is remembered of a book."""

    manifest: BookManifest
    places: Mapping[str, Place]
    """By page key."""
    holding: Mapping[str, Sequence[str]]
    """Paragraph id to the ids of the chunks that hold it."""
    solved: Mapping[str, Sequence[str]]
    """Exercise id to the paragraph ids of its solution."""


@dataclass(frozen=True, slots=True)
class ReadingPlaces:
    """A book is read once for each generation, when first asked for. All raise StorageError."""

    index: VectorIndex
    _read: dict[str, _Generation] = field(default_factory=dict, compare=False)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)

    async def page(self, url: str, books: Sequence[str] = ()) -> Place | None:
        """Return the place of a page given by URL or path, in these books or in any."""
        key = page_key(url)
        manifests = await self._manifests(books)
        # Of two books with such a path, the one whose site the address is of.
        for manifest in sorted(manifests, key=lambda one: not url.startswith(one.base_url)):
            place = (await self._generation(manifest)).places.get(key)
            if place:
                return place
        return None

    async def chunks_of(self, paragraph_id: str, books: Sequence[str] = ()) -> list[Chunk]:
        """Return the chunks that hold a paragraph; empty when no book has it."""
        for manifest in await self._manifests(books):
            holding = (await self._generation(manifest)).holding.get(paragraph_id)
            if holding:
                return await self.index.fetch(manifest.book, holding)
        return []

    async def solution_of(self, exercise_id: str, books: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks with the solution that stands with an exercise and nothing else."""
        for manifest in await self._manifests(books):
            generation = await self._generation(manifest)
            wanted = generation.solved.get(exercise_id, ())
            if wanted:
                holding = dict.fromkeys(
                    chunk_id for one in wanted for chunk_id in generation.holding[one]
                )
                chunks = await self.index.fetch(manifest.book, list(holding))
                return [_only(chunk, wanted) for chunk in chunks]
        return []

    async def _manifests(self, books: Sequence[str]) -> list[BookManifest]:
        return [one for one in await self.index.books() if not books or one.book in books]

    async def _generation(self, manifest: BookManifest) -> _Generation:
        async with self._reading:
            known = self._read.get(manifest.book)
            if known is None or known.manifest != manifest:
                known = self._read[manifest.book] = await self._read_book(manifest)
            return known

    async def _read_book(self, manifest: BookManifest) -> _Generation:
        pages: dict[str, Chunk] = {}
        holding: dict[str, list[str]] = {}
        tasks: dict[str, set[Passage]] = {}
        ids = sorted(await self.index.chunks(manifest.book))
        for start in range(0, len(ids), _FETCHED):
            for chunk in await self.index.fetch(manifest.book, ids[start : start + _FETCHED]):
                pages.setdefault(page_key(chunk.deep_link_url), chunk)
                for paragraph_id in chunk.paragraph_ids:
                    holding.setdefault(paragraph_id, []).append(chunk.chunk_id)
                tasks.setdefault(chunk.file, set()).update(
                    one for one in chunk.passages if one.kind in TASKS
                )
        ends = _chapter_ends(pages.values())
        places = {
            page: Place(manifest.book, one.file, one.chapter, ends[one.position])
            for page, one in pages.items()
        }
        solved: dict[str, tuple[str, ...]] = {}
        for passages in tasks.values():
            solved |= solutions_by_place(sorted(passages, key=lambda one: one.start))
        return _Generation(manifest, places, holding, solved)


def _chapter_ends(pages: Iterable[Chunk]) -> dict[int, int]:
    """Position of a page to that of the last page of its chapter; titles may come again."""
    ends: dict[int, int] = {}
    chapter, end = "", 0
    for page in sorted(pages, key=lambda page: -page.position):
        if page.chapter != chapter or not ends:
            chapter, end = page.chapter, page.position
        ends[page.position] = end
    return ends


def _only(chunk: Chunk, wanted: Sequence[str]) -> Chunk:
    passages = tuple(one for one in chunk.passages if one.paragraph_id in wanted)
    return replace(chunk, passages=passages)
