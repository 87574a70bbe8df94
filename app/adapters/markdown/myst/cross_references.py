"""Resolves MyST's cross-references: titles and numbers of other pages, authors of cited works.

Numbers are Sphinx's with `numfig`: pages and sections by the numbered table of contents; figures,
tables, listings, formulas and proofs each from 1 in every chapter. Without, formulas are numbered
on each page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from posixpath import normpath
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.folder_files import PAGE_SUFFIXES, page_files
from app.adapters.markdown.myst.bibtex import CitedWork, read_bibliography
from app.adapters.markdown.myst.page_targets import (
    EQUATION,
    EXERCISE,
    FIGURE,
    LISTING,
    SECTION,
    TABLE,
    Target,
    targets_of,
)
from app.adapters.markdown.parser.anchors import github_slug, unique_github
from app.adapters.markdown.site_map import TocEntry, under
from app.domain.errors import BookError

_FORMATS = {FIGURE: "Fig. %s", TABLE: "Table %s", LISTING: "Listing %s", EQUATION: "(%s)"}
_SUFFIX = re.compile(r"(?:\.myst)?\.(?:md|markdown|mdown|mdx|ipynb|rst)$")
_KEYS = re.compile(r"[\s,;]+")

_Number: TypeAlias = tuple[int, ...]
_Open: TypeAlias = list[tuple[int, _Number]]
"""Level and number of the open pages or sections, outermost first."""


@dataclass(frozen=True, slots=True)
class _NumberedTarget:
    """A target with its number; () if it has none."""

    target: Target
    number: _Number

    @property
    def numbered(self) -> str:
        """The number as the page shows it: "Fig. 1.2"; "" without a number."""
        if not self.number:
            return ""
        shown = _FORMATS.get(self.target.kind, f"{self.target.kind.capitalize()} %s")
        return shown.replace("%s", _dotted(self.number))

    def shown(self, role: str, template: str) -> str:
        """The text of a role: the filled template, or the title or the number."""
        if template:
            return self.filled(template)
        title, number = self.target.title, self.numbered
        by_title = role in ("ref", "link") and self.target.kind != EXERCISE
        return (title or number) if by_title else (number or title)

    def filled(self, template: str) -> str:
        """Fill in the number and the title; the title alone if there is no number."""
        title, number = self.target.title, _dotted(self.number)
        if not number:
            return title
        return template.replace("%s", number).replace("{number}", number).replace("{name}", title)


def _dotted(number: Iterable[int]) -> str:
    return ".".join(map(str, number))


class _Targets(NamedTuple):
    """The targets of a book."""

    labels: dict[str, _NumberedTarget]
    titles: dict[str, str]
    """A page's path without suffix -> its title."""
    headings: dict[tuple[str, str], _NumberedTarget]
    """Page and slug of a heading, which links may name (`myst_heading_anchors`)."""


