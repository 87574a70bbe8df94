"""The folder of one book in the embedded index.

RAG_HOME/index/<book>/
    current             numbers of the current and the previous generation, and a hash of both
    lock                held by the writer
    000007/             a published generation, never changed again
        manifest.json   with a hash of itself and a hash of checksums.json
        checksums.json  size and hash of each file in shard/
        shard/          the engine's files
    000008.building/    a generation that is being written or removed, or that a crash left behind
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.adapters.qdrant.checksums import Checksums, text_digest
from app.adapters.qdrant.edge_lock import generation_lock
from app.adapters.qdrant.manifest import StoredManifest
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, StorageError
from app.services.ports import BookManifest

_BUILDING = ".building"
_NAMED_FILES = 3
"""Maximum number of damaged files that a message names."""

RESERVE = 96 * 2**20
"""Bytes that must stay free: the engine's preallocated files take up to 91 MB on a file system that
fills holes when they are mapped (measured on tmpfs; 2 MB on ext4)."""


@dataclass(frozen=True, slots=True)
class Current:
    """Content of `current`: generation numbers; `previous` is 0 if there is none."""

    generation: int
    previous: int = 0

    def to_text(self) -> str:
        numbers = f"{self.generation:06d}\n{self.previous:06d}\n"
        return numbers + text_digest(numbers) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Current | None:
        """None unless `to_text` wrote this."""
        found = re.fullmatch(r"((\d{6,})\n(\d{6,})\n)([0-9a-f]{32})\n", text, re.ASCII)
        if found is None or found[4] != text_digest(found[1]):
            return None
        return cls(int(found[2]), int(found[3]))


@dataclass(frozen=True, slots=True)
class BookFolder:
    path: Path

    @property
    def book(self) -> BookId:
        return BookId(self.path.name)

    def stamp(self) -> tuple[int, int, int] | None:
        """A value that changes when `current` is switched; None if the book is not published."""
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

    def current(self) -> Current | None:
        """None if the book is not published. IndexUnreadable if the file is damaged."""
        path = self.path / "current"
        try:
            current = Current.from_text(path.read_text("utf-8", "replace"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if current is None:
            message = (
                f"{path}: damaged; run `textbook-rag verify {self.book} --repair`, or ingest the "
                "book again"
            )
            raise IndexUnreadable(message)
        return current

    def generation(self, number: int) -> Path:
        return self.path / f"{number:06d}"

    def building(self, number: int) -> Path:
        return self.path / f"{number:06d}{_BUILDING}"

    def next_number(self) -> int:
        """Return a number above all generations here, so that no name is used twice."""
        taken = [number for entry in self._entries() if (number := _number(entry.name))]
        return max(taken, default=0) + 1

    def complete(self) -> list[int]:
        """Return the numbers of all complete generations, descending."""
        names = (entry.name for entry in self._entries())
        return sorted(int(name) for name in names if name.isascii() and name.isdigit())[::-1]

    def manifest(self, number: int) -> BookManifest:
        """Read the manifest. IndexUnreadable if it is missing, damaged or of another book."""
        return self._stored(number).manifest

    def wrong_files(self, number: int, *, sizes_only: bool = False) -> list[str]:
        """The files of a generation that have changed since it was published.

        IndexUnreadable if the checksums are damaged.
        """
        checksums, folder = self._checksums(number), self.generation(number)
        return checksums.wrong_sizes(folder) if sizes_only else checksums.wrong(folder)

    def check(self, number: int) -> BookManifest:
        """Check that a generation's files have not changed since publication; return its manifest.

        IndexUnreadable names the first files that have.
        """
        if wrong := self.wrong_files(number):
            raise damaged_files(self.generation(number), wrong)
        return self.manifest(number)

    def newest_sound(self) -> int:
        """Return the current generation if it is undamaged, else the previous one, else 0.

        If `current` is damaged, return the highest undamaged generation.
        """
        try:
            current = self.current()
            numbers = [current.generation, current.previous] if current else []
        except IndexUnreadable:
            numbers = self.complete()
        for number in filter(None, numbers):
            with suppress(IndexUnreadable, OSError):
                self.check(number)
                return number
        return 0

    def beside(self, number: int) -> int:
        """Return the generation to keep as the previous one beside `number`, or 0.

        A newer generation, which is damaged, is kept until the next ingest, so that its number is
        not used again. Otherwise this is the newest undamaged generation below `number`.
        """
        for other in self.complete():
            if other > number:
                return other
            with suppress(IndexUnreadable, OSError):
                if other < number:
                    self.check(other)
                    return other
        return 0

    def finish(self, number: int, manifest: BookManifest) -> None:
        """Write checksums and manifest, then rename the building folder. No reader uses it yet."""
        building = self.building(number)
        checksums = Checksums.of(building, "shard").to_text()
        _write_durably(building / "checksums.json", checksums)
        stored = StoredManifest(manifest, text_digest(checksums))
        _write_durably(building / "manifest.json", stored.to_text())
        _sync(building)
        building.rename(self.generation(number))
        _sync(self.path)

    def switch(self, current: Current) -> None:
        """Switch readers to another generation, atomically."""
        new = self.path / "current.new"
        _write_durably(new, current.to_text())
        new.replace(self.path / "current")
        _sync(self.path)

    def prune(self) -> None:
        """Remove leftovers of a crash and every generation except the current and the previous one.

        Waits while another process is opening one of them. While `current` is damaged, all
        generations are kept.
        """
        try:
            current = self.current() or Current(0)
            numbers = [current.generation, current.previous]
        except IndexUnreadable:
            numbers = self.complete()
        kept = {f"{number:06d}" for number in numbers}
        for entry in self._entries():
            if entry.is_dir() and entry.name not in kept:
                _remove(entry)

    def unpublish(self) -> None:
        (self.path / "current").unlink(missing_ok=True)
        _sync(self.path)

    def _entries(self) -> list[Path]:
        return sorted(self.path.iterdir())

    def _stored(self, number: int) -> StoredManifest:
        path = self.generation(number) / "manifest.json"
        stored = StoredManifest.from_text(_read(path), str(path))
        if stored.manifest.book != self.book:
            message = f"{path}: the manifest of another book, {stored.manifest.book!r}"
            raise IndexUnreadable(message)
        return stored

    def _checksums(self, number: int) -> Checksums:
        digest, path = self._stored(number).checksums, self.generation(number) / "checksums.json"
        text = _read(path)
        if text_digest(text) != digest:
            raise damaged_files(path.parent, [path.name])
        return Checksums.from_text(text, str(path))


def _remove(generation: Path) -> None:
    """Rename the folder, then delete it.

    A process that closes the shard writes a file into it, which would not let it become empty.
    """
    if generation.suffix != _BUILDING:
        with generation_lock(generation, removing=True):
            generation = generation.rename(f"{generation}{_BUILDING}")
    shutil.rmtree(generation)


def damaged_files(folder: Path, names: Sequence[str]) -> IndexUnreadable:
    more = f" and {len(names) - _NAMED_FILES} more" if len(names) > _NAMED_FILES else ""
    named = ", ".join(names[:_NAMED_FILES])
    return IndexUnreadable(f"{folder}: not as it was published: {named}{more}")


def _read(path: Path) -> str:
    """IndexUnreadable if the file is missing or not UTF-8."""
    try:
        return path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError) as error:
        message = f"{path}: {getattr(error, 'strerror', None) or error}; ingest the book again"
        raise IndexUnreadable(message) from error


def size_on_disk(folder: Path) -> int:
    """Bytes allocated on disk: the engine's files are sparse, their nominal sizes far larger."""
    return sum(
        os.lstat(Path(root) / name).st_blocks * 512
        for root, _, names in os.walk(folder)
        for name in names
    )


def require_space(folder: Path, size: int) -> None:
    """StorageError unless `size` bytes and `RESERVE` can be written in this folder now.

    The engine maps sparse files into memory. On a full disk, writing to them kills the process
    (SIGBUS) instead of raising an error. So the free space is checked, and `size` bytes are
    allocated and freed again, which also detects quotas.
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
    return StorageError(f"{folder}: disk full: {size // 2**20} MB needed; the old index stays")


def _number(name: str) -> int:
    stem = name.removesuffix(_BUILDING)
    return int(stem) if stem.isascii() and stem.isdigit() else 0


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make renames in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
