"""Copies books, vectors included, from one index to another and compares the result."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.domain.retrieval.query import SparseVector, Vector
from app.services.book_scope import books_asked, require_all
from app.services.phases import Phases
from app.services.ports import BookManifest, BookSource, BookStore, IndexPoint

_TOLERANCE = 1e-5
"""Tolerance for a number in a vector: each store normalises again, in float32."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """`copied` is False if the target already had the same content."""

    book: BookId
    chunks: int
    generation: int
    copied: bool


@dataclass(frozen=True, slots=True)
class MigrateBooks:
    """The use case. The source is only read."""

    source: BookSource
    target: BookStore

    async def run(self, books: Sequence[BookId], phases: Phases) -> list[Migrated]:
        """Copy these books, or all if none is named.

        BookNotFound, before anything is copied, if one is missing. StorageError if the copy differs
        from its source; the target's book is restored.
        """
        manifests = await books_asked(self.source, books)
        await require_all(self.source, books)
        return [await self._copy(manifest, phases) for manifest in manifests]

    async def _copy(self, manifest: BookManifest, phases: Phases) -> Migrated:
        book = manifest.book
        existing = await self.target.manifest(book)
        current = existing is not None and existing.fingerprint == manifest.fingerprint
        if existing and current and not await self._first_difference(manifest, phases):
            return Migrated(book, existing.chunks, existing.generation, copied=False)
        writer = await self.target.begin(book, manifest.dimension)
        try:
            with phases.phase(f"copy {book}", manifest.chunks, "chunks") as advance:
                async for page in (await self.source.snapshot(book)).pages:
                    await writer.write(page)
                    advance(len(page))
            published = await writer.publish(manifest)
        finally:
            await writer.abandon()
        if difference := await self._first_difference(manifest, phases):
            await (self.target.rollback(book) if existing else self.target.remove(book))
            message = (
                f"book {book!r}: {difference}; the server keeps its old version: run migrate again"
            )
            raise StorageError(message)
        return Migrated(book, published.chunks, published.generation, copied=True)

    async def _first_difference(self, manifest: BookManifest, phases: Phases) -> str:
        """Compare both sides in reading order, chunk by chunk; return a difference or ""."""
        arrived = _one_by_one((await self.target.snapshot(manifest.book)).pages)
        with phases.phase(f"verify {manifest.book}", manifest.chunks, "chunks") as advance:
            async for page in (await self.source.snapshot(manifest.book)).pages:
                for sent in page:
                    got = await anext(arrived, None)
                    if got is None or not _same(sent, got):
                        return f"chunk {sent.chunk.chunk_id} on the server differs from its source"
                advance(len(page))
            extra = await anext(arrived, None)
            return f"chunk {extra.chunk.chunk_id} is on the server only" if extra else ""


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
