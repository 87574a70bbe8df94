"""The folder of one book in the embedded index.

RAG_HOME/index/<book>/
    current             two lines: the generation that readers open, and the one before it
    lock                held by the writer
    000007/             a published generation, never changed again
        manifest.json
        shard/          the engine's files
    000008.building/    what a writer is at, or what a crash left
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from app.adapters.qdrant.manifest import manifest_from_text, manifest_to_json
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, StorageError
from app.services.ports import BookManifest

_BUILDING = ".building"

RESERVE = 96 * 2**20
"""Bytes that must be free beside what is written: the engine's preallocated files take up to 91 MB
on a file system that fills holes when they are mapped (measured on tmpfs; on ext4 it is 2 MB)."""


@dataclass(frozen=True, slots=True)
class Current:
    """What `current` says: generation numbers; `previous` is 0 when there is none."""

    generation: int
    previous: int = 0


@dataclass(frozen=True, slots=True)
class BookFolder:
    path: Path

    @classmethod
    def of(cls, root: Path, book: BookId) -> BookFolder:
        return cls(root / BookId(book))

    @property
    def book(self) -> BookId:
        return BookId(self.path.name)

    def stamp(self) -> tuple[int, int, int] | None:
        """Tell whether `current` was switched since; None when the book is not published."""
        try:
            status = (self.path / "current").stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size

    def current(self) -> Current | None:
        path = self.path / "current"
        try:
            lines = path.read_text("utf-8").split()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return Current(*(int(line) for line in lines))
        except (TypeError, ValueError) as error:
            message = f"{path}: damaged; remove the book and ingest it again"
            raise StorageError(message) from error

    def generation(self, number: int) -> Path:
        return self.path / f"{number:06d}"

    def building(self, number: int) -> Path:
        return self.path / f"{number:06d}{_BUILDING}"

    def next_number(self) -> int:
        """One more than any generation here, so that no published name is used for two."""
        taken = [number for entry in self._entries() if (number := _number(entry.name))]
        return max(taken, default=0) + 1

    def manifest(self, number: int) -> BookManifest:
        path = self.generation(number) / "manifest.json"
        manifest = manifest_from_text(path.read_text("utf-8"), str(path))
        if manifest.book != self.book:
            message = f"{path}: the manifest of another book, {manifest.book!r}"
            raise IndexUnreadable(message)
        return manifest

    def finish(self, number: int, manifest: BookManifest) -> None:
        """Make the building a complete generation, which nobody reads yet."""
        building = self.building(number)
        text = json.dumps(manifest_to_json(manifest), ensure_ascii=False, indent=1)
        _write_durably(building / "manifest.json", text + "\n")
        _sync(building)
        building.rename(self.generation(number))
        _sync(self.path)

    def switch(self, current: Current) -> None:
        """Let readers see another generation, in one step."""
        new = self.path / "current.new"
        _write_durably(new, f"{current.generation:06d}\n{current.previous:06d}\n")
        new.replace(self.path / "current")
        _sync(self.path)

    def prune(self) -> None:
        """Remove what a crash left and every generation but the current one and the last."""
        current = self.current() or Current(0)
        kept = {f"{number:06d}" for number in (current.generation, current.previous)}
        for entry in self._entries():
            if entry.is_dir() and entry.name not in kept:
                shutil.rmtree(entry)

    def unpublish(self) -> None:
        (self.path / "current").unlink(missing_ok=True)
        _sync(self.path)

    def _entries(self) -> list[Path]:
        return sorted(self.path.iterdir())


def size_on_disk(folder: Path) -> int:
    """Bytes that are really taken: the engine's files are sparse and look far larger."""
    return sum(
        os.lstat(Path(root) / name).st_blocks * 512
        for root, _, names in os.walk(folder)
        for name in names
    )


def require_space(folder: Path, size: int) -> None:
    """StorageError unless `size` bytes and a reserve can be written in this folder now.

    The engine maps sparse files into memory: on a full disk, writing there kills the process
    (SIGBUS) instead of raising. So beside asking for the free space, take `size` bytes for a moment
    and give them back, which also meets quotas.
    """
    if shutil.disk_usage(folder).free < size + RESERVE:
        raise _disk_full(folder, size + RESERVE)
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    probe = folder / "space.probe"
    try:
        descriptor = os.open(probe, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.posix_fallocate(descriptor, 0, size)
        finally:
            os.close(descriptor)
            probe.unlink()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise _disk_full(folder, size) from error
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


def _disk_full(folder: Path, size: int) -> StorageError:
    return StorageError(f"{folder}: disk full: needs {size // 2**20} MB more; the old index stays")


def _number(name: str) -> int:
    stem = name.removesuffix(_BUILDING)
    return int(stem) if stem.isascii() and stem.isdigit() else 0


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make a rename in this folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
