"""Hashes of a book's folder and of this program, to detect that an ingest would change nothing.

`FileLastRunStore` stores those of each book's last ingest.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from app.domain.book_id import BookId
from app.domain.errors import BookError
from app.domain.reading_budget import BUDGET
from app.services.safe_paths import file_inside
from app.services.threads import in_thread

_PROGRAM = Path(__file__).resolve().parent.parent

_NEVER_READ = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})
_MEDIA = frozenset(
    ".avif .bmp .gif .gz .ico .jpeg .jpg .mov .mp3 .mp4 .ogg .otf .pdf .png .tif .tiff .ttf .wav "
    ".webm .webp .woff .woff2 .zip".split()
)
"""Suffixes of files whose content is not indexed; only their names and sizes are hashed."""


def folder_fingerprint(folder: Path, state: Path) -> str:
    """Hash of the folder's name and of the names, sizes and bytes of all files below it.

    The bytes are left out of files that are too large to be read by an ingest. "" if `folder` is a
    file or something cannot be read. `state`, the folder of this program's
    state, is left out if it is inside.
    """
    if not folder.is_dir():
        return ""
    book = folder.resolve()
    digest = hashlib.sha256(book.name.encode(errors="surrogateescape"))
    try:
        for name, path in _files(folder, state.resolve()):
            digest.update(f"\0{name}\0".encode(errors="surrogateescape"))
            if not _is_inside(book, name):
                continue
            size = path.stat().st_size
            if path.suffix.lower() in _MEDIA or size > BUDGET.size:
                digest.update(str(size).encode())
                continue
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError:
        return ""
    return digest.hexdigest()


def _is_inside(book: Path, name: str) -> bool:
    """Whether the file is inside the book and not a link to a file outside."""
    try:
        file_inside(book, name)
    except BookError:
        return False
    return True


def _files(folder: Path, state: Path) -> Iterator[tuple[str, Path]]:
    """Every file with its path relative to the folder, in a fixed order; links are not followed."""
    for root, names, files in os.walk(folder):
        here = Path(root)
        names[:] = sorted(
            name for name in names if name not in _NEVER_READ and (here / name).resolve() != state
        )
        for name in sorted(files):
            path = here / name
            if path.is_file():
                yield path.relative_to(folder).as_posix(), path


@cache
def program_fingerprint() -> str:
    """Hash of this program's code and of the names and versions of all installed packages."""
    digest = hashlib.sha256()
    for path in sorted(_PROGRAM.rglob("*.py")):
        digest.update(path.read_bytes())
    packages = {name.name for folder in sys.path for name in Path(folder).glob("*.dist-info")}
    digest.update("\n".join(sorted(packages)).encode())
    return digest.hexdigest()


_log = logging.getLogger(__name__)


class FileLastRunStore:
    """`LastRunStore` in `<folder>/<book>.json`. A lost or damaged file costs one full run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @in_thread
    def recall(self, book: BookId) -> str:
        try:
            return (self._folder / f"{book}.json").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    @in_thread
    def remember(self, book: BookId, text: str) -> None:
        new = self._folder / f"{book}.{os.getpid()}.new"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            new.write_text(text, "utf-8")
            new.replace(self._folder / f"{book}.json")
        except OSError as error:
            _log.warning("ingest.not_remembered", extra={"book": book, "reason": str(error)})
