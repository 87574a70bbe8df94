"""A backup as one zip archive.

points/<book>.jsonl   in reading order: payload; dense vector, terms and their weights in base64
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
from tempfile import TemporaryDirectory
from typing import IO

from app.adapters.qdrant.payload import (
    from_payload,
    manifest_from_json,
    manifest_to_json,
    to_payload,
)
from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable, InputError
from app.domain.indexed_book import BookManifest, IndexPoint, Snapshot
from app.domain.ledger import Ledger, from_lines, to_lines
from app.domain.retrieval.query import SparseVector
from app.services.phases import Advance
from app.services.ports import LedgerStore

_PAGE = 256
"""Points that are read at a time."""

_POINTS, _LEDGER, _PAGES = "points/{}.jsonl", "ledger/{}.jsonl", "pages/{}.zip"
_STATE, _BOOKS = "state/", "books.json"


@contextmanager
def writing_backup(path: Path) -> Iterator[NewBackup]:
    """Yield a backup that appears at `path`, for its owner only, when the block ends.

    Until then it is in a folder of its own, which is removed in any case. InputError if it cannot
    be written there.
    """
    try:
        with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            part = Path(folder) / "part"
            part.touch(mode=0o600)
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
                backup = NewBackup(archive, Path(folder))
                yield backup
                archive.writestr(_BOOKS, json.dumps(list(map(manifest_to_json, backup.books))))
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(path)
    except OSError as error:
        reason = error.strerror or error
        message = f"{path}: cannot be written ({reason}): choose another file or free space"
        raise InputError(message) from error


@dataclass(frozen=True, slots=True)
class NewBackup:
    archive: zipfile.ZipFile
    folder: Path
    """For temporary copies."""
    books: list[BookManifest] = field(default_factory=list)
    state: list[str] = field(default_factory=list)

    async def add_book(
        self, snapshot: Snapshot, ledgers: LedgerStore, pages: Path, advance: Advance
    ) -> None:
        """Add a book, with its file of pages if there is one. IndexUnreadable if it lacks points.

        The ledger is read last: an ingest saves it before it publishes, so it has all ids.
        """
        manifest, count = snapshot.manifest, 0
        with self.archive.open(_POINTS.format(manifest.book), "w", force_zip64=True) as member:
            async for page in snapshot.pages:
                member.writelines(map(_line, page))
                count += len(page)
                advance(len(page))
        if count != manifest.chunks:
            message = f"book {manifest.book!r}: chunks are missing, or it was replaced meanwhile"
            raise IndexUnreadable(message)
        lines = "".join(f"{line}\n" for line in to_lines(await ledgers.load(manifest.book)))
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

    def extract_state(self, name: str, folder: str) -> Path:
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
    vectors = point.dense, array("I", point.sparse.indices), array("f", point.sparse.values)
    row = [to_payload(point.chunk), *(b64encode(one).decode() for one in vectors)]
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _point(line: bytes) -> IndexPoint:
    payload, *texts = json.loads(line)
    dense, terms, weights = map(b64decode, texts)
    sparse = SparseVector(tuple(array("I", terms)), tuple(array("f", weights)))
    return IndexPoint(from_payload(payload), array("f", dense), sparse)
