"""A backup as one zip archive.

points/<book>.jsonl   in reading order: the chunk; numbers, little-endian, in base64
ledger/<book>.jsonl   as `links BOOK --ledger` prints it
pages/<book>.zip      the pages that `serve` shows, of a book without a site
state/<name>          files of RAG_HOME
books.json            written last: the manifests of the complete books
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import mkstemp
from typing import IO

from app.adapters.qdrant.payload import (
    from_payload,
    manifest_from_json,
    manifest_to_json,
    to_payload,
)
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, InputError, RagError
from app.domain.indexed_book import BookManifest, IndexPoint, Snapshot
from app.domain.ledger import Ledger, from_lines, to_lines
from app.domain.retrieval.query import SparseVector
from app.services.phases import Advance

_PAGE = 256
"""Points that are read at a time."""

_POINTS, _LEDGER, _PAGES = "points/{}.jsonl", "ledger/{}.jsonl", "pages/{}.zip"
_STATE, _BOOKS = "state/", "books.json"


@contextmanager
def writing_backup(path: Path) -> Iterator[NewBackup]:
    """Yield a backup that appears at `path`, for its owner only, when the block ends.

    Until then it has a name of its own, and is removed if the block fails. InputError if it cannot
    be written there.
    """
    part = None
    try:
        descriptor, part = mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".part")
        with os.fdopen(descriptor, "r+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                backup = NewBackup(archive, path.parent)
                yield backup
                archive.writestr(_BOOKS, json.dumps(list(map(manifest_to_json, backup.books))))
            file.flush()
            os.fsync(file.fileno())
        Path(part).replace(path)
    except OSError as error:
        reason = error.strerror or error
        message = f"{path}: cannot be written ({reason}): choose another file or free space"
        raise InputError(message) from error
    finally:
        if part:
            Path(part).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class NewBackup:
    archive: zipfile.ZipFile
    folder: Path
    """Where the backup will be; also for temporary copies."""
    books: list[BookManifest] = field(default_factory=list)
    state: list[str] = field(default_factory=list)

    async def add_points(self, snapshot: Snapshot, advance: Advance) -> None:
        """IndexUnreadable if points are missing: then the book must not be added."""
        manifest, count = snapshot.manifest, 0
        with self.archive.open(_POINTS.format(manifest.book), "w", force_zip64=True) as member:
            async for page in snapshot.pages:
                member.writelines(map(_line, page))
                count += len(page)
                advance(len(page))
        if count != manifest.chunks:
            message = f"book {manifest.book!r}: chunks are missing, or it was replaced meanwhile"
            raise IndexUnreadable(message)

    def add_book(self, manifest: BookManifest, ledger: Ledger, pages: Path) -> None:
        """Complete a book whose points are added, with its file of pages if there is one."""
        lines = "".join(f"{line}\n" for line in to_lines(ledger))
        self.archive.writestr(_LEDGER.format(manifest.book), lines)
        with suppress(FileNotFoundError):
            self.archive.write(pages, _PAGES.format(manifest.book), zipfile.ZIP_STORED)
        self.books.append(manifest)

    def add_state(self, file: Path) -> None:
        self.archive.write(file, _STATE + file.name)
        self.state.append(file.name)


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup whose bytes were checked."""

    path: Path
    archive: zipfile.ZipFile
    books: Mapping[BookId, BookManifest]

    @property
    def state(self) -> Sequence[str]:
        """The names of the files of RAG_HOME."""
        names = self.archive.namelist()
        return [name.removeprefix(_STATE) for name in names if name.startswith(_STATE)]

    def points(self, book: BookId) -> Iterator[list[IndexPoint]]:
        """Yield the book's points in reading order."""
        with _bad_backup(self.path), self.archive.open(_POINTS.format(book)) as member:
            while lines := list(islice(member, _PAGE)):
                yield list(map(_point, lines))

    def ledger(self, book: BookId) -> Ledger:
        name = _LEDGER.format(book)
        with _bad_backup(self.path):
            lines = self.archive.read(name).decode().split("\n")
        return from_lines(lines, f"{self.path} {name}")

    def open_pages(self, book: BookId) -> IO[bytes] | None:
        name = _PAGES.format(book)
        return self.archive.open(name) if name in self.archive.namelist() else None

    def extract_state(self, name: str, folder: Path) -> Path:
        return Path(self.archive.extract(_STATE + name, folder))


@contextmanager
def reading_backup(path: Path) -> Iterator[Backup]:
    """Check every byte of a backup and open it.

    InputError if the file is not a backup, or is truncated or changed.
    """
    with _bad_backup(path):
        archive = zipfile.ZipFile(path)
    with archive:
        with _bad_backup(path):
            if damaged := archive.testzip():
                raise zipfile.BadZipFile(damaged)
            stored = json.loads(archive.read(_BOOKS))
            manifests = [manifest_from_json(one, str(path)) for one in stored]
        yield Backup(path, archive, {one.book: one for one in manifests})


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


def _line(point: IndexPoint) -> bytes:
    values = {
        "chunk": to_payload(point.chunk),
        "dense": _text(point.dense),
        "terms": _text(array("I", point.sparse.indices)),
        "weights": _text(array("f", point.sparse.values)),
    }
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"


def _point(line: bytes) -> IndexPoint:
    values = json.loads(line)
    terms = array("I", b64decode(values["terms"]))
    weights = array("f", b64decode(values["weights"]))
    sparse = SparseVector(tuple(terms), tuple(weights))
    return IndexPoint(from_payload(values["chunk"]), array("f", b64decode(values["dense"])), sparse)


def _text(numbers: array[float] | array[int]) -> str:
    return b64encode(numbers).decode()
