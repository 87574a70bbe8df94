"""Pages that `serve` shows itself, with their images: `<folder>/<book>.zip`."""

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import IO, TypeVar
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from pydantic import TypeAdapter

from app.domain.book_id import BookId
from app.domain.errors import StorageError

_CONTENTS = "contents.json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in the contents of a book."""

    name: str
    """Path of the page below the book's address, not encoded."""
    url: str
    title: str
    chapter: str
    outline: tuple[tuple[str, str], ...]
    """Anchor and title of each of its sections."""


@dataclass(frozen=True, slots=True)
class BookContents:
    """The pages of a book in reading order; there is at least one."""

    title: str
    language: str
    pages: tuple[PageEntry, ...]


_AS_JSON = TypeAdapter(BookContents)


class BookPages:
    """Reads and writes the pages of books; all methods block and raise StorageError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, book: BookId, contents: BookContents, files: Mapping[str, bytes]) -> None:
        """Replace the pages of a book in one step; `files` are articles and images by name."""
        with self._replaced(book) as new, ZipFile(new, "w", ZIP_DEFLATED) as archive:
            for name, content in {**files, _CONTENTS: _AS_JSON.dump_json(contents)}.items():
                archive.writestr(name, content)

    def put(self, book: BookId, saved: IO[bytes] | None) -> None:
        """Replace the pages of a book by its saved file; None: it has none."""
        if saved is None:
            self.remove(book)
            return
        with self._replaced(book) as new, new.open("wb") as file:
            copyfileobj(saved, file)

    @contextmanager
    def _replaced(self, book: BookId) -> Iterator[Path]:
        new = self._folder / f"{book}.{os.getpid()}.new"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            yield new
            new.replace(self.path(book))
        except OSError as error:
            raise StorageError(f"{new}: {error.strerror or error}; check RAG_HOME") from error

    def contents(self, book: BookId) -> BookContents | None:
        """Return the contents of a book; None if it has no pages here."""
        found = self.read(book, _CONTENTS)
        return None if found is None else _AS_JSON.validate_json(found)

    def read(self, book: BookId, name: str) -> bytes | None:
        """Return an article or image; None if the book has none of this name."""
        return self._opened(book, lambda archive: archive.read(name))

    def faults(self, book: BookId) -> list[str]:
        """Read all pages; say what is damaged."""
        try:
            bad = self._opened(book, ZipFile.testzip)
        except StorageError as error:
            return [str(error)]
        return [f"{self.path(book)}: {bad} is damaged: ingest the book again"] if bad else []

    def _opened(self, book: BookId, read: Callable[[ZipFile], T]) -> T | None:
        try:
            with ZipFile(self.path(book)) as archive:
                return read(archive)
        except (FileNotFoundError, KeyError):
            return None
        except (OSError, BadZipFile, zlib.error) as error:
            message = f"the pages of book {book!r} cannot be read ({error}): ingest it again"
            raise StorageError(message) from error

    def remove(self, book: BookId) -> None:
        try:
            self.path(book).unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{self.path(book)}: {error.strerror}; check RAG_HOME") from error

    def path(self, book: BookId) -> Path:
        """Return the file with all pages of a book, which may be missing."""
        return self._folder / f"{book}.zip"
