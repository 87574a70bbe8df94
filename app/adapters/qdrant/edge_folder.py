"""The folder of one book in the embedded index.

RAG_HOME/index/<book>/
    current             numbers of the current and the previous generation
    lock                held by the writer
    000007/             a published generation, never changed again
        manifest        with the size of each file in shard/ and one hash of their content
        shard/          the engine's files
    000008.building/    a generation that is being written or removed, or that a crash left behind

The first line of `current` and `manifest` is the hash of the rest, which is JSON.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from app.adapters.qdrant.edge_lock import generation_lock
from app.adapters.qdrant.edge_manifest import FILE, StoredManifest
from app.adapters.qdrant.sealed_text import read_sealed, sync_folder, write_sealed
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest

_Found = TypeVar("_Found")

_BUILDING = ".building"

_ATTEMPTS = 3

Stamp = tuple[int, int, int] | None
"""A value that changes when `current` is switched; None if the book is not published."""


@dataclass(frozen=True, slots=True)
class Current:
    """Content of `current`: generation numbers; `previous` is 0 if there is none."""

    generation: int
    previous: int = 0


@dataclass(frozen=True, slots=True)
class BookFolder:
    path: Path

    @property
    def book(self) -> BookId:
        return BookId(self.path.name)

    def stamp(self) -> Stamp:
        try:
            status = (self.path / "current").stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size

    def is_published(self) -> bool:
        """True also for an unreadable `current`; reading the book raises the reason."""
        try:
            return self.stamp() is not None
        except OSError:
            return True

    def current(self) -> Current:
        """BookNotFound if the book is not published, IndexUnreadable if the file is damaged."""
        try:
            return Current(**json.loads(read_sealed(self.path / "current")))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise BookNotFound.of(self.book) from error
        except IndexUnreadable as error:
            message = (
                f"{error}; run `textbook-rag verify {self.book} --repair`, or ingest the book again"
            )
            raise IndexUnreadable(message) from error

    def settled(self, read: Callable[[], _Found]) -> _Found:
        """Return `read()`. After an error, read again if `current` was switched meanwhile.

        Two switches remove the generation that `current` named before.
        """
        for _ in range(_ATTEMPTS - 1):
            stamp = self.stamp()
            try:
                return read()
            except StorageError:
                if self.stamp() == stamp:
                    raise
        return read()

    def generation(self, number: int) -> Path:
        return self.path / f"{number:06d}"

    def building(self, number: int) -> Path:
        return self.path / f"{number:06d}{_BUILDING}"

    def complete(self) -> list[int]:
        """Return the numbers of all complete generations, descending."""
        names = [path.name for path in self.path.iterdir()]
        return sorted((int(name) for name in names if _is_number(name)), reverse=True)

    def stored(self, number: int) -> StoredManifest:
        """Read the manifest. IndexUnreadable if it is missing, damaged or of another book."""
        stored = StoredManifest.read(self.generation(number))
        if stored.manifest.book != self.book:
            message = f"{stored.folder / FILE}: the manifest of another book"
            raise IndexUnreadable(message)
        return stored

    def check(self, number: int) -> BookManifest:
        """Return the manifest of a generation whose files are as they were published.

        IndexUnreadable names the first files that are not.
        """
        stored = self.stored(number)
        stored.check()
        return stored.manifest

    def sound(self) -> list[int]:
        """Return the undamaged generations, the current one first.

        If `current` is damaged, these are all undamaged generations, the newest first.
        """
        found = []
        for number in self._kept():
            with suppress(IndexUnreadable, OSError):
                self.check(number)
                found.append(number)
        return found

    def finish(self, number: int, manifest: BookManifest) -> None:
        """Write the manifest and rename the building folder. No reader uses it yet."""
        building = self.building(number)
        StoredManifest.of(building, manifest).write()
        sync_folder(building)
        building.rename(self.generation(number))
        sync_folder(self.path)

    def switch(self, current: Current) -> None:
        """Switch readers to another generation, atomically."""
        new = self.path / "current.new"
        write_sealed(new, json.dumps(asdict(current)))
        new.replace(self.path / "current")
        sync_folder(self.path)

    def prune(self) -> None:
        """Remove leftovers of a crash and every generation except the current and the previous one.

        Waits while another process is opening one of them. While `current` is damaged, all
        generations are kept.
        """
        kept = {f"{number:06d}" for number in self._kept()}
        for path in sorted(self.path.iterdir()):
            if path.is_dir() and path.name not in kept:
                _remove(path)

    def unpublish(self) -> None:
        (self.path / "current").unlink(missing_ok=True)
        sync_folder(self.path)

    def _kept(self) -> list[int]:
        try:
            current = self.current()
        except BookNotFound:
            return []
        except IndexUnreadable:
            return self.complete()
        return list(filter(None, (current.generation, current.previous)))


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _remove(generation: Path) -> None:
    """Rename the folder, then delete it.

    A process that closes the shard writes a file into it, which would not let it become empty.
    """
    if generation.suffix != _BUILDING:
        with generation_lock(generation, removing=True):
            generation = generation.rename(f"{generation}{_BUILDING}")
    shutil.rmtree(generation)
