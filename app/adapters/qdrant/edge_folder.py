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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from app.adapters.qdrant.manifest import manifest_from_json, manifest_to_json
from app.adapters.qdrant.sealed_text import read_sealed, sync_folder, write_sealed
from app.adapters.qdrant.sparse_files import digest
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest

_Found = TypeVar("_Found")

SHARD = "shard"

_MANIFEST = "manifest"
_BUILDING = ".building"

_ATTEMPTS = 3

_NAMED_FILES = 3
"""Maximum number of damaged files that a message names."""

Stamp = tuple[int, int, int] | None
"""A value that changes when a file is replaced; None if it is missing."""


@dataclass(frozen=True, slots=True)
class Current:
    """Content of `current`: generation numbers; `previous` is 0 if there is none."""

    generation: int
    previous: int = 0


@dataclass(frozen=True, slots=True)
class StoredGeneration:
    """The manifest of a generation, with the size of each file and one hash of their content."""

    folder: Path
    manifest: BookManifest
    sizes: Mapping[str, int]
    """Bytes, by path relative to `folder`."""
    digest: str

    def wrong_sizes(self) -> list[Path]:
        """The files that are missing, or whose size has changed."""
        paths = {self.folder / name: size for name, size in self.sizes.items()}
        return [path for path, size in paths.items() if _size(path) != size]

    def stamp(self) -> Stamp:
        """None if the generation was removed."""
        return _stamp(self.folder / _MANIFEST)

    def check(self) -> None:
        """Read every byte. IndexUnreadable, naming files, unless all is as it was published."""
        wrong = self.wrong_sizes()
        if not wrong and digest(self.folder / name for name in self.sizes) == self.digest:
            return
        named = [str(path.relative_to(self.folder)) for path in wrong[:_NAMED_FILES]] or [SHARD]
        more = f" and {len(wrong) - _NAMED_FILES} more" if len(wrong) > _NAMED_FILES else ""
        message = f"{self.folder}: not as it was published: {', '.join(named)}{more}"
        raise IndexUnreadable(message)


@dataclass(frozen=True, slots=True)
class BookFolder:
    path: Path

    @property
    def book(self) -> BookId:
        return BookId(self.path.name)

    def stamp(self) -> Stamp:
        """A value that changes when `current` is switched; None if the book is not published."""
        return _stamp(self.path / "current")

    def require_published(self) -> None:
        """BookNotFound if the book is not published."""
        if self.stamp() is None:
            raise BookNotFound.of(self.book)

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

    def building(self, number: int) -> Path:
        return self.path / f"{number:06d}{_BUILDING}"

    def complete(self) -> list[int]:
        """Return the numbers of all complete generations, descending."""
        names = [path.name for path in self.path.iterdir()]
        numbers = [int(name) for name in names if name.isascii() and name.isdigit()]
        return sorted(numbers, reverse=True)

    def stored(self, number: int) -> StoredGeneration:
        """Read a manifest. IndexUnreadable if it is missing, damaged or of another book."""
        path = self._generation(number) / _MANIFEST
        try:
            data = json.loads(read_sealed(path))
        except (FileNotFoundError, NotADirectoryError) as error:
            message = f"{path}: {error.strerror}; ingest the book again"
            raise IndexUnreadable(message) from error
        manifest = manifest_from_json(data["manifest"], str(path))
        if manifest.book != self.book:
            message = f"{path}: the manifest of another book"
            raise IndexUnreadable(message)
        return StoredGeneration(path.parent, manifest, data["sizes"], data["digest"])

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
        paths = sorted(path for path in (building / SHARD).rglob("*") if path.is_file())
        data = {
            "manifest": manifest_to_json(manifest),
            "sizes": {path.relative_to(building).as_posix(): _size(path) for path in paths},
            "digest": digest(paths),
        }
        write_sealed(building / _MANIFEST, json.dumps(data, ensure_ascii=False))
        sync_folder(building)
        building.rename(self._generation(number))
        sync_folder(self.path)

    def switch(self, current: Current) -> None:
        """Switch readers to another generation, atomically."""
        new = self.path / "current.new"
        write_sealed(new, json.dumps(asdict(current)))
        new.replace(self.path / "current")
        sync_folder(self.path)

    def unpublish(self) -> None:
        (self.path / "current").unlink(missing_ok=True)
        sync_folder(self.path)

    def prune(self) -> None:
        """Remove leftovers of a crash and every generation except the current and the previous one.

        While `current` is damaged, all generations are kept. A folder is renamed before it is
        deleted: a process that closes the shard writes a file under the old name.
        """
        kept = set(map(self._generation, self._kept()))
        for path in sorted(self.path.iterdir()):
            if path.is_dir() and path not in kept:
                ended = path.suffix == _BUILDING
                shutil.rmtree(path if ended else path.rename(f"{path}{_BUILDING}"))

    def _generation(self, number: int) -> Path:
        return self.path / f"{number:06d}"

    def _kept(self) -> list[int]:
        try:
            current = self.current()
        except BookNotFound:
            return []
        except IndexUnreadable:
            return self.complete()
        return list(filter(None, (current.generation, current.previous)))


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return -1
