"""The folder of one book in the embedded index.

RAG_HOME/index/<book>/
    current       numbers of the generations that are kept: the current one, then the previous one
    lock          held by the writer
    000007/       a generation, never changed once it is in `current`
        manifest  with the size of each other file and one hash of their content
        shard/    the engine's files
        terms     document frequency and highest weight of each term

Any other folder is being written or removed, or a crash left it behind. The first line of `current`
and `manifest` is the SHA-256 of the rest, which is JSON.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, TypeVar

from app.adapters.qdrant.disk import digest
from app.adapters.qdrant.payload import manifest_from_json, manifest_to_json
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexBusy, IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest

_Found = TypeVar("_Found")

_CURRENT, _MANIFEST, _REMOVED = "current", "manifest", ".removed"
SHARD, TERMS = "shard", "terms"

Stamp = tuple[int, int, int] | None
"""A value that changes when a file is replaced; None if it is missing."""


@dataclass(frozen=True, slots=True)
class StoredGeneration:
    folder: Path
    manifest: BookManifest
    sizes: Mapping[str, int]
    """Bytes, by path relative to `folder`."""
    digest: str

    @classmethod
    def read(cls, folder: Path) -> StoredGeneration:
        """IndexUnreadable if the manifest is missing, damaged or of another book."""
        path = folder / _MANIFEST
        if (data := _read_sealed(path)) is None:
            raise IndexUnreadable(f"{path}: missing; ingest the book again")
        manifest = manifest_from_json(data["manifest"], str(path))
        if manifest.book != folder.parent.name:
            raise IndexUnreadable(f"{path}: the manifest of another book")
        return cls(folder, manifest, data["sizes"], data["digest"])

    @staticmethod
    def write(folder: Path, manifest: BookManifest) -> None:
        """Complete a generation all of whose other files are written."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        data = {
            "manifest": manifest_to_json(manifest),
            "sizes": {path.relative_to(folder).as_posix(): _size(path) for path in paths},
            "digest": digest(paths),
        }
        _write_sealed(folder / _MANIFEST, data)
        _sync_folder(folder)

    def wrong_sizes(self) -> list[Path]:
        """The files that are missing, or whose size has changed."""
        paths = {self.folder / name: size for name, size in self.sizes.items()}
        return [path for path, size in paths.items() if _size(path) != size]

    def check(self) -> None:
        """Read every byte. IndexUnreadable, naming a file, unless all is as it was published."""
        wrong = [str(path.relative_to(self.folder)) for path in self.wrong_sizes()]
        if wrong or digest(self.folder / name for name in self.sizes) != self.digest:
            fault = f"not as it was published: {(wrong or [SHARD])[0]}; ingest the book again"
            raise IndexUnreadable(f"{self.folder}: {fault}")


@dataclass(frozen=True, slots=True)
class BookFolder:
    path: Path

    @property
    def book(self) -> BookId:
        return BookId(self.path.name)

    def stamp(self) -> Stamp:
        """A value that changes when `current` is switched; None if the book is not published."""
        return _stamp(self.path / _CURRENT)

    def require_published(self) -> None:
        """BookNotFound if the book is not published."""
        if self.stamp() is None:
            raise BookNotFound.of(self.book)

    def kept(self) -> list[int]:
        """Return the numbers of the current generation and of the previous one, if there is one.

        BookNotFound if the book is not published, IndexUnreadable if the file is damaged.
        """
        numbers: list[int] | None = _read_sealed(self.path / _CURRENT)
        if numbers is None:
            raise BookNotFound.of(self.book)
        return numbers

    def settled(self, read: Callable[[], _Found]) -> _Found:
        """Return `read()`. After an error, read again if `current` was switched meanwhile.

        Two switches remove the generation that `current` named before.
        """
        while True:
            stamp = self.stamp()
            try:
                return read()
            except StorageError:
                if self.stamp() == stamp:
                    raise

    def generation(self, number: int) -> Path:
        return self.path / f"{number:06d}"

    def stored(self, number: int) -> StoredGeneration:
        """Read a manifest. IndexUnreadable."""
        return StoredGeneration.read(self.generation(number))

    def numbers(self) -> list[int]:
        """Return the numbers of all generations, also unfinished ones, descending."""
        names = [path.name for path in self.path.iterdir()]
        return sorted(int(name) for name in names if name.isascii() and name.isdigit())[::-1]

    def sound(self) -> list[int]:
        """Return the undamaged generations, the current one first.

        If `current` is damaged, these are all undamaged generations, the newest first.
        """
        found = []
        for number in self._usable():
            with suppress(IndexUnreadable, OSError):
                self.stored(number).check()
                found.append(number)
        return found

    def switch(self, current: int, kept: Sequence[int]) -> None:
        """Switch readers to another generation, atomically, and keep the first of `kept`."""
        new = self.path / f"{_CURRENT}.new"
        _write_sealed(new, [current, *kept[:1]])
        _sync_folder(self.path)
        new.replace(self.path / _CURRENT)
        _sync_folder(self.path)

    def unpublish(self) -> None:
        (self.path / _CURRENT).unlink(missing_ok=True)
        _sync_folder(self.path)

    def prune(self) -> None:
        """Remove leftovers of a crash and every generation except the current and the previous one.

        While `current` is damaged, all complete generations are kept. A folder is renamed before it
        is deleted: a process that closes the shard writes a file under the old name.
        """
        kept = set(map(self.generation, self._usable()))
        for path in sorted(self.path.iterdir()):
            if path.is_dir() and path not in kept:
                is_renamed = path.suffix == _REMOVED
                shutil.rmtree(path if is_renamed else path.rename(f"{path}{_REMOVED}"))

    def lock(self) -> IO[str]:
        """Lock the book, without waiting, until the file is closed or this process ends.

        The file is never deleted: it names the holder's process and start time, and so does
        IndexBusy.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        file = (self.path / "lock").open("a+", encoding="utf-8", errors="replace")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            with file:
                file.seek(0)
                holder = file.read(200).strip() or "just started"
            message = (
                f"book {self.book!r} is being written by another run ({holder}): wait for it to "
                "end, or stop it"
            )
            raise IndexBusy(message) from error
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        file.truncate(0)
        file.write(f"process {os.getpid()}, started {started}\n")
        file.flush()
        return file

    def _usable(self) -> list[int]:
        """Return `kept` or, if `current` is damaged, all complete generations."""
        try:
            return self.kept()
        except BookNotFound:
            return []
        except IndexUnreadable:
            numbers = self.numbers()
            return [one for one in numbers if (self.generation(one) / _MANIFEST).exists()]


def write_durably(path: Path, content: bytes) -> None:
    """Write a file; its name is durable only when its folder is synced."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _write_sealed(path: Path, data: object) -> None:
    text = json.dumps(data, ensure_ascii=False).encode()
    write_durably(path, hashlib.sha256(text).hexdigest().encode() + b"\n" + text)


def _read_sealed(path: Path) -> Any:  # noqa: ANN401 - JSON
    """Return None for a missing file. IndexUnreadable unless `_write_sealed` wrote it; OSError."""
    try:
        seal, _, text = path.read_bytes().partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    if seal != hashlib.sha256(text).hexdigest().encode():
        message = f"{path}: damaged; ingest the book again"
        raise IndexUnreadable(message)
    return json.loads(text)


def _sync_folder(folder: Path) -> None:
    """Make new names in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _size(path: Path) -> int:
    stamp = _stamp(path)
    return stamp[2] if stamp else -1
