"""Writes all books and state files into a backup, and restores them from it.

See specs/decisions/0019-backup.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexUnreadable, RagError, StorageError
from app.domain.ledger import Ledger
from app.services.phases import Advance, Phases
from app.services.ports import BookManifest, BookStore, IndexPoint, LedgerStore

_ATTEMPTS = 5
"""Attempts to read a book that is replaced while it is read."""


class BackupWriter(Protocol):
    """A backup that is being written; it appears under its name when it is complete."""

    def add_page(self, points: Sequence[IndexPoint]) -> str:
        """Add points; return the page's name."""
        ...

    def add_book(self, manifest: BookManifest, pages: Sequence[str], ledger: Ledger) -> None:
        """Add a book whose points are on these pages."""
        ...

    def add_state(self, name: str, source: Path) -> None: ...

    def finish(self, created_at: str) -> int:
        """Return the size in bytes."""
        ...


@dataclass(frozen=True, slots=True)
class BackedUpBook:
    manifest: BookManifest
    pages: tuple[str, ...]
    """Names of the pages with its points."""


class BackupReader(Protocol):
    """A complete backup whose bytes were checked."""

    def points(self, page: str) -> list[IndexPoint]: ...

    def ledger(self, book: BookId) -> Ledger: ...

    def extract(self, name: str, target: Path) -> None: ...


class StateFiles(Protocol):
    """The state files that do not belong to a book."""

    def present(self) -> Sequence[str]:
        """Return the names of existing files."""
        ...

    def copy(self, name: str, target: Path) -> None:
        """Copy a consistent snapshot of a file that other processes may be writing."""
        ...

    def place(self, name: str) -> Path:
        """Return the temporary path to write a file to before `put`."""
        ...

    def put(self, name: str, source: Path) -> bool:
        """Move the file to its final name; False, without a change, if a file exists there."""
        ...


@dataclass(frozen=True, slots=True)
class BookCount:
    book: BookId
    generation: int
    chunks: int


@dataclass(frozen=True, slots=True)
class BackedUp:
    created_at: str
    bytes: int
    books: tuple[BookCount, ...]
    state: tuple[str, ...]
    faults: tuple[str, ...]
    """Damaged data: left out of the backup, or saved from an older generation."""


