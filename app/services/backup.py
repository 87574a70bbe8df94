"""Writes all books and state files into a backup, and restores them from it.

See specs/decisions/0019-backup.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexUnreadable, RagError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.ledger import Ledger
from app.services.phases import Advance, Phases
from app.services.ports import BookStore, LedgerStore


class BackupWriter(Protocol):
    """A backup that is being written; it appears under its name when it is complete."""

    async def add_points(
        self, book: BookId, pages: AsyncIterator[Sequence[IndexPoint]], advance: Advance
    ) -> int:
        """Add points of a book; return their number."""
        ...

    def add_book(self, manifest: BookManifest, ledger: Ledger) -> None:
        """Add the book of which all points were added."""
        ...

    def add_state(self, name: str, copy: Callable[[Path], None]) -> None:
        """Add a state file; `copy` writes it to a path."""
        ...


class BackupReader(Protocol):
    """A complete backup whose bytes were checked."""

    @property
    def books(self) -> Mapping[BookId, BookManifest]: ...

    @property
    def state(self) -> Sequence[str]: ...

    def pages(self, book: BookId) -> Iterator[list[IndexPoint]]: ...

    def ledger(self, book: BookId) -> Ledger: ...

    def open_state(self, name: str) -> BinaryIO: ...


class StateFiles(Protocol):
    """The state files that do not belong to a book."""

    def present(self) -> Sequence[str]:
        """Return the names of existing files."""
        ...

    def copy(self, name: str, target: Path) -> None:
        """Copy a consistent snapshot of a file that other processes may be writing."""
        ...

    def put(self, name: str, source: BinaryIO) -> bool:
        """Write a file in one step; False, without a change, if it exists."""
        ...


@dataclass(frozen=True, slots=True)
class BackedUp:
    books: tuple[BookManifest, ...]
    state: tuple[str, ...]
    faults: tuple[str, ...]
    """Damaged data: left out of the backup, or saved from an older generation."""


@dataclass(frozen=True, slots=True)
class BackUp:
    """The use case. Readers and ingests are not blocked; each book is saved in one generation."""

    backup: BackupWriter
    index: BookStore
    ledgers: LedgerStore
    files: StateFiles

    async def run(self, phases: Phases) -> BackedUp:
        """Write everything. StorageError if index or disk fail, or if no book can be read."""
        faults: list[str] = []
        with phases.phase("back up", await self._chunks(), "chunks") as advance:
            books = [one async for one in self._books(faults, advance)]
        if faults and not books:
            raise StorageError(faults[0])
        for book, damage in (await self.index.damaged()).items():
            if damage.answers:
                faults.append(f"{book}: its previous generation is saved: {damage.reason}")
        state = tuple(self._state(faults))
        return BackedUp(tuple(books), state, tuple(faults))

    async def _chunks(self) -> int:
        return sum(one.chunks for one in (await self.index.books()).named())

    async def _books(self, faults: list[str], advance: Advance) -> AsyncIterator[BookManifest]:
        """Write the books; yield those that were written, and append why others were not."""
        for book in sorted({*await self.index.books(), *await self.index.damaged()}):
            try:
                yield await self._book(book, advance)
            except BookNotFound:
                continue  # removed since it was listed
            except StorageError as error:
                damaged = book in await self.index.damaged()
                if not damaged and not isinstance(error, IndexUnreadable):
                    raise  # the store failed, not only this book
                faults.append(f"{book} is left out: {error}")

    async def _book(self, book: BookId, advance: Advance) -> BookManifest:
        snapshot = await self.index.snapshot(book)
        manifest = snapshot.manifest
        chunks = await self.backup.add_points(book, snapshot.pages, advance)
        if chunks != manifest.chunks:
            message = f"book {book!r}: chunks are missing, or it was replaced meanwhile"
            raise IndexUnreadable(message)
        # An ingest saves the ledger before it publishes, so this one has all ids.
        self.backup.add_book(manifest, await self.ledgers.load(book))
        return manifest

    def _state(self, faults: list[str]) -> Iterator[str]:
        """Write the state files; yield their names, and append the faults of unreadable ones."""
        for name in self.files.present():
            try:
                self.backup.add_state(name, partial(self.files.copy, name))
                yield name
            except StorageError as error:
                faults.append(str(error))


@dataclass(frozen=True, slots=True)
class Restored:
    books: tuple[BookManifest, ...]
    """The restored books with their new generations."""
    state: tuple[str, ...]
    kept: tuple[str, ...]
    """State files that were not restored because they exist."""


@dataclass(frozen=True, slots=True)
class Restore:
    """The use case. A book is switched to its restored generation in one step."""

    backup: BackupReader
    index: BookStore
    ledgers: LedgerStore
    files: StateFiles

    async def replaced(self, books: Sequence[BookId]) -> list[BookId]:
        """Return those of the books that the index has. BookNotFound if the backup lacks one."""
        for book in books:
            if book not in self.backup.books:
                known = ", ".join(self.backup.books) or "none"
                message = f"no book {book!r} in the backup; there are: {known}"
                raise BookNotFound(message)
        present = {*await self.index.books(), *await self.index.damaged()}
        return [book for book in books if book in present]

    async def run(self, books: Sequence[BookId], state: Sequence[str], phases: Phases) -> Restored:
        """Restore these books, then these state files. An error has a note of what was restored."""
        done: list[BookManifest] = []
        total = sum(self.backup.books[book].chunks for book in books)
        with phases.phase("restore", total, "chunks") as advance:
            for book in books:
                try:
                    done.append(await self._book(self.backup.books[book], advance))
                except RagError as error:
                    error.add_note(f"{len(done)} of {len(books)} books are restored: run it again")
                    raise
        restored = tuple(n for n in state if self.files.put(n, self.backup.open_state(n)))
        kept = tuple(name for name in state if name not in restored)
        return Restored(tuple(done), restored, kept)

    async def _book(self, manifest: BookManifest, advance: Advance) -> BookManifest:
        book = manifest.book
        ledger = self.backup.ledger(book)
        writer = await self.index.begin(book, manifest.dimension, manifest.generation)
        try:
            for page in self.backup.pages(book):
                await writer.write(page)
                advance(len(page))
            # The ledger goes first, as in an ingest: no published id is ever missing from it.
            await self.ledgers.save(book, ledger)
            return await writer.publish(manifest)
        finally:
            await writer.abandon()
