"""Copies books, vectors included, from one index to another and checks the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.services.book_scope import books_asked, require_all
from app.services.phases import Phases
from app.services.ports import BookManifest, BookStore


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

    source: BookStore
    target: BookStore

    async def run(self, books: Sequence[BookId], phases: Phases) -> list[Migrated]:
        """Copy these books, or all if none is named.

        BookNotFound, before anything is copied, if one is missing. StorageError if the copy differs
        from what was sent; the target's book is restored.
        """
        manifests = await books_asked(self.source, books)
        await require_all(self.source, books)
        return [await self._copy(manifest, phases) for manifest in manifests]

    async def _copy(self, manifest: BookManifest, phases: Phases) -> Migrated:
        book = manifest.book
        existing = await self.target.manifest(book)
        current = existing is not None and existing.fingerprint == manifest.fingerprint
        if existing and current and not await self.target.faults(book, full=True):
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
        if faults := await self.target.faults(book, full=True):
            await self._take_back(book)
            message = f"{faults[0]}; the server keeps its old version: run migrate again"
            raise StorageError(message)
        return Migrated(book, published.chunks, published.generation, copied=True)

    async def _take_back(self, book: BookId) -> None:
        if await self.target.faults_before(book) is None:
            await self.target.remove(book)
        else:
            await self.target.rollback(book)