@dataclass(frozen=True, slots=True)
class BackUp:
    """The use case. Readers and ingests are not blocked; each book is saved in one generation."""

    index: BookStore
    ledgers: LedgerStore
    files: StateFiles

    async def run(self, writer: BackupWriter, scratch: Path, phases: Phases) -> BackedUp:
        """Write everything. StorageError if index or disk fail, or if no book can be read.

        `scratch` is a temporary folder with room for a copy of the largest state file.
        """
        books, faults = await self._books(writer, phases)
        for book, damage in (await self.index.damaged()).items():
            if damage.answers:
                faults[book] = f"{book}: its previous generation is saved, because {damage.reason}"
        if faults and not books:
            raise StorageError(next(iter(faults.values())))
        state, unread = await asyncio.to_thread(self._state, writer, scratch)
        created_at = datetime.now(UTC).isoformat(timespec="seconds")
        size = await asyncio.to_thread(writer.finish, created_at)
        return BackedUp(created_at, size, tuple(books), state, (*faults.values(), *unread))

    async def _books(
        self, writer: BackupWriter, phases: Phases
    ) -> tuple[list[BookCount], dict[BookId, str]]:
        """Write the books; return those that were written, and why others were not."""
        known = await self.index.books()
        faults: dict[BookId, str] = {}
        books = []
        total = sum(manifest.chunks for manifest in known.named())
        with phases.phase("back up", total, "chunks") as advance:
            for book in sorted({*known, *await self.index.damaged()}):
                try:
                    books.append(await self._book(book, writer, advance))
                except BookNotFound:
                    continue  # removed since it was listed
                except StorageError as error:
                    damaged = book in await self.index.damaged()
                    if not damaged and not isinstance(error, IndexUnreadable):
                        raise  # the store failed, not only this book
                    faults[book] = f"{book} is left out: {error}"
        return books, faults

    async def _book(self, book: BookId, writer: BackupWriter, advance: Advance) -> BookCount:
        for _ in range(_ATTEMPTS):
            snapshot = await self.index.snapshot(book)
            pages, chunks = [], 0
            async for points in snapshot.pages:
                pages.append(await asyncio.to_thread(writer.add_page, points))
                chunks += len(points)
                advance(len(points))
            if chunks == snapshot.manifest.chunks:
                # An ingest saves the ledger before it publishes, so this one has all ids.
                ledger = await self.ledgers.load(book)
                await asyncio.to_thread(writer.add_book, snapshot.manifest, pages, ledger)
                return BookCount(book, snapshot.manifest.generation, chunks)
            advance(-chunks)
        message = f"book {book!r}: chunks are missing, or it was replaced during every attempt"
        raise IndexUnreadable(message)

    def _state(self, writer: BackupWriter, scratch: Path) -> tuple[tuple[str, ...], list[str]]:
        """Add the state files; return the names of those added, and the faults of the others."""
        added, faults = [], []
        for name in self.files.present():
            copy = scratch / name
            try:
                self.files.copy(name, copy)
            except StorageError as error:
                faults.append(str(error))
                continue
            writer.add_state(name, copy)
            copy.unlink()
            added.append(name)
        return tuple(added), faults


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The effect of a restore on each book of the backup."""

    new: tuple[BackedUpBook, ...]
    replaced: tuple[BackedUpBook, ...]
    """Books of which the index has another generation."""
    same: tuple[BackedUpBook, ...]
    """Books of which the index has the same generation."""


@dataclass(frozen=True, slots=True)
class Restored:
    books: tuple[BookCount, ...]
    """The restored books with their new generations."""
    same: tuple[BookId, ...]
    state: tuple[str, ...]
    kept: tuple[str, ...]
    """State files that were not restored because they exist."""


@dataclass(frozen=True, slots=True)
class Restore:
    """The use case. A book is switched to its restored generation in one step."""

    index: BookStore
    ledgers: LedgerStore
    files: StateFiles

    async def plan(self, books: Sequence[BackedUpBook]) -> RestorePlan:
        """Compare these books with the index; nothing is changed."""
        found: dict[str, list[BackedUpBook]] = {"new": [], "replaced": [], "same": []}
        for one in books:
            found[await self._compared(one.manifest)].append(one)
        return RestorePlan(**{name: tuple(some) for name, some in found.items()})

    async def run(
        self, reader: BackupReader, plan: RestorePlan, state: Sequence[str], phases: Phases
    ) -> Restored:
        """Restore the books, then these state files. An error has a note of what was restored."""
        books = sorted((*plan.new, *plan.replaced), key=lambda one: one.manifest.book)
        done: list[BookCount] = []
        with phases.phase(
            "restore", sum(one.manifest.chunks for one in books), "chunks"
        ) as advance:
            try:
                for one in books:
                    done += [await self._book(reader, one, advance)]
            except RagError as error:
                note = f"{len(done)} of {len(books)} books are restored: run it again for the rest"
                error.add_note(note)
                raise
        for one in plan.same:
            book = one.manifest.book
            await self.ledgers.save(book, await asyncio.to_thread(reader.ledger, book))
        restored = await asyncio.to_thread(self._state, reader, state)
        return Restored(
            books=tuple(done),
            same=tuple(one.manifest.book for one in plan.same),
            state=restored,
            kept=tuple(name for name in state if name not in restored),
        )

    async def _compared(self, manifest: BookManifest) -> str:
        try:
            existing = await self.index.manifest(manifest.book)
            if existing is None:
                return "new"
            same = _comparable(existing) == _comparable(manifest)
            return "same" if same and not await self.index.faults(manifest.book) else "replaced"
        except IndexUnreadable:
            return "replaced"

    async def _book(self, reader: BackupReader, one: BackedUpBook, advance: Advance) -> BookCount:
        manifest = one.manifest
        ledger = await asyncio.to_thread(reader.ledger, manifest.book)
        writer = await self.index.begin(manifest.book, manifest.dimension, manifest.generation)
        try:
            for page in one.pages:
                points = await asyncio.to_thread(reader.points, page)
                await writer.write(points)
                advance(len(points))
            # The ledger goes first, as in an ingest: no published id is ever missing from it.
            await self.ledgers.save(manifest.book, ledger)
            published = await writer.publish(manifest)
        finally:
            await writer.abandon()
        return BookCount(manifest.book, published.generation, published.chunks)

    def _state(self, reader: BackupReader, names: Sequence[str]) -> tuple[str, ...]:
        """Restore state files; return the names of those that did not exist."""
        restored = []
        present = self.files.present()
        for name in names:
            if name not in present:
                place = self.files.place(name)
                reader.extract(name, place)
                if self.files.put(name, place):
                    restored.append(name)
        return tuple(restored)


def _comparable(manifest: BookManifest) -> BookManifest:
    """Return the manifest without the fields that the index sets."""
    return replace(manifest, generation=0, size_bytes=0)
