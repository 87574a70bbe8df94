"""A backup as one file: a zip archive whose comment is the SHA-256 of all bytes before it.

contents.json                books with their manifests, names of state files, format, time
points/NNNNNNNN              a page of a few hundred points: a line of JSON, then numbers
ledger/<book>.jsonl          as `ledger export` writes it
state/<name>                 files of RAG_HOME

The numbers are little-endian: all dense vectors (float32), all BM25 term ids (uint32), their values
(float32). Each of the three is in the order of the chunks in the JSON line.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from app.adapters.qdrant.manifest import manifest_from_json, manifest_to_json
from app.adapters.qdrant.payload import from_payload, to_payload
from app.adapters.qdrant.temporary_folder import TemporaryFolder
from app.domain.book_id import BookId
from app.domain.errors import InputError, RagError, StorageError
from app.domain.ledger import Ledger, from_lines, to_lines
from app.domain.retrieval.query import SparseVector
from app.services.backup import BackedUpBook
from app.services.ports import BookManifest, IndexPoint

_FORMAT = 1
_CONTENTS = "contents.json"
_DIGEST_CHARS = 64
_BLOCK = 2**20
_PREFIX = "textbook-rag-backup-"

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class BackupContents:
    created_at: str
    """ISO 8601, UTC."""
    books: tuple[BackedUpBook, ...]
    state: tuple[str, ...]
    """Names of the state files."""

    def to_json(self) -> str:
        books = [
            {"manifest": manifest_to_json(one.manifest), "pages": one.pages} for one in self.books
        ]
        values = {"format": _FORMAT, "created_at": self.created_at, "state": self.state}
        return json.dumps(values | {"books": books}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: bytes, where: str) -> BackupContents:
        """InputError, naming `where`, unless `to_json` of this version wrote it."""
        data = json.loads(text)
        if data["format"] != _FORMAT:
            message = (
                f"{where}: a backup of format {data['format']}, but this version reads {_FORMAT}"
            )
            raise InputError(message)
        books = (
            BackedUpBook(manifest_from_json(one["manifest"], where), tuple(one["pages"]))
            for one in data["books"]
        )
        return cls(data["created_at"], tuple(books), tuple(data["state"]))


class BackupFileWriter:
    """Writes a file in a temporary folder beside `path`, which `finish` renames.

    `discard` deletes the folder. The next backup beside it deletes that of a killed process.
    """

    def __init__(self, path: Path) -> None:
        """Create folder and file, readable by their owner only.

        InputError if that fails, or if `path` is a folder or a device, which must not be replaced.
        """
        if path.exists() and not path.is_file():
            message = f"{path}: is no file that a backup may replace: choose another name"
            raise InputError(message)
        self._path = path
        self._pages = 0
        self._books: list[BackedUpBook] = []
        self._state: list[str] = []
        try:
            self._folder = TemporaryFolder(path.parent, _PREFIX)
            self.scratch = self._folder.path
            self._new = self.scratch / "backup"
            descriptor = os.open(self._new, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            message = f"{path}: cannot be written ({error.strerror}): choose another file"
            raise InputError(message) from error
        self._file = os.fdopen(descriptor, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)

    def add_page(self, points: Sequence[IndexPoint]) -> str:
        """Add points; return the page's name. StorageError if it cannot be written."""
        name = f"points/{self._pages:08d}"
        self._pages += 1
        self._add(name, _packed(points))
        return name

    def add_book(self, manifest: BookManifest, pages: Sequence[str], ledger: Ledger) -> None:
        """Add a book whose points are on these pages. Pages of no book are ignored."""
        lines = "".join(f"{line}\n" for line in to_lines(ledger))
        self._add(_ledger_name(manifest.book), lines.encode())
        self._books.append(BackedUpBook(manifest, tuple(pages)))

    def add_state(self, name: str, source: Path) -> None:
        with _disk_errors(self._new):
            self._zip.write(source, f"state/{name}")
        self._state.append(name)

    def finish(self, created_at: str) -> int:
        """Complete the file and rename it; return its size in bytes. StorageError if that fails."""
        contents = BackupContents(created_at, tuple(self._books), tuple(self._state))
        self._add(_CONTENTS, contents.to_json().encode())
        with _disk_errors(self._new):
            self._zip.comment = bytes(_DIGEST_CHARS)
            self._zip.close()
            size = self._file.tell()
            digest = _digest(self._file, size - _DIGEST_CHARS)
            self._file.seek(size - _DIGEST_CHARS)
            self._file.write(digest.encode())
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._new.replace(self._path)
        self._folder.remove()
        return size

    def discard(self) -> None:
        """Delete what was written. Does nothing after `finish`."""
        with suppress(OSError):
            self._zip.close()
        with suppress(OSError):
            self._file.close()
        self._folder.remove()

    def _add(self, name: str, data: bytes) -> None:
        with _disk_errors(self._new):
            self._zip.writestr(name, data)


