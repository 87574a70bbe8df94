"""A backup as one zip archive.

points/<book>.jsonl   in reading order: the chunk; numbers, little-endian, in base64
ledger/<book>.jsonl   as `links BOOK --ledger` prints it
pages/<book>.zip      the pages that `serve` shows, of a book without a site
state/<name>          files of RAG_HOME
backup.json           written last: the manifests of the complete books, the names in state/
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp
from typing import IO

from app.adapters.qdrant.payload import (
    from_payload,
    manifest_from_json,
    manifest_to_json,
    to_payload,
)
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, InputError, RagError, StorageError
from app.domain.indexed_book import BookManifest, IndexPoint, Snapshot
from app.domain.ledger import Ledger, from_lines, to_lines
from app.domain.retrieval.query import SparseVector
from app.services.phases import Advance
from app.services.ports import LedgerStore

_PAGE = 256
"""Points that are read at a time."""

_CONTENTS = "backup.json"


@contextmanager
def writing_backup(path: Path) -> Iterator[BackupWriter]:
    """Yield a backup that appears at `path`, for its owner only, when the block ends.

    Until then it has a name of its own, and is removed if the block fails. InputError if `path`
    cannot be written; StorageError if the disk fails.
    """
    try:
        descriptor, name = mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".part")
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}): choose another file"
        raise InputError(message) from error
    part = Path(name)
    try:
        with os.fdopen(descriptor, "r+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                backup = BackupWriter(archive, path.parent)
                yield backup
                contents = {
                    "books": list(map(manifest_to_json, backup.books)),
                    "state": sorted(backup.state),
                }
                archive.writestr(_CONTENTS, json.dumps(contents))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        message = f"{path}: {error.strerror or error}; check its folder and free space"
        raise StorageError(message) from error
    finally:
        part.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class BackupWriter:
    archive: zipfile.ZipFile
    folder: Path
    """For a temporary copy of each state file."""
    books: list[BookManifest] = field(default_factory=list)
    state: list[str] = field(default_factory=list)

    async def add_book(
        self, snapshot: Snapshot, ledgers: LedgerStore, pages: Path, advance: Advance
    ) -> None:
        """Add a book and its file of pages, if there is one.

        IndexUnreadable, and the book is left out, if points are missing.
        """
        manifest, count = snapshot.manifest, 0
        with self.archive.open(_points_of(manifest.book), "w", force_zip64=True) as member:
            async for page in snapshot.pages:
                member.writelines(map(_line, page))
                count += len(page)
                advance(len(page))
        if count != manifest.chunks:
            message = f"book {manifest.book!r}: chunks are missing, or it was replaced meanwhile"
            raise IndexUnreadable(message)
        # An ingest saves the ledger before it publishes, so this one has all ids.
        lines = to_lines(await ledgers.load(manifest.book))
        self.archive.writestr(_ledger_of(manifest.book), "".join(f"{line}\n" for line in lines))
        with suppress(FileNotFoundError):
            self.archive.write(pages, _pages_of(manifest.book), zipfile.ZIP_STORED)
        self.books.append(manifest)

    def add_state(self, name: str, copy: Callable[[Path], None]) -> None:
        """Add a state file, which `copy` writes to a path."""
        with TemporaryDirectory(prefix=".textbook-rag-", dir=self.folder) as folder:
            target = Path(folder) / name
            copy(target)
            self.archive.write(target, _state_of(name))
        self.state.append(name)


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup whose bytes were checked."""

    path: Path
    archive: zipfile.ZipFile
    books: Mapping[BookId, BookManifest]
    state: Sequence[str]

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

    def open_pages(self, book: BookId) -> IO[bytes] | None:
        name = _pages_of(book)
        return self.archive.open(name) if name in self.archive.namelist() else None

    def open_state(self, name: str) -> IO[bytes]:
        return self.archive.open(_state_of(name))


@contextmanager
def reading_backup(path: Path) -> Iterator[Backup]:
    """Check every byte of a backup and open it.

    InputError if the file is not a backup, or is truncated or changed.
    """
    with _bad_backup(path):
        archive = zipfile.ZipFile(path)
    with archive:
        with _bad_backup(path):
            backup = _checked(path, archive)
        yield backup


def _checked(path: Path, archive: zipfile.ZipFile) -> Backup:
    if damaged := archive.testzip():
        raise zipfile.BadZipFile(damaged)
    contents = json.loads(archive.read(_CONTENTS))
    manifests = [manifest_from_json(one, str(path)) for one in contents["books"]]
    backup = Backup(path, archive, {one.book: one for one in manifests}, contents["state"])
    members = [name(book) for book in backup.books for name in (_points_of, _ledger_of)]
    if missing := {*members, *map(_state_of, backup.state)}.difference(archive.namelist()):
        raise zipfile.BadZipFile(", ".join(sorted(missing)))
    return backup


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


def _pages_of(book: BookId) -> str:
    return f"pages/{book}.zip"


def _state_of(name: str) -> str:
    return f"state/{name}"


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
