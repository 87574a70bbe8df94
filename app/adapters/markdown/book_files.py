"""The files of a book's folder, read on demand."""

from __future__ import annotations

from collections.abc import Iterable
from os.path import isdir, isfile
from pathlib import Path
from posixpath import normpath

from app.adapters.markdown.notebook import markdown_of
from app.domain.document import SourceWarning
from app.domain.errors import BookError, FileRefused
from app.domain.notebooks import is_notebook
from app.domain.reading_budget import BUDGET, check_size
from app.services.safe_paths import OUTSIDE, file_inside, shown_name


class BookFiles:
    """Locates and reads the files of a book; those outside its folder are refused.

    All reading of a book's files goes through this class. Without a folder it is empty.
    """

    def __init__(self, root: Path | None) -> None:
        self.root = root or Path()
        self._base = str(self.root)
        self._resolved = root.resolve() if root else None
        self._texts: dict[str, str | None] = {}
        self._found: dict[str, bool] = {}
        self._refused: dict[str, str] = {}
        self._reported: set[str] = set()

    def locate(self, base: str, target: str) -> str | None:
        """Return the path of `target` relative to the root; None if the book has no such file.

        `target` is relative to the folder `base`, or to the root if it begins with a slash.
        """
        joined = _normal(target if target.startswith("/") else f"{base}/{target}")
        if joined is None or self._resolved is None:
            return None
        if joined not in self._found:
            self._found[joined] = self._holds(joined)
        return joined if self._found[joined] else None

    def first(self, base: str, targets: Iterable[str]) -> str | None:
        """Return the path, as of `locate`, of the first of these files that the book has."""
        found = (self.locate(base, target) for target in targets)
        return next(filter(None, found), None)

    def _holds(self, file: str) -> bool:
        """Whether this is a file inside the book's folder once symbolic links are resolved."""
        # First the cheap test: a book may name thousands of missing files.
        if not isfile(f"{self._base}/{file}"):  # noqa: PTH113 - takes a fourth of the time
            return False
        try:
            self.path(file)
        except BookError:
            self.refuse(file, OUTSIDE)
            return False
        except OSError:
            return False
        return True

    def path(self, file: str) -> Path:
        """Return the file's path. FileNotFoundError if missing; BookError if outside the folder."""
        if self._resolved is None:
            raise FileNotFoundError(2, "No such file", file)
        return file_inside(self._resolved, file)

    def has_folder(self, folder: str) -> bool:
        """Whether the book has this folder."""
        path = self.root / folder
        # `Path.is_dir` raises OSError if a configured name is too long.
        if self._resolved is None or not isdir(path):  # noqa: PTH112
            return False
        if not path.resolve().is_relative_to(self._resolved):
            self.refuse(folder, OUTSIDE)
            return False
        return True

    def refuse(self, file: str, reason: str) -> None:
        """Record why an existing file or folder is not read, for a warning."""
        self._refused.setdefault(file, reason)

    def refusal(self, base: str, target: str) -> str:
        """Return why `target` was refused; "" if it is only missing.

        The caller reports the reason; `refusals` then omits it.
        """
        joined = _normal(target if target.startswith("/") else f"{base}/{target}")
        if joined is None:
            return OUTSIDE
        self._reported.add(joined)
        return self._refused.get(joined, "")

    def refusals(self) -> list[SourceWarning]:
        """Return a warning for each refused file that `refusal` has not returned."""
        return [
            SourceWarning(reason, shown_name(file), 0)
            for file, reason in self._refused.items()
            if file not in self._reported
        ]

    def text(self, file: str) -> str | None:
        """Return a file's text, of a notebook its Markdown; None if it is not UTF-8.

        FileRefused if the file is too large, or is to be a notebook and is none.
        """
        if self._resolved is None:
            return None
        if file not in self._texts:
            try:
                data = self.data(file)
                is_text = not is_notebook(file)
                self._texts[file] = data.decode("utf-8") if is_text else markdown_of(data, file)
            except FileRefused:
                raise
            except (BookError, UnicodeDecodeError):
                self._texts[file] = None
        return self._texts[file]

    def require(self, file: str) -> str:
        """Return a page's text, of a notebook its Markdown.

        BookError if missing or outside; FileRefused if not UTF-8, or no notebook.
        """
        data = self.data(file)
        if is_notebook(file):
            return markdown_of(data, file)
        try:
            return _decode(data, file)
        except BookError as error:
            raise FileRefused(error.problem, file, error.line) from error

    def settings(self, file: str) -> str:
        """Return the text of a settings file, which has a lower size limit than a page."""
        return _decode(self.data(file, BUDGET.settings), file)

    def data(self, file: str, most: int = BUDGET.size) -> bytes:
        """Return a file's bytes. BookError if it is missing, outside the folder or too large."""
        try:
            path = self.path(file)
            remedy = "clear its outputs" if is_notebook(file) else "split it"
            check_size(path.stat().st_size, most, file, remedy)
            return path.read_bytes()
        except OSError as error:
            raise BookError(f"cannot be read: {error.strerror}", file) from error


def _decode(data: bytes, file: str) -> str:
    """Decode UTF-8 strictly. BookError with file and line of the first bad byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 (byte 0x{data[error.start]:02x}); save the file as UTF-8"
        raise BookError(message, file, line) from error


def _normal(path: str) -> str | None:
    """Return a path from the root without `.` and `..`; None if it is no file inside."""
    normal = normpath(path.lstrip("/"))
    return None if normal.split("/")[0] in (".", "..") or "\0" in path else normal


def folder_of(file: str) -> str:
    """Return the folder part of a relative path; "" at the top."""
    return file.rpartition("/")[0]
