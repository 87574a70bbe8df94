"""The table of contents of a site, from the navigation of its pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.adapters.reading.documents import PageInfo

UNLISTED = "not in the table of contents: list them in the site's navigation to have them read"
_PART = re.compile(r"(?:part|unit|volume|book|module|(?:front|back) ?matter|appendi)", re.I)


class Entry(NamedTuple):
    """A line of a table of contents."""

    depth: int
    title: str
    number: int
    """Such as 1 of "1.2"; 0 if none is shown."""
    target: str
    """The page that it names; "" if none."""


def listed_pages(navigations: Mapping[str, Sequence[Entry]]) -> list[PageInfo]:
    """Return the pages in the order of the table of contents, each once, without addresses.

    `navigations` are those of the pages, by file, with files as targets. A page may show only a
    part, such as its own branch: what is new is inserted behind the page that it follows there.
    Title and chapter are those of the page's own navigation, if it is listed there.
    """
    trees = {navigation: _lines(navigation) for navigation in map(tuple, navigations.values())}
    opened = {line.path for lines in trees.values() for line in lines if line.below}
    places = {navigation: _places(lines, opened) for navigation, lines in trees.items()}
    found: dict[str, PageInfo] = {}
    after, last = {"": ""}, ""
    for shown in places.values():
        before = ""
        for file, listed in shown.items():
            if file not in after:
                before = before or last
                after[file], after[before] = after[before], file
                last = file if before == last else last
            found.setdefault(file, listed)
            before = file
    order, file = [], ""
    while file := after[file]:
        own = places.get(tuple(navigations.get(file, ())), found)
        order.append(own.get(file, found[file]))
    return order


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    entry: Entry
    above: Sequence[_Line]
    """The lines that it is below, the outermost first."""
    path: tuple[str, ...]
    """Titles of the lines above, then its own."""
    below: list[_Line]

    @property
    def first_below(self) -> str:
        """The first page below."""
        pages = (one.entry.target or one.first_below for one in self.below)
        return next(filter(None, pages), "")

    @property
    def is_section(self) -> bool:
        """Whether it has no page of its own: its link may lead to the first page below."""
        return bool(self.below) and self.entry.target in ("", self.first_below)


def _lines(entries: Sequence[Entry]) -> list[_Line]:
    found: list[_Line] = []
    above: list[_Line] = []
    for entry in entries:
        while above and above[-1].entry.depth >= entry.depth:
            above.pop()
        path = (*(one.entry.title for one in above), entry.title)
        found.append(_Line(entry, (*above,), path, []))
        for parent in above[-1:]:
            parent.below.append(found[-1])
        above.append(found[-1])
    return found


def _places(lines: Sequence[_Line], opened: set[tuple[str, ...]]) -> dict[str, PageInfo]:
    """Return the pages of one navigation.

    A section is a part, not a chapter, if it is named as one or groups only chapters. `opened` are
    the paths of lines with others below, in any navigation.
    """
    parts = {
        line
        for line in lines
        if line.is_section
        and (_PART.match(line.entry.title) or all(one.path in opened for one in line.below))
    }
    top = [line for line in lines if not line.above]
    if len(top) == 1 and any(one.path in opened for one in top[0].below):
        parts.add(top[0])  # the book itself
    found: dict[str, PageInfo] = {}
    for line in lines:
        file = line.entry.target
        if file and file not in found and not line.is_section:
            chapters = (one for one in (*line.above, line) if one not in parts)
            chapter = next(chapters, line).entry
            found[file] = PageInfo(file, "", line.entry.title, chapter.title, chapter.number)
    return found
