"""Writes all books and state files into a backup, and restores them from it.

See specs/decisions/0019-backup.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.adapters.qdrant.backup import Backup, BackupWriter, reading_backup, writing_backup
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.sqlite.state_files import SqliteStateFiles
from app.bootstrap.book_pages import BookPages, book_pages
from app.bootstrap.storage import ledger_store, open_index
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, RagError, StorageError
from app.domain.indexed_book import BookManifest
from app.services.phases import Phases
from app.services.ports import BookStore
from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Stores:
    """All that is saved and restored."""

    index: BookStore
    ledgers: SqliteLedgers
    pages: BookPages
    files: SqliteStateFiles

    async def back_up(self, backup: BackupWriter, phases: Phases) -> list[str]:
        """Write everything, each book in one generation; readers and ingests are not blocked.

        Returns what is damaged, and left out or saved from an older generation. StorageError if no
        book can be read.
        """
        faults: list[str] = []
        chunks = sum(one.chunks for one in (await self.index.books()).named())
        with phases.phase("back up", chunks, "chunks") as advance:
            for book in sorted(await self._known()):
                try:
                    snapshot, pages = await self.index.snapshot(book), self.pages.path(book)
                    await backup.add_book(snapshot, self.ledgers, pages, advance)
                except BookNotFound:
                    continue  # removed since it was listed
                except StorageError as error:
                    faults.append(f"{book} is left out: {error}")
        if faults and not backup.books:
            raise StorageError(faults[0])
        for book, damage in (await self.index.damaged()).items():
            if damage.answers:
                faults.append(f"{book}: its previous generation is saved: {damage.reason}")
        for name in self.files.present():
            try:
                backup.add_state(name, partial(self.files.copy, name))
            except StorageError as error:
                faults.append(str(error))
        return faults

    async def replaced(self, backup: Backup, books: Sequence[BookId]) -> list[BookId]:
        """Return those of the books that the index has. BookNotFound if the backup lacks one."""
        for book in books:
            if book not in backup.books:
                known = ", ".join(backup.books) or "none"
                message = f"no book {book!r} in the backup; there are: {known}"
                raise BookNotFound(message)
        known_here = await self._known()
        return [book for book in books if book in known_here]

    async def restore(
        self, backup: Backup, books: Sequence[BookId], phases: Phases
    ) -> list[BookManifest]:
        """Restore these books, each in one step; return them with their new generations.

        An error has a note of what was restored.
        """
        done: list[BookManifest] = []
        total = sum(backup.books[book].chunks for book in books)
        with phases.phase("restore", total, "chunks") as advance:
            for book in books:
                manifest = backup.books[book]
                try:
                    ledger = backup.ledger(book)
                    writer = await self.index.begin(book, manifest.dimension)
                    try:
                        for page in backup.pages(book):
                            await writer.write(page)
                            advance(len(page))
                        # First, as in an ingest: no published id is ever missing from the ledger.
                        await self.ledgers.save(book, ledger)
                        done.append(await writer.publish(manifest))
                        self.pages.put(book, backup.open_pages(book))
                    finally:
                        await writer.abandon()
                except RagError as error:
                    error.add_note(f"{len(done)} of {len(books)} books are restored: run it again")
                    raise
        return done

    def restore_state(self, backup: Backup) -> list[str]:
        """Restore the state files that are missing; return their names."""
        return [one for one in backup.state if self.files.put(one, backup.open_state(one))]

    async def _known(self) -> set[BookId]:
        return {*await self.index.books(), *await self.index.damaged()}


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Stores]:
    """Open all stores, without an embedder."""
    async with open_index(settings) as index:
        files = SqliteStateFiles(settings.home)
        yield Stores(index, ledger_store(settings), book_pages(settings), files)


@asynccontextmanager
async def backing_up(settings: Settings, path: Path) -> AsyncIterator[tuple[BackupWriter, Stores]]:
    """Open a new backup and all that it saves."""
    with writing_backup(path) as backup:
        async with opened(settings) as stores:
            yield backup, stores


@asynccontextmanager
async def restoring(settings: Settings, path: Path) -> AsyncIterator[tuple[Backup, Stores]]:
    """Check and open a backup, and open all that it restores."""
    with reading_backup(path) as backup:
        async with opened(settings) as stores:
            yield backup, stores
