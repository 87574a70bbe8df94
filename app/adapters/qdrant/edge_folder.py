"""The folder of one book in the embedded index.

RAG_HOME/index/<book>/
    lock             held by the writer
    000008.manifest  its generation, its folder, the size of each file and one hash of their content
    000007/          the files of generation 7, which never change
        shard/       the engine's files
        terms        document frequency and highest weight of each term

Manifests are numbered as they are published: the last one is that of the current generation, the
one before it that of the previous generation. Any other folder is being written or removed, or a
crash left it behind. The first line of a manifest is the SHA-256 of the rest, which is JSON.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypeVar

from app.adapters.qdrant.disk import digest
from app.adapters.qdrant.payload import manifest_from_json, manifest_to_json
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexBusy, IndexUnreadable, StorageError
from app.domain.indexed_book import BookManifest

_Found = TypeVar("_Found")

SHARD, TERMS = "shard", "terms"
_MANIFEST, _FOLDER = re.compile(r"([0-9]{6,})\.manifest"), re.compile("([0-9]{6,})")
_REMOVED = ".removed"

Stamp = tuple[int, int, int] | None
"""A value that changes when another generation is published; None if none is."""


@dataclass(frozen=True, slots=True)
class StoredGeneration:
    folder: Path
    manifest: BookManifest
    sizes: Mapping[str, int]
    """Bytes, by path relative to `folder`."""
    digest: str

    @classmethod
    def read(cls, path: Path) -> StoredGeneration:
        """IndexUnreadable if this manifest is missing, damaged or of another book."""
        try:
            seal, _, text = path.read_bytes().partition(b"\n")
        except FileNotFoundError as error:
            raise IndexUnreadable(f"{path}: missing; ingest the book again") from error
        if seal != _seal(text):
            raise IndexUnreadable(f"{path}: damaged; ingest the book again")
        data = json.loads(text)
        manifest = manifest_from_json(data["manifest"], str(path))
        if manifest.book != path.parent.name:
            raise IndexUnreadable(f"{path}: the manifest of another book")
        return cls(path.parent / data["folder"], manifest, data["sizes"], data["digest"])

    @staticmethod
    def write(path: Path, folder: Path, manifest: BookManifest) -> None:
        """Publish a generation all of whose files are written, atomically."""
        files = sorted(one for one in folder.rglob("*") if one.is_file())
        data = {
            "manifest": manifest_to_json(manifest),
            "folder": folder.name,
            "sizes": {one.relative_to(folder).as_posix(): _size(one) for one in files},
            "digest": digest(files),
        }
        text, new = json.dumps(data, ensure_ascii=False).encode(), path.with_suffix(".new")
        write_durably(new, _seal(text) + b"\n" + text)
        _sync_folder(folder)
        _sync_folder(path.parent)
        new.replace(path)
        _sync_folder(path.parent)

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

    def published(self) -> list[int]:
        """Return the number of the current manifest and of those before it, descending."""
        return self._numbers(_MANIFEST)

    def new_generation(self) -> int:
        """Return a number above those of all generations that other processes may know."""
        return max([0, *self._numbers(_FOLDER)]) + 1

    def _numbers(self, name: re.Pattern[str]) -> list[int]:
        try:
            found = map(name.fullmatch, os.listdir(self.path))  # noqa: PTH208 - half the time
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted((int(one[1]) for one in found if one), reverse=True)

    def kept(self) -> list[int]:
        """Return `published`, at least one number. BookNotFound."""
        if found := self.published():
            return found
        raise BookNotFound.of(self.book)

    def stamp(self) -> Stamp:
        for number in self.published()[:1]:
            with suppress(FileNotFoundError):
                status = self._manifest(number).stat()
                return number, status.st_mtime_ns, status.st_ino
        return None

    def settled(self, read: Callable[[], _Found]) -> _Found:
        """Return `read()`. After an error, read again if a generation was published meanwhile.

        Two publications remove the generation that was the current one before.
        """
        while True:
            stamp = self.stamp()
            try:
                return read()
            except StorageError:
                if self.stamp() == stamp:
                    raise

    def _manifest(self, number: int) -> Path:
        return self.path / f"{number:06d}.manifest"

    def stored(self, number: int) -> StoredGeneration:
        """Read a manifest. IndexUnreadable."""
        return StoredGeneration.read(self._manifest(number))

    def sound(self) -> list[int]:
        """Return the manifests of undamaged generations, descending."""
        found = []
        for number in self.published():
            with suppress(IndexUnreadable, OSError):
                self.stored(number).check()
                found.append(number)
        return found

    def publish(self, folder: Path, manifest: BookManifest, kept: Collection[int]) -> None:
        """Make a folder the current generation, atomically; of the manifests keep these."""
        number = max([0, *self.published()]) + 1
        StoredGeneration.write(self._manifest(number), folder, manifest)
        self.keep({number, *kept})

    def keep(self, numbers: Collection[int]) -> None:
        """Unpublish the generations of all other manifests, the current one last."""
        for number in reversed(self.published()):
            if number not in numbers:
                self._manifest(number).unlink()
        _sync_folder(self.path)

    def prune(self) -> None:
        """Remove leftovers of a crash and every generation that is not published.

        A folder is renamed before it is deleted: a process that closes the shard writes a file
        under the old name.
        """
        folders = set[Path]()
        for number in self.published():
            with suppress(IndexUnreadable):
                folders.add(self.stored(number).folder)
        for path in sorted(self.path.iterdir()):
            if path.is_dir() and path not in folders:
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
            raise IndexBusy(
                f"book {self.book!r} is being written by another run ({holder}): wait for it to "
                "end, or stop it"
            ) from error
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        file.truncate(0)
        file.write(f"process {os.getpid()}, started {started}\n")
        file.flush()
        return file


def write_durably(path: Path, content: bytes) -> None:
    """Write a file; its name is durable only when its folder is synced."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _seal(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _sync_folder(folder: Path) -> None:
    """Make new names in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return -1
