"""Copy books from one index to another, vectors and all, and compare what arrived."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.domain.retrieval.query import SparseVector, Vector
from app.services.book_scope import books_asked, require_all
from app.services.phases import Phases
from app.services.ports import BookManifest, BookStore, IndexPoint

_TOLERANCE = 1e-5
"""Of a number in a vector: each store scales to length 1 in float32 once more."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """`copied` is False when the target had this very generation's content already."""

    book: BookId
    chunks: int
    generation: int
    copied: bool


@dataclass(frozen=True, slots=True)
class MigrateBooks:
    """The use case. The source is only read."""

    source: BookStore
    target: BookStore

    async def run(self, books: Sequence[BookId], phases: Phases) -> list[Migrated]:
        """Copy these books, or all when none is named.

        BookNotFound before anything is copied when one is missing; StorageError, and the target's
        book as it was before, when what arrived differs from what was sent.
        """
        manifests = await books_asked(self.source, books)
        await require_all(self.source, books)
        return [await self._copy(manifest, phases) for manifest in manifests]

    async def _copy(self, manifest: BookManifest, phases: Phases) -> Migrated:
        book = manifest.book
        there = await self.target.manifest(book)
        current = there is not None and there.fingerprint == manifest.fingerprint
        if there and current and not await self._difference(manifest, phases):
            return Migrated(book, there.chunks, there.generation, copied=False)
        writer = await self.target.begin(book, manifest.dimension)
        try:
            with phases.phase(f"copy {book}", manifest.chunks, "chunks") as advance:
                async for page in self.source.points(book):
                    await writer.write(page)
                    advance(len(page))
            published = await writer.publish(manifest)
        finally:
            await writer.abandon()
        if difference := await self._difference(manifest, phases):
            await (self.target.rollback(book) if there else self.target.remove(book))
            message = (
                f"book {book!r}: {difference}; the server keeps what it had before: "
                "run migrate again"
            )
            raise StorageError(message)
        return Migrated(book, published.chunks, published.generation, copied=True)

    async def _difference(self, manifest: BookManifest, phases: Phases) -> str:
        """Read both back, chunk by chunk in the order of their ids; return what differs first."""
        arrived = _one_by_one(self.target.points(manifest.book))
        with phases.phase(f"verify {manifest.book}", manifest.chunks, "chunks") as advance:
            async for page in self.source.points(manifest.book):
                for sent in page:
                    got = await anext(arrived, None)
                    if got is None or not _same(sent, got):
                        return f"chunk {sent.chunk.chunk_id} on the server differs from its source"
                advance(len(page))
            extra = await anext(arrived, None)
            return f"chunk {extra.chunk.chunk_id} is on the server alone" if extra else ""


async def _one_by_one(pages: AsyncIterator[list[IndexPoint]]) -> AsyncIterator[IndexPoint]:
    async for page in pages:
        for point in page:
            yield point


def _same(a: IndexPoint, b: IndexPoint) -> bool:
    return a.chunk == b.chunk and _close(a.dense, b.dense) and _close_terms(a.sparse, b.sparse)


def _close(a: Vector, b: Vector) -> bool:
    return len(a) == len(b) and all(
        math.isclose(x, y, rel_tol=0, abs_tol=_TOLERANCE) for x, y in zip(a, b, strict=True)
    )


def _close_terms(a: SparseVector, b: SparseVector) -> bool:
    return a.indices == b.indices and all(
        math.isclose(x, y, rel_tol=_TOLERANCE) for x, y in zip(a.values, b.values, strict=True)
    )
