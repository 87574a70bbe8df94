"""A backup as one zip archive.

manifest/<book>.json  of each book
points/<book>.jsonl   in reading order: the chunk; numbers, little-endian, in base64
ledger/<book>.jsonl   as `links BOOK --as ledger` prints it
state/<name>          files of RAG_HOME
"""

from __future__ import annotations

import fcntl
import json
import os
import zipfile
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedRandom
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal, cast

from app.adapters.qdrant.payload import (
    from_payload,
    manifest_from_json,
    manifest_to_json,
    to_payload,
)
from app.domain.book_id import BookId
from app.domain.errors import InputError, RagError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.ledger import Ledger, from_lines, to_lines
from app.domain.retrieval.query import SparseVector
from app.services.phases import Advance

_PAGE = 256
"""Points that are read at a time."""


@contextmanager
def writing_backup(path: Path) -> Iterator[BackupFileWriter]:
    """Yield a backup that appears at `path`, for its owner only, when the block ends.

    It is written as `<path>.part`, which is removed if the block fails. InputError if `path` cannot
    be written; StorageError if the disk fails.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}): choose another file"
        raise InputError(message) from error
    with file:
        _lock(file, path)
        try:
            file.truncate(0)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                yield BackupFileWriter(archive, path.parent)
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            message = f"{path}: {error.strerror or error}; check its folder and free space"
            raise StorageError(message) from error
        finally:
            part.unlink(missing_ok=True)


def _lock(file: BufferedRandom, path: Path) -> None:
    """InputError while another process writes this backup."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = f"{path}: is being written by another run: wait for it, or choose another name"
        raise InputError(message) from error


@dataclass(frozen=True, slots=True)
class BackupFileWriter:
    archive: zipfile.ZipFile
    folder: Path
    """For a temporary copy of each state file."""

    async def add_points(
        self, book: BookId, pages: AsyncIterator[Sequence[IndexPoint]], advance: Advance
    ) -> int:
        """Add points; return their number. A reader ignores them without `add_book`."""
        count = 0
        with self.archive.open(_points_of(book), "w", force_zip64=True) as member:
            async for page in pages:
                member.writelines(map(_line, page))
                count += len(page)
                advance(len(page))
        return count

    def add_book(self, manifest: BookManifest, ledger: Ledger) -> None:
        lines = "".join(f"{line}\n" for line in to_lines(ledger))
        self.archive.writestr(_ledger_of(manifest.book), lines)
        data = json.dumps(manifest_to_json(manifest), ensure_ascii=False)
        self.archive.writestr(f"manifest/{manifest.book}.json", data)

    def add_state(self, name: str, copy: Callable[[Path], None]) -> None:
        with TemporaryDirectory(prefix=".textbook-rag-", dir=self.folder) as folder:
            target = Path(folder) / name
            copy(target)
            self.archive.write(target, f"state/{name}")


@dataclass(frozen=True, slots=True)
class BackupFileReader:
    """Reads a complete backup: `reading_backup` has checked it."""

    path: Path
    archive: zipfile.ZipFile
    books: Mapping[BookId, BookManifest]
    state: Sequence[str]

    @classmethod
    def of(cls, path: Path, archive: zipfile.ZipFile) -> BackupFileReader:
        """Check every byte and read the manifests."""
        if damaged := archive.testzip():
            raise zipfile.BadZipFile(damaged)
        names = sorted(archive.namelist())
        manifests = [
            manifest_from_json(json.loads(archive.read(name)), f"{path} {name}")
            for name in names
            if name.startswith("manifest/")
        ]
        state = [name.removeprefix("state/") for name in names if name.startswith("state/")]
        return cls(path, archive, {one.book: one for one in manifests}, state)

    def pages(self, book: BookId) -> Iterator[list[IndexPoint]]:
        """Yield the book's points in reading order."""
        with _bad_backup(self.path), self.archive.open(_points_of(book)) as member:
            while lines := list(islice(member, _PAGE)):
                yield list(map(_point, lines))

    def ledger(self, book: BookId) -> Ledger:
        name = _ledger_of(book)
        with _bad_backup(self.path):
            lines = self.archive.read(name).decode().split("\n")
        return from_lines(lines, f"{self.path} {name}")

    def open_state(self, name: str) -> BinaryIO:
        return cast("BinaryIO", self.archive.open(f"state/{name}"))


@contextmanager
def reading_backup(path: Path) -> Iterator[BackupFileReader]:
    """Check every byte of a backup and open it.

    InputError if the file is not a backup, or is truncated or changed.
    """
    with _bad_backup(path):
        archive = zipfile.ZipFile(path)
    with archive:
        with _bad_backup(path):
            backup = BackupFileReader.of(path, archive)
        yield backup


@contextmanager
def _bad_backup(path: Path) -> Iterator[None]:
    """Raise InputError for any error that reading a foreign file can cause."""
    try:
        yield
    except RagError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: cannot be read: no such file") from error
    except (
        OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError,
        LookupError, TypeError, ValueError, AttributeError,
    ) as error:  # fmt: skip
        message = (
            f"{path}: not a complete backup ({error}): it is truncated, changed or another file; "
            "use another copy"
        )
        raise InputError(message) from error


def _points_of(book: BookId) -> str:
    return f"points/{book}.jsonl"


def _ledger_of(book: BookId) -> str:
    return f"ledger/{book}.jsonl"


def _line(point: IndexPoint) -> bytes:
    values = {
        "chunk": to_payload(point.chunk),
        "dense": _text("f", point.dense),
        "terms": _text("I", point.sparse.indices),
        "weights": _text("f", point.sparse.values),
    }
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"


def _point(line: bytes) -> IndexPoint:
    values = json.loads(line)
    terms = SparseVector(
        tuple(array("I", b64decode(values["terms"]))),
        tuple(array("f", b64decode(values["weights"]))),
    )
    return IndexPoint(from_payload(values["chunk"]), array("f", b64decode(values["dense"])), terms)


def _text(kind: Literal["f", "I"], numbers: Sequence[float] | Sequence[int]) -> str:
    return b64encode(array(kind, numbers)).decode()
