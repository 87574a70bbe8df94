"""All that is stored: checked for damage, written into a backup, restored from one.

See specs/decisions/0019-backup.md.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.adapters.qdrant.backup import Backup, NewBackup, reading_backup, writing_backup
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.adapters.sqlite.file import SqliteFile, copy_file
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.sqlite.question_log import SqliteQuestionLog
from app.adapters.sqlite.site_keys import SqliteSiteKeys
from app.adapters.sqlite.spending import SqliteSpending
from app.bootstrap.storage import BookPages, book_pages, ledger_store, open_index
from app.domain.book_id import BookId
from app.domain.errors import NO_BOOKS, BookNotFound, InputError, StorageError
from app.domain.indexed_book import BookManifest
from app.services.book_scope import indexed_books, require_indexed
from app.services.phases import Advance, Phases
from app.services.ports import BookStore
from app.settings import Settings

__all__ = ["opened_stores", "reading_backup", "writing_backup"]

STATE: Mapping[str, type[SqliteFile]] = {
    "keys.sqlite": SqliteSiteKeys,
    "questions.sqlite": SqliteQuestionLog,
    "spending.sqlite": SqliteSpending,
    "embeddings.sqlite": SqliteEmbeddingCache,
}
"""The files of RAG_HOME that belong to no book."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of one check; `book` is "" for a file that all books share."""

    book: str
    part: str
    """"index", "ledger", the name of a shared file; "generation before", "pages" if damaged."""
    faults: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stores:
    index: BookStore
    ledgers: SqliteLedgers
    pages: BookPages
    home: Path

    async def verify(self, books: Sequence[BookId]) -> AsyncIterator[Verified]:
        """Read all that is stored of these books, or of all, and the shared files. BookNotFound."""
        known = await self._stored()
        require_indexed(books, known)
        for book in books or sorted(known):
            try:
                yield Verified(book, "index", await self.index.faults(book))
                if before := await self.index.faults(book, previous=True):
                    yield Verified(book, "generation before", before)
            except BookNotFound:
                if books:
                    raise
                continue  # removed since it was listed
            yield Verified(book, "ledger", await self.ledgers.faults(book))
            if damaged := self.pages.faults(book):
                yield Verified(book, "pages", damaged)
        for name, kind in STATE.items():
            yield Verified("", name, await kind(self.home / name).faults())

    async def back_up(self, backup: NewBackup, phases: Phases) -> list[str]:
        """Write everything, each book in one generation; readers and ingests are not blocked.

        Returns what is damaged, and left out or saved from an older generation. StorageError if no
        book can be read.
        """
        faults: list[str] = []
        chunks = sum(one.chunks for one in (await self.index.books()).named())
        with phases.phase("back up", chunks, "chunks") as advance:
            for book in sorted(await self._stored()):
                try:
                    snapshot = await self.index.snapshot(book)
                    await backup.add_book(snapshot, self.ledgers, self.pages.path(book), advance)
                except BookNotFound:
                    continue  # removed since it was listed
                except StorageError as error:
                    faults.append(f"{book} is left out: {error}")
        if faults and not backup.books:
            raise StorageError(faults[0])
        for book, damage in (await self.index.damaged()).items():
            if damage.answers:
                faults.append(f"{book}: its previous generation is saved: {damage.reason}")
        return faults + self._back_up_state(backup)

    def _back_up_state(self, backup: NewBackup) -> list[str]:
        faults = []
        for name in STATE:
            try:
                if copy_file(self.home / name, backup.folder / name):
                    backup.add_state(backup.folder / name)
            except StorageError as error:
                faults.append(str(error))
        return faults

    async def replaced(self, backup: Backup, books: Sequence[BookId]) -> list[BookId]:
        """Return those of the books that the index has. BookNotFound if the backup lacks one."""
        if missing := {*books} - {*backup.books}:
            known = ", ".join(backup.books) or "none"
            message = f"no book {min(missing)!r} in the backup; there are: {known}"
            raise BookNotFound(message)
        return sorted({*books}.intersection(await indexed_books(self.index)))

    async def restore(
        self, backup: Backup, books: Sequence[BookId], phases: Phases
    ) -> AsyncIterator[BookManifest]:
        """Restore these books, each in one step; yield each with its new generation."""
        total = sum(backup.books[book].chunks for book in books)
        with phases.phase("restore", total, "chunks") as advance:
            for book in books:
                yield await self._restore(backup, book, advance)

    async def _restore(self, backup: Backup, book: BookId, advance: Advance) -> BookManifest:
        manifest, ledger = backup.books[book], backup.ledger(book)
        writer = await self.index.begin(book, manifest.dimension)
        try:
            for page in backup.points(book):
                await writer.write(page)
                advance(len(page))
            # First, as in an ingest: no published id is ever missing from the ledger.
            await self.ledgers.save(book, ledger)
            published = await writer.publish(manifest)
        finally:
            await writer.abandon()
        self.pages.put(book, backup.open_pages(book))
        return published

    def restore_state(self, backup: Backup) -> list[str]:
        """Restore the state files that are missing; return their names."""
        self.home.mkdir(parents=True, exist_ok=True)
        names = [name for name in backup.state if name in STATE]
        with TemporaryDirectory(prefix=".restored-", dir=self.home) as folder:
            files = [backup.extract_state(name, folder) for name in names]
            return [one.name for one in files if copy_file(one, self.home / one.name)]

    async def _stored(self) -> list[BookId]:
        """Return the known books. InputError if there is nothing: RAG_HOME may be another one."""
        known = await indexed_books(self.index)
        if not known and not any((self.home / name).exists() for name in STATE):
            raise InputError(NO_BOOKS)
        return known


@asynccontextmanager
async def opened_stores(settings: Settings) -> AsyncIterator[Stores]:
    """Open all that is stored, without an embedder."""
    async with open_index(settings) as index:
        yield Stores(index, ledger_store(settings), book_pages(settings), settings.home)
