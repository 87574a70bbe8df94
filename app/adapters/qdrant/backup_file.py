"""A backup as one file: the SHA-256 of all bytes after it, in hex, then a zip archive.

contents.json         books with their manifests, names of state files, format, time
points/N.jsonl        a book's points in reading order: the chunk; numbers, little-endian, in base64
ledger/<book>.jsonl   as `links BOOK --as ledger` prints it
state/<name>          files of RAG_HOME
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import zipfile
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedIOBase, BufferedRandom
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, cast

from app.adapters.qdrant.manifest import manifest_from_json, manifest_to_json
from app.adapters.qdrant.payload import from_payload, to_payload
from app.domain.book_id import BookId
from app.domain.errors import InputError, RagError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.ledger import Ledger, from_lines, to_lines
from app.domain.retrieval.query import SparseVector
from app.services.phases import Advance

_FORMAT = 2
_CONTENTS = "contents.json"
_DIGEST_CHARS = 64
_UNFINISHED = ".textbook-rag-backup"
_PAGE = 256
"""Points that are read at a time."""


@contextmanager
def writing_backup(path: Path) -> Iterator[BackupFileWriter]:
    """Yield a backup that appears at `path`, for its owner only, when `finish` is called.

    It is written beside `path`; the next backup in this folder overwrites what a killed process
    left. InputError if `path` cannot be written; StorageError if the disk fails.
    """
    if path.exists() and not path.is_file():
        message = f"{path}: is no file that a backup may replace: choose another name"
        raise InputError(message)
    new = path.with_name(_UNFINISHED)
    try:
        new.touch(0o600)
        file = new.open("r+b")
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}): choose another file"
        raise InputError(message) from error
    try:
        with file:
            _lock(file, path)
            writer = BackupFileWriter(path, new, file)
            try:
                yield writer
            finally:
                writer.close()
    except OSError as error:
        message = f"{path}: {error.strerror or error}; check its folder and free space"
        raise StorageError(message) from error


def _lock(file: BufferedRandom, path: Path) -> None:
    """InputError while another process writes a backup in this folder."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = (
            f"{path.parent}: another backup is being written there: wait, or choose another folder"
        )
        raise InputError(message) from error
    file.truncate(0)


class BackupFileWriter:
    """Writes the file `new`, which `finish` renames to `path`."""

    def __init__(self, path: Path, new: Path, file: BufferedRandom) -> None:
        """`file` is `new`, open and empty."""
        self._path = path
        self._new = new
        self._file = file
        self._state_copy = new.with_name(f"{new.name}.state")
        self._file.write(bytes(_DIGEST_CHARS))
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._points = 0
        self._books: list[dict[str, object]] = []
        self._state: list[str] = []

    async def add_points(self, pages: AsyncIterator[Sequence[IndexPoint]], advance: Advance) -> int:
        """Add points; return their number. Those of no book are ignored by a reader."""
        count = 0
        self._points += 1
        with self._zip.open(_points_name(self._points), "w", force_zip64=True) as member:
            async for page in pages:
                member.writelines(map(_line, page))
                count += len(page)
                advance(len(page))
        return count

    def add_book(self, manifest: BookManifest, ledger: Ledger) -> None:
        """Add the book whose points were added last."""
        lines = "".join(f"{line}\n" for line in to_lines(ledger))
        self._zip.writestr(_ledger_name(manifest.book), lines)
        self._books.append({"manifest": manifest_to_json(manifest), "points": self._points})

    def add_state(self, name: str, copy: Callable[[Path], None]) -> None:
        """Add a state file, which `copy` writes to a temporary path."""
        self._state_copy.unlink(missing_ok=True)  # of a killed process
        copy(self._state_copy)
        self._zip.write(self._state_copy, f"state/{name}")
        self._state.append(name)

    def finish(self) -> int:
        """Complete the file and rename it; return its size in bytes."""
        contents = {
            "format": _FORMAT,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "state": self._state,
            "books": self._books,
        }
        self._zip.writestr(_CONTENTS, json.dumps(contents, ensure_ascii=False, indent=1))
        self._zip.close()
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(_DIGEST_CHARS)
        digest = _digest(self._file)
        self._file.seek(0)
        self._file.write(digest)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._new.replace(self._path)
        return size

    def close(self) -> None:
        """End the archive; what was written is removed unless `finish` was called."""
        with suppress(OSError, ValueError):
            self._zip.close()
        self._new.unlink(missing_ok=True)
        self._state_copy.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class BackupFileReader:
    """Reads a complete backup: `reading_backup` has checked its digest."""

    path: Path
    archive: zipfile.ZipFile
    books: Mapping[BookId, BookManifest]
    state: Sequence[str]
    _points: Mapping[BookId, str]
    """Names of the members with the books' points."""

    @classmethod
    def of(cls, path: Path, archive: zipfile.ZipFile) -> BackupFileReader:
        """InputError unless `finish` of this version wrote the contents."""
        with _bad_backup(path):
            contents = json.loads(archive.read(_CONTENTS))
            if contents["format"] != _FORMAT:
                message = f"{path}: a backup of another version of this program"
                raise InputError(message)
            books, points = {}, {}
            for one in contents["books"]:
                manifest = manifest_from_json(one["manifest"], str(path))
                books[manifest.book] = manifest
                points[manifest.book] = _points_name(one["points"])
            return cls(path, archive, books, contents["state"], points)

    def pages(self, book: BookId) -> Iterator[list[IndexPoint]]:
        """Yield the book's points in reading order."""
        with _bad_backup(self.path), self.archive.open(self._points[book]) as member:
            while lines := list(islice(member, _PAGE)):
                yield list(map(_point, lines))

    def ledger(self, book: BookId) -> Ledger:
        name = _ledger_name(book)
        with _bad_backup(self.path):
            lines = self.archive.read(name).decode().split("\n")
        return from_lines(lines, f"{self.path} {name}")

    def open_state(self, name: str) -> BinaryIO:
        with _bad_backup(self.path):
            return cast("BinaryIO", self.archive.open(f"state/{name}"))


@contextmanager
def reading_backup(path: Path) -> Iterator[BackupFileReader]:
    """Check every byte of a backup and open it.

    InputError if the file is not a backup, or is truncated or changed.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}): check the path"
        raise InputError(message) from error
    with file:
        with _bad_backup(path):
            if file.read(_DIGEST_CHARS) != _digest(file):
                message = (
                    f"{path}: not a complete backup: it is truncated, changed or another file; "
                    "restore from another copy"
                )
                raise InputError(message)
            archive = zipfile.ZipFile(file)
        yield BackupFileReader.of(path, archive)


@contextmanager
def _bad_backup(path: Path) -> Iterator[None]:
    """Raise InputError for any error that reading a foreign file can cause."""
    try:
        yield
    except RagError:
        raise
    except (
        OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError,
        LookupError, TypeError, ValueError, AttributeError,
    ) as error:  # fmt: skip
        message = f"{path}: not a backup that this version can read ({error}); use another copy"
        raise InputError(message) from error


def _points_name(number: int) -> str:
    return f"points/{number}.jsonl"


def _ledger_name(book: BookId) -> str:
    return f"ledger/{book}.jsonl"


def _digest(file: BufferedIOBase) -> bytes:
    """SHA-256 of the file from its position to its end, in hex."""
    return hashlib.file_digest(file, "sha256").hexdigest().encode()


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
