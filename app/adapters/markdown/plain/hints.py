"""Warnings for an owner who gave a folder that holds more than the book, or another site."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.folder_files import MARKDOWN_SUFFIXES
from app.adapters.markdown.mdbook.site import configs_without_summary
from app.adapters.markdown.site_map import under
from app.domain.document import SourceWarning
from app.domain.languages import LANGUAGES

LANGUAGE_FOLDER = re.compile(r"^[a-z]{2}(?:[-_][A-Za-z]{2,4})?$")
_VITEPRESS = tuple(
    f"{folder}/.vitepress/config.{suffix}"
    for folder in ("docs", "doc", "website", "site")
    for suffix in ("ts", "js", "mts", "mjs")
)
_MOST_NAMES = 4


def hints(book_files: BookFiles, files: Iterable[str]) -> Iterator[SourceWarning]:
    """Yield the warnings for a folder with these files that is read without a table of contents."""
    for config in configs_without_summary(book_files):
        message = "is not used: mdBook needs a SUMMARY.md; the files are read in alphabetical order"
        yield SourceWarning(message, config, 1)
    vitepress = book_files.first("", _VITEPRESS)
    if vitepress is not None:
        folder = folder_of(folder_of(vitepress))
        message = f"the site's pages are in {folder}: give that folder, or all files are read"
        yield SourceWarning(message, vitepress, 1)
    pages = [file for file in files if file.lower().endswith(MARKDOWN_SUFFIXES)]
    for parent, languages in _by_language(pages).items():
        alike = _translations(languages)
        if alike:
            shown = ", ".join(alike[:_MOST_NAMES]) + (", ..." if alike[_MOST_NAMES:] else "")
            message = (
                f"the same pages in {len(alike)} languages ({shown}) are read as one book: give"
                f" the folder of one, such as {under(parent, alike[0])}"
            )
            yield SourceWarning(message, under(parent, alike[0]), 0)


def _by_language(pages: Iterable[str]) -> Mapping[str, Mapping[str, set[str]]]:
    """Return the pages in folders named like languages: folder above -> language -> pages."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for page in pages:
        parts = PurePosixPath(page).parts
        at = next((at for at, name in enumerate(parts[:-1]) if LANGUAGE_FOLDER.match(name)), None)
        if at is not None:
            found["/".join(parts[:at])][parts[at]].add("/".join(parts[at + 1 :]))
    return found


def _translations(languages: Mapping[str, set[str]]) -> list[str]:
    """Return the languages whose pages are mostly those of the first, which is English if any."""
    names = sorted(languages, key=lambda name: (name[:2] != "en", -len(languages[name]), name))
    first = languages[names[0]]
    alike = [name for name in names if 2 * len(languages[name] & first) >= len(languages[name])]
    known = any(name[:2] in LANGUAGES for name in alike)
    return alike if known and len(alike) > 1 else []
