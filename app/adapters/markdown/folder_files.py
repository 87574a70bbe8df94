"""The files of a book's folder: all but hidden files, dependencies and build output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from app.adapters.markdown.book_files import BookFiles
from app.domain.errors import BookError
from app.domain.notebooks import is_notebook
from app.services.safe_paths import IRREGULAR, shown_name

MARKDOWN_SUFFIXES = (".md", ".mdx", ".markdown", ".mdown")
PAGE_SUFFIXES = (*MARKDOWN_SUFFIXES, ".ipynb")
_SKIPPED_FOLDERS = frozenset({"node_modules", "_build", "site-packages", "__pycache__", "_site"})
_OUTPUT_FOLDERS = frozenset({"build", "dist", "book"})
_OUTPUT_FILES = frozenset({"index.html", "package.json"})

LEADS_NOWHERE = "is a link that leads nowhere: not read"
NOT_UTF8 = "has a name that is not UTF-8: not read"


def page_files(
    book_files: BookFiles, folder: str = "", suffixes: tuple[str, ...] = MARKDOWN_SUFFIXES
) -> list[str]:
    """Return the pages' files below `folder`, relative to the root, sorted; see `pages_among`."""
    return sorted(pages_among(walk(book_files, folder), suffixes))


def pages_among(files: Iterable[str], suffixes: tuple[str, ...]) -> set[str]:
    """Return the files with these suffixes.

    A notebook beside a Markdown file of its name is left out: Jupytext keeps such pairs equal.
    """
    found = {file for file in files if file.lower().endswith(suffixes)}
    pairs = {f"{file.rpartition('.')[0]}.ipynb" for file in found if not is_notebook(file)}
    return found - pairs


def walk(book_files: BookFiles, folder: str = "") -> Iterator[str]:
    """Yield every file below `folder` except hidden files, dependencies and build output.

    Symbolic links to files are followed if they stay in the book. Links to folders are not, so no
    file comes twice. Refused files are recorded in the book_files.
    """
    if not book_files.has_folder(folder):
        return
    stack = [book_files.root / folder if folder else book_files.root]
    while stack:
        for entry in _entries(stack.pop()):
            name = entry.relative_to(book_files.root).as_posix()
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                if not _is_skipped(entry) and _is_walked(book_files, entry, name):
                    stack.append(entry)
            elif _is_read(book_files, entry, name):
                yield name


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise BookError(f"cannot be listed: {error.strerror}", str(folder)) from error


def _is_skipped(folder: Path) -> bool:
    """Whether the folder has dependencies or build output: a folder `build` may also have pages."""
    if folder.name not in _OUTPUT_FOLDERS or folder.is_symlink():
        return folder.name in _SKIPPED_FOLDERS | _OUTPUT_FOLDERS
    try:
        names = {entry.name.lower() for entry in folder.iterdir()}
    except OSError:
        return True
    return not _OUTPUT_FILES.isdisjoint(names) or not any(
        name.endswith(PAGE_SUFFIXES) for name in names
    )


def _is_walked(book_files: BookFiles, folder: Path, name: str) -> bool:
    if folder.is_symlink():
        book_files.has_folder(name)  # records a link that leads out of the book
        return False
    if shown_name(name) != name:
        book_files.refuse(name, NOT_UTF8)
        return False
    return True


def _is_read(book_files: BookFiles, file: Path, name: str) -> bool:
    if file.is_file() and shown_name(name) == name:
        return not file.is_symlink() or book_files.locate("", name) is not None
    if name.lower().endswith(PAGE_SUFFIXES):
        nowhere = file.is_symlink() and not file.exists()
        book_files.refuse(
            name, NOT_UTF8 if file.is_file() else LEADS_NOWHERE if nowhere else IRREGULAR
        )
    return False
