"""The files of a folder of Markdown: those outside it are refused, and large ones."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from posixpath import join, normpath

from app.adapters.reading.notebook import is_notebook, markdown_of
from app.adapters.reading.yaml_files import read_yaml
from app.domain.document import SourceWarning
from app.domain.errors import BookError, FileRefused
from app.domain.reading_budget import BUDGET, check_size, read_toml
from app.services.safe_paths import IRREGULAR, OUTSIDE, decoded, file_inside, shown_name

PAGE_SUFFIXES = (".md", ".mdx", ".markdown", ".mdown", ".ipynb")
_SKIPPED = frozenset({"node_modules", "site-packages", "vendor", "__pycache__"})
_OUTPUT = frozenset({"build", "dist", "book", "public", "site"})
"""Folders into which generators write, besides those that begin with `_`."""
_FRONT_MATTER = re.compile(
    r"\ufeff?(?P<mark>---|\+\+\+)[ \t]*\r?\n(?P<body>.*?)^(?:(?P=mark)|\.\.\.)[ \t]*\r?$\n?",
    re.DOTALL | re.MULTILINE,
)
_KEY = re.compile(r"^([A-Za-z_][\w-]*):[ \t]*(.*)$", re.MULTILINE)
_DIGITS = re.compile(r"\d+")
_FIRST = frozenset({"index", "_index", "readme", "intro"})
_NO_PAGES = frozenset({"SUMMARY.md", "LICENSE.md", "AGENTS.md", "CLAUDE.md"})
"""Files for a generator, lawyers and agents. In lower case, a chapter may have such a name."""


class SourceFiles:
    """Reads the files of a folder; every name is relative to it, with forward slashes."""

    def __init__(self, root: Path) -> None:
        self.root, self._resolved = root, root.resolve()
        self.warnings: list[SourceWarning] = []
        """Of files that are not read, and why."""
        self._texts: dict[str, str] = {}

    def has(self, name: str) -> bool:
        """Whether the folder holds this file, once links are followed."""
        try:
            file_inside(self._resolved, name)
        except (OSError, BookError, ValueError):
            return False
        return True

    def has_folder(self, name: str) -> bool:
        try:
            found = (self._resolved / name).resolve()
            return found.is_dir() and found.is_relative_to(self._resolved)
        except (OSError, ValueError):
            return False

    def names(self, folder: str = "") -> Iterator[str]:
        """Yield the files below a folder, but hidden ones, dependencies and build output."""
        for at, folders, files in os.walk(self._resolved / folder, onerror=_unlistable):
            below = Path(at).relative_to(self._resolved).as_posix()
            folders[:] = sorted(one for one in folders if _is_walked(at, one))
            for link in [one for one in folders if Path(at, one).is_symlink()]:
                self.refuse(normpath(join(below, link)), "is a linked folder: not read")
                folders.remove(link)
            for file in sorted(files):
                if not file.startswith("."):
                    yield file if below == "." else f"{below}/{file}"

    def named(self, ending: str) -> str:
        """Return the only file whose path ends like this; the path itself if none or several do.

        So the folders from which a generator includes files need not be known.
        """
        same = self._by_last_name.get(ending.rpartition("/")[2], ())
        paths = [one for one in same if f"/{one}".endswith(f"/{ending}")]
        return paths[0] if len(paths) == 1 else ending

    @cached_property
    def _by_last_name(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self._resolved.rglob("*"):
            found[path.name].append(path.relative_to(self._resolved).as_posix())
        return found

    def refuse(self, name: str, reason: str) -> None:
        warning = SourceWarning(reason, shown_name(name), 0)
        if warning not in self.warnings:
            self.warnings.append(warning)

    def text(self, name: str) -> str:
        """Return a page's text, of a notebook its Markdown.

        FileRefused, with file and line, if it is not UTF-8, too large or a broken notebook;
        BookError if it is missing or outside the folder.
        """
        if name not in self._texts:
            read = markdown_of if is_notebook(name) else decoded
            self._texts[name] = read(self.data(name), name)
        return self._texts[name]

    def settings(self, name: str) -> str:
        """Return the text of a settings file, which has a lower size limit than a page."""
        return decoded(self.data(name, BUDGET.settings), name)

    def data(self, name: str, most: int = BUDGET.size) -> bytes:
        """Return a file's bytes. BookError if it is missing, outside the folder or too large."""
        try:
            path = file_inside(self._resolved, name)
            check_size(path.stat().st_size, most, name)
            return path.read_bytes()
        except OSError as error:
            raise BookError(f"cannot be read: {error.strerror}", name) from error


def by_numbers(name: str) -> list[tuple[bool, str]]:
    """Sort key: by folders, a folder's index first, also "index.ja", numbers by their value."""
    parts = PurePosixPath(name.lower()).with_suffix("").parts
    return [
        (one.partition(".")[0] not in _FIRST, _DIGITS.sub(lambda number: number[0].zfill(9), one))
        for one in parts
    ]


def _unlistable(error: OSError) -> None:
    raise BookError(f"cannot be listed: {error.strerror}", str(error.filename)) from error


def _is_walked(at: str, name: str) -> bool:
    """Whether pages may be below a folder: a folder `build` of Markdown is no build output."""
    if (name.startswith((".", "_")) and name != "_") or name in _SKIPPED:
        return False
    return name not in _OUTPUT or not Path(at, name, "index.html").exists()


def page_names(files: SourceFiles, folder: str) -> list[str]:
    """Return the pages below `folder`, relative to it, ordered by `by_numbers`: no drafts, and no
    file whose name begins with `_`, which other pages include, but Hugo's `_index.md`.

    A notebook beside a Markdown file of its name is left out: Jupytext keeps such pairs equal.
    """
    found = {name for name in files.names(folder) if name.lower().endswith(PAGE_SUFFIXES)}
    found -= {f"{name.rpartition('.')[0]}.ipynb" for name in found if not is_notebook(name)}
    below = f"{folder}/" if folder else ""
    pages = (name.removeprefix(below) for name in sorted(found) if _is_page(files, name))
    return sorted(pages, key=by_numbers)


def _is_page(files: SourceFiles, name: str) -> bool:
    last = name.rpartition("/")[2]
    is_part = last.startswith("_") and last != "_index.md"
    if is_part or last in _NO_PAGES or name.lower() == "summary.md":
        return False
    if shown_name(name) != name:
        files.refuse(name, "has a name that is not UTF-8: not read")
        return False
    if not files.has(name):
        files.refuse(name, OUTSIDE if (files.root / name).exists() else IRREGULAR)
        return False
    return not front_matter_of(files, name).get("draft")


def front_matter_of(files: SourceFiles, name: str) -> Mapping[str, object]:
    """Return a page's front matter; {} if it has none or cannot be read."""
    try:
        return front_matter(files.text(name), name)[0]
    except BookError:
        return {}


def front_matter(text: str, file: str) -> tuple[Mapping[str, object], int]:
    """Return the front matter, YAML or TOML, and the offset of the text behind it.

    A byte order mark is no text.
    """
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}, int(text.startswith("\ufeff"))
    body, is_toml = found["body"], found["mark"] == "+++"
    loaded: object
    try:
        loaded = read_toml(body, file) if is_toml else read_yaml(body, file, 2) or {}
    except FileRefused:
        raise
    except BookError:  # its lines are read as lenient generators do
        loaded = {key: value.strip().strip("'\"") for key, value in _KEY.findall(body)} or None
    if not isinstance(loaded, dict):
        return {}, 0
    return {str(key): value for key, value in loaded.items()}, found.end()
