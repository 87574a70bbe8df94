"""The files of a book's folder, and includes: files whose text becomes part of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from app.adapters.markdown.notebook import markdown_of
from app.domain.document import SourceWarning
from app.domain.errors import BookError, FileRefused
from app.domain.notebooks import is_notebook
from app.domain.reading_budget import BUDGET, check_size
from app.services.safe_paths import OUTSIDE, file_inside, shown_name

MAX_DEPTH = 10
"""mdBook's own limit on nested includes."""

Warn = Callable[[str, int], None]
"""`warn(message, position)`."""


class Library:
    """The files of a book's folder, read on demand. Files outside the folder are refused.

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


_NEVER = re.compile(r"(?!)")
_URL = re.compile(r"https?://[^/\s]*+[^:\s]*+")
"""A URL that is included; a colon and lines or the name of a section may follow."""
_RANGE = r"(?:\d{1,9}:?|(?:\d{1,9})?:(?:\d{1,9})?)"
_RANGES = re.compile(rf"{_RANGE}(?:,{_RANGE}){{0,99}}", re.A)
"""Line numbers and ranges of lines."""
_SECTION_MARKS = (
    re.compile(r"ANCHOR:\s*(?P<name>[\w-]+)"),
    re.compile(r"ANCHOR_END:\s*(?P<name>[\w-]+)"),
)


@dataclass(frozen=True, slots=True)
class IncludeStyle:
    """How a site generator writes an include of text."""

    begins: tuple[str, ...] = ()
    """Every directive inside text contains one of these; empty if text has no directives."""
    directive: re.Pattern[str] = _NEVER
    """A directive inside text, with the groups `argument` and `escape`."""
    rewrite: Callable[[str], str] | None = None
    """Rewrites the other kinds of directives as those that `directive` matches."""
    sections: tuple[re.Pattern[str], re.Pattern[str]] = _SECTION_MARKS
    """The marks that begin and end a section of an included file, with the group `name`."""
    bases: tuple[str, ...] = ()
    """The folders or files that paths are relative to; if empty, the including file's folder."""
    keeps_unresolved: bool = False
    """Whether the page shows an unresolvable directive as written."""


NO_DIRECTIVES = IncludeStyle()


@dataclass(slots=True)
class Included:
    """Number and size of a page's includes so far, nested includes counted."""

    includes: int = 0
    characters: int = 0

    def add(self, text: str, path: str) -> None:
        """Count an include. FileRefused if the page exceeds its budget."""
        self.includes += 1
        self.characters += len(text)
        if self.includes > BUDGET.includes or self.characters > BUDGET.included:
            message = (
                f"one include too many: a page may include at most {BUDGET.includes:,} "
                f"texts and {BUDGET.included:,} characters; split the page"
            )
            raise FileRefused(message, path)


class TextIncludes:
    """Expands include directives in verbatim text. Nested includes are followed, cycles cut."""

    def __init__(
        self, library: Library, style: IncludeStyle, included: Included | None = None
    ) -> None:
        self._library = library
        self._style = style
        self._included = included or Included()

    def expand(self, text: str, file: str, warn: Warn) -> tuple[str, str]:
        """Replace the directives in `text`; return it and the first file included.

        `warn(message, position)` gets the directive's position in `text`. A directive that cannot
        be resolved is kept or dropped as the style says; one that closes a cycle is dropped.
        """
        included: list[str] = []
        expanded = self._expand(text, file, (file,), warn, included)
        return expanded, included[0] if included else ""

    def _expand(
        self, text: str, file: str, chain: tuple[str, ...], warn: Warn, included: list[str]
    ) -> str:
        def replace(match: re.Match[str]) -> str:
            if match["escape"]:
                return match.group()[len(match["escape"]) :]

            def warn_here(message: str, _: int = 0) -> None:
                warn(message, match.start())

            path, chosen = self.section(match["argument"], file, warn_here)
            if not path:
                return match.group() if self._style.keeps_unresolved else ""
            if path in chain or len(chain) > MAX_DEPTH:
                warn_here(f"include of {path} forms a cycle: {' -> '.join((*chain, path))}")
                return ""
            included.append(path)
            return self._expand(chosen, path, (*chain, path), warn_here, included)

        if self._style.rewrite is not None:
            text = self._style.rewrite(text)
        return self._style.directive.sub(replace, text)

    def section(self, argument: str, file: str, warn: Warn) -> tuple[str, str]:
        """Return the path and text that an include's argument names; ("", "") if there is none."""
        words = argument.split()
        if url := _URL.match(argument.lstrip()):
            warn(f"included text of another site is not fetched: {url.group()}", 0)
            return "", ""
        target, _, selector = words[0].partition(":") if words else ("", "", "")
        path = self._located(target, file)
        if path is None:
            refusals = (self._library.refusal(base, target) for base in self._bases(file))
            warn(not_included(target, next(filter(None, refusals), "")), 0)
            return "", ""
        text = self._library.text(path)
        if text is None:
            warn(f"included file is not UTF-8 text: {target}", 0)
            return "", ""
        written = text.splitlines()
        # Selecting lines reads all of them.
        self._included.characters += len(written)
        lines = select_lines(written, selector, self._style.sections)
        if lines is None:
            warn(f"included file {target} has no section {selector}", 0)
            return "", ""
        chosen = "\n".join(lines)
        self._included.add(chosen, path)
        return path, chosen

    def _bases(self, file: str) -> Sequence[str]:
        return self._style.bases or (folder_of(file),)

    def _located(self, target: str, file: str) -> str | None:
        for base in self._bases(file):
            found = self._library.locate(base, target)
            if found is None and base.rpartition("/")[2] == target:
                found = self._library.locate("", base)
            if found is not None:
                return found
        return None


class FilePart(NamedTuple):
    """A part of a file that a code block shows."""

    target: str
    choose: Callable[[list[str]], list[str]]
    """The file's lines -> those that are shown."""


def not_included(target: str, refusal: str) -> str:
    """Return the warning for a file that is missing or refused."""
    return f"included file {target} {refusal}" if refusal else f"included file not found: {target}"


def is_number(text: str) -> bool:
    """Whether a selector's text is a line number."""
    return text.isdecimal() and len(text) < 10


def select_lines(
    lines: list[str], selector: str, marks: tuple[re.Pattern[str], re.Pattern[str]]
) -> list[str] | None:
    """Return the lines that `N`, `N:`, `:M`, `N:M`, several of these, or a section's name selects.

    Lines count from 1, both ends included. None if there is no such section.
    """
    if not selector:
        return lines
    if not _RANGES.fullmatch(selector):
        return _section_lines(lines, selector, *marks)
    chosen: list[str] = []
    for part in selector.split(","):
        first, colon, last = part.partition(":")
        start = max(int(first) - 1, 0) if first else 0
        stop = int(last) if last else len(lines)
        chosen += lines[start : stop if colon else start + 1]
    return chosen


def _section_lines(
    lines: list[str], name: str, begin: re.Pattern[str], finish: re.Pattern[str]
) -> list[str] | None:
    """Return the lines of a section without those that mark sections, as mdBook does."""
    chosen: list[str] = []
    found = inside = False
    for line in lines:
        if ended := finish.search(line):
            inside = inside and ended["name"] != name
        elif begun := begin.search(line):
            if begun["name"] == name:
                found = inside = True
        elif inside:
            chosen.append(line)
    return chosen if found else None