@dataclass(frozen=True)
class MystCrossReferences:
    """The labels and titles of a book; its pages are scanned on first use."""

    book_files: BookFiles
    folder: str
    """The folder of the pages, relative to the book's."""
    entries: Sequence[TocEntry]
    """The table of contents; targets are relative to `folder`."""
    numbers_figures: bool = False
    """Whether figures and the like are numbered (`numfig`)."""
    bibliographies: Sequence[str] = ()
    """The BibTeX files, relative to the book's folder."""

    def _page_of(self, target: str, file: str) -> str:
        """Return the page that `target` names in `file`."""
        base = self.folder if target.startswith("/") else folder_of(file)
        return _page(normpath(under(base, target.lstrip("/"))))

    def shown(self, role: str, target: str, file: str, template: str) -> str:
        """Return the text of a role, or of a link without text ("link"); "" if unknown.

        `{numref}` has a template such as `Chapter %s` or `Figure {number}: {name}`.
        """
        if role.startswith("cite"):
            return self._citation(role, target)
        path, _, anchor = unquote(target).partition("#")
        title = self._targets.titles.get(self._page_of(path, file), "")
        if role == "doc" or (role == "link" and not anchor and title):
            return title
        known = self._targets.labels.get(_normal(anchor or target))
        if known is None and role == "link":
            known = self._heading(path, anchor, file)
        return known.shown(role, template) if known else ""

    def _heading(self, path: str, anchor: str, file: str) -> _NumberedTarget | None:
        page = self._page_of(path, file) if path else _page(file)
        return self._targets.headings.get((page, anchor))

    def _citation(self, role: str, keys: str) -> str:
        """Return "[Cover and Hart, 1967]", or "Cover and Hart [1967]" in running text."""
        wanted = _KEYS.split(keys.strip())
        works = [self._works[key] for key in wanted if key in self._works]
        if len(works) < len(wanted):
            return ""
        if role.startswith("cite:author"):
            return ", ".join(work.authors for work in works)
        if role.startswith("cite:year"):
            return ", ".join(work.year for work in works)
        if role.startswith("cite:t"):
            return ", ".join(work.in_text for work in works)
        return f"[{'; '.join(map(str, works))}]"

    @cached_property
    def _works(self) -> Mapping[str, CitedWork]:
        works: dict[str, CitedWork] = {}
        for file in self.bibliographies:
            works |= read_bibliography(_text(self.book_files, file))
        return works

    @cached_property
    def _targets(self) -> _Targets:
        found = _Targets({}, {}, {})
        numbers = _Numbers(self.numbers_figures)
        for file, depth, numbered in self._files():
            targets = targets_of(_text(self.book_files, file))
            title = next((one.title for one in targets if one.kind == SECTION), "")
            found.titles[_page(file)] = title
            slugs: dict[str, int] = {}
            for known in numbers.page(depth, targets, numbered):
                if known.target.kind == SECTION:
                    slug = unique_github(github_slug(known.target.title), slugs)
                    found.headings[_page(file), slug] = known
                for name in known.target.names:
                    found.labels.setdefault(_normal(name), known)
        return found

    def _files(self) -> Iterator[tuple[str, int, bool]]:
        """Yield each page with its depth in the table of contents and whether it has a number.

        The order is that of the table of contents; unlisted pages come last.
        """
        files = {
            _page(file): file for file in page_files(self.book_files, self.folder, PAGE_SUFFIXES)
        }
        for entry in self.entries:
            file = files.pop(_page(normpath(under(self.folder, entry.target))), "")
            if file:
                yield file, entry.depth, entry.numbered
        yield from ((file, 0, False) for file in files.values())


class _Numbers:
    """Numbers pages and their targets, in the order of the table of contents."""

    def __init__(self, figures: bool) -> None:
        self._figures = figures
        self._above: _Open = []
        """Depth and number of the possible parents of the next page."""
        self._children: Counter[_Number] = Counter()
        """Number of numbered children, by the parent's number."""
        self._counted: Counter[tuple[str, _Number]] = Counter()

    def page(
        self, depth: int, targets: Sequence[Target], numbered: bool
    ) -> Iterator[_NumberedTarget]:
        """Yield the targets of the next page with their numbers."""
        above = _parent(self._above, depth)
        own = self._next(above) if numbered else ()
        self._above.append((depth, own))
        levels: _Open = []
        formulas = count(1)
        for target in targets:
            if target.kind == SECTION:
                above = _parent(levels, target.level)
                number = self._next(above) if above else own
                levels.append((target.level, number))
            elif target.counted and self._figures:
                number = self._next_of(target.kind, chapter=own[:1])
            elif target.counted and target.kind == EQUATION:
                number = (next(formulas),)
            else:
                number = ()
            yield _NumberedTarget(target, number)

    def _next(self, above: _Number) -> _Number:
        self._children[above] += 1
        return (*above, self._children[above])

    def _next_of(self, kind: str, chapter: _Number) -> _Number:
        self._counted[kind, chapter] += 1
        return (*chapter, self._counted[kind, chapter])


def _parent(above: _Open, level: int) -> _Number:
    """Close what a new one of this level ends; return the number of its parent, if any."""
    while above and above[-1][0] >= level:
        above.pop()
    return above[-1][1] if above else ()


def _page(path: str) -> str:
    """Return a page's path without its suffix."""
    return _SUFFIX.sub("", path)


def _normal(name: str) -> str:
    """Docutils's `fully_normalize_name`."""
    return " ".join(name.lower().split())


def _text(book_files: BookFiles, file: str) -> str:
    """Return a file's text, uncached; "" if it cannot be read, which is reported later."""
    try:
        return book_files.require(file)
    except BookError:
        return ""
