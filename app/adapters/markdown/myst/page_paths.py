"""mystmd's order of files, and the paths of its pages.

https://github.com/jupyter-book/mystmd: `fileInfo.ts`, `fromTOC.ts`, `fromPath.ts` of `myst-cli`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

from app.adapters.markdown.book_files import folder_of

_PAGES = (".md", ".ipynb", ".tex", ".myst.json")
_INDEXES = ("index", "readme", "main")
_YEAR_OR_LONG = re.compile(r"[12]\d{3}(?!\d)|\d{5}")
_RUNS = re.compile(r"\d+|\D+")

_Natural: TypeAlias = tuple[tuple[int, int, str], ...]


def paths_of(listed: Sequence[str], files: Iterable[str], folders: bool) -> dict[str, str]:
    """Return the paths of a site's pages: those in its table of contents, else of all its files.

    The first page is the site's root. The second page with a slug has the slug and `-1`, the third
    `-2`. `folders`: whether the site keeps the pages' folders.
    """
    if listed:
        return _numbered(listed, folders, "index")
    pages = (file for file in files if file.lower().endswith(_PAGES))
    ordered = sorted(pages, key=by_folder)
    return _numbered(ordered, folders, slug_of(ordered[0], folders)) if ordered else {}


def _numbered(files: Iterable[str], folders: bool, root: str) -> dict[str, str]:
    """Return the path of each file; `root` is the slug of the first."""
    paths: dict[str, str] = {}
    used = {root: 1}
    for file in files:
        if not paths:
            paths[file] = ""
            continue
        slug = slug_of(file, folders)
        count = used.get(slug, 0)
        used[slug] = count + 1
        paths.setdefault(file, f"{slug}-{count}" if count else slug)
    return paths


def slug_of(file: str, folders: bool) -> str:
    """Return the slug of a page's file, without a number; an index page has that of its folder."""
    name = PurePosixPath(file).name.removesuffix(".myst.json")
    names = [*(PurePosixPath(folder_of(file)).parts if folders else ()), PurePosixPath(name).stem]
    return "/".join(map(_name_slug, names)).removesuffix("/index")


def _name_slug(name: str) -> str:
    """Return a name in lower case and ASCII, without a leading number that is no year."""
    lower = name.lower()
    plain = lower if _YEAR_OR_LONG.match(lower) else lower.lstrip("0123456789_.-") or lower
    slug = re.sub(r"[^a-z0-9]+", "-", plain.replace("&", "-and-")).strip("-")[:50]
    return slug or re.sub(r"\W+|_", "-", plain).strip("-")


def by_folder(file: str) -> tuple[tuple[int, int, _Natural], ...]:
    """Sort the files of a site without table of contents: those of a folder before its folders."""
    *folders, name = file.split("/")
    above = ((1, 0, _natural(folder)) for folder in folders)
    return (*above, (0, _index(name), _natural(name)))


def by_path(file: str) -> tuple[_Natural, int, _Natural]:
    """Sort the files that a pattern matches: by folder, its index first."""
    folder, _, name = file.rpartition("/")
    return _natural(folder), _index(name), _natural(name)


def _index(name: str) -> int:
    stem = PurePosixPath(name).stem.lower()
    return _INDEXES.index(stem) if stem in _INDEXES else len(_INDEXES)


def _natural(text: str) -> _Natural:
    """Sort the numbers in names by their values."""
    runs = _RUNS.findall(text.lower())
    return tuple(
        (0, int(run), "") if run.isdecimal() and len(run) < 10 else (1, 0, run) for run in runs
    )