class BackupFileReader:
    """Reads a complete backup: `open` has checked the digest of all bytes."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, contents: BackupContents) -> None:
        """`archive` has been checked."""
        self._path = path
        self._zip = archive
        self.contents = contents

    @classmethod
    def open(cls, path: Path, advance: Callable[[int], None]) -> BackupFileReader:
        """Check and open a backup; `advance` is called with the number of bytes of each read.

        InputError if the file is not a backup, or is truncated or changed.
        """
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                wanted = _digest(file, size - _DIGEST_CHARS, advance).encode()
                if file.read() != wanted:
                    message = (
                        f"{path}: not a complete backup: it is truncated, changed or another file; "
                        "restore from another copy"
                    )
                    raise InputError(message)
        except OSError as error:
            message = f"{path}: cannot be read ({error.strerror}): check the path"
            raise InputError(message) from error
        with _bad_backup(path):
            archive = zipfile.ZipFile(path)
            return cls(path, archive, BackupContents.from_json(archive.read(_CONTENTS), str(path)))

    def points(self, page: str) -> list[IndexPoint]:
        with _bad_backup(self._path):
            return _unpacked(self._zip.read(page))

    def ledger(self, book: BookId) -> Ledger:
        name = _ledger_name(book)
        with _bad_backup(self._path):
            lines = self._zip.read(name).decode().split("\n")
        return from_lines(lines, f"{self._path} {name}")

    def extract(self, name: str, target: Path) -> None:
        """Write a state file to `target`. StorageError if the disk fails."""
        with (
            _bad_backup(self._path),
            self._zip.open(f"state/{name}") as source,
            _disk_errors(target),
            target.open("wb") as file,
        ):
            shutil.copyfileobj(source, file, _BLOCK)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        self._zip.close()


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Raise StorageError for an error of the disk while `path` is written."""
    try:
        yield
    except OSError as error:
        message = f"{error.filename or path}: {error.strerror or error}; "
        raise StorageError(message + "check its folder and free space") from error


@contextmanager
def _bad_backup(path: Path) -> Iterator[None]:
    """Raise InputError for any error that reading a damaged or foreign file can cause."""
    try:
        yield
    except RagError:
        raise
    except (
        OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError,
        KeyError, TypeError, ValueError, AttributeError,
    ) as error:  # fmt: skip
        message = f"{path}: not a backup that this version can read ({error}); use another copy"
        raise InputError(message) from error


def _ledger_name(book: BookId) -> str:
    return f"ledger/{book}.jsonl"


def _digest(file: BinaryIO, size: int, advance: Callable[[int], None] = lambda _: None) -> str:
    """SHA-256 of the first `size` bytes, in hex."""
    file.seek(0)
    digest = hashlib.sha256()
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        digest.update(block)
        size -= len(block)
        advance(len(block))
    return digest.hexdigest()


def _packed(points: Sequence[IndexPoint]) -> bytes:
    head = {
        "dimension": len(points[0].dense) if points else 0,
        "terms": [len(one.sparse.indices) for one in points],
        "chunks": [to_payload(one.chunk) for one in points],
    }
    numbers: list[array[float] | array[int]] = [
        *(one.dense for one in points),
        *(array("I", one.sparse.indices) for one in points),
        *(array("f", one.sparse.values) for one in points),
    ]
    text = json.dumps(head, ensure_ascii=False)
    return b"".join([text.encode(), b"\n", *map(_bytes, numbers)])


def _unpacked(data: bytes) -> list[IndexPoint]:
    text, _, rest = data.partition(b"\n")
    head: dict[str, Any] = json.loads(text)
    count, dimension = len(head["terms"]), int(head["dimension"])
    ends = [0, *accumulate(head["terms"])]
    numbers, terms = 4 * count * dimension, 4 * ends[-1]
    if len(rest) != numbers + 2 * terms or len(head["chunks"]) != count:
        message = "a page of points has the wrong length"
        raise ValueError(message)
    dense = _numbers(array("f"), rest[:numbers])
    indices = _numbers(array("I"), rest[numbers : numbers + terms])
    values = _numbers(array("f"), rest[numbers + terms :])
    return [
        IndexPoint(
            from_payload(payload),
            dense[place * dimension : (place + 1) * dimension],
            SparseVector(tuple(indices[start:end]), tuple(values[start:end])),
        )
        for place, (payload, (start, end)) in enumerate(
            zip(head["chunks"], pairwise(ends), strict=True)
        )
    ]


def _bytes(numbers: array[float] | array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _numbers(numbers: array[_Number], data: bytes) -> array[_Number]:
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
