"""The table of contents of a built site, put together from the navigation of its pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

_PART = re.compile(r"(?:part|unit|volume|book|module|(?:front|back) ?matter|appendi)", re.I)

_DEEPEST = 10
"""Levels below a section in which its first page is looked for."""


class Entry(NamedTuple):
    """A line of a table of contents."""

    depth: int
    title: str
    number: str
    """Such as 1.2; "" if none is shown."""
    target: str
    """The page that it names, as of `page_facts.resolved`; "" if none."""


@dataclass(slots=True)
class _Node:
    title: str
    number: str = ""
    file: str = ""
    children: list[_Node] = field(default_factory=list)
    known: dict[tuple[str, str], _Node] = field(default_factory=dict)
    """The lines below, by title and page."""
    titled: dict[str, _Node] = field(default_factory=dict)
    """The first line below with each title."""

    def find(self, title: str, file: str, opens: bool) -> _Node | None:
        """Return the line below with this title and page.

        A section without a page of its own may link its first page where it is closed; `opens` says
        that lines follow below it.
        """
        exact, label = self.known.get((title, file)), self.known.get((title, ""))
        if exact or not (file and title):
            return exact or (self.titled.get(title) if opens else None)
        return label if label and label.opens_with(file) else None

    def add(self, node: _Node, before: _Node | None) -> None:
        """Add a line, behind the one that it follows on a page."""
        self.known[node.title, node.file] = node
        self.titled.setdefault(node.title, node)
        at = len(self.children)
        if before is not None and self.children[-1] is not before:
            at = next(at for at, one in enumerate(self.children, 1) if one is before)
        self.children.insert(at, node)

    def opens_with(self, file: str) -> bool:
        """Whether the first page below is this one."""
        node = self
        for _ in range(_DEEPEST):
            if not node.children:
                return False
            node = node.children[0]
            if node.file == file:
                return True
        return False

    @property
    def own_file(self) -> str:
        """The page; "" if the link only opens the first page below."""
        return "" if self.opens_with(self.file) else self.file

    @property
    def first_number(self) -> int:
        """The 3 of 3.1; 0 if there is none."""
        number = re.match(r"\d{1,4}(?!\d)", self.number)
        return int(number[0]) if number else 0

    @property
    def is_part(self) -> bool:
        """Whether it groups only chapters, or is named as a part, so that it is no chapter."""
        has_chapters = bool(self.children) and all(one.children for one in self.children)
        return not self.own_file and (has_chapters or bool(_PART.match(self.title)))


class Listed(NamedTuple):
    """A page in the table of contents."""

    file: str
    title: str
    chapter: str
    chapter_number: int
    """The number that the site shows; 0 if none."""


class TableOfContents:
    """Grows by the navigation of one page after the other.

    A page may show only a part, such as the open branch: what is new is inserted behind the line
    that it follows on the page.
    """

    def __init__(self) -> None:
        self._root = _Node("")
        self._seen: set[tuple[Entry, ...]] = set()
        self._of_file: dict[str, list[_Node]] = {}

    def add(self, navigation: tuple[Entry, ...], file_of: Callable[[str], str]) -> None:
        """Add the navigation of a page; `file_of` returns the file of a target, "" if none."""
        if navigation in self._seen:
            return
        self._seen.add(navigation)
        above: list[tuple[int, _Node]] = [(-1, self._root)]
        last: dict[int, _Node] = {}
        for entry, following in zip_longest(navigation, navigation[1:]):
            file = file_of(entry.target)
            if entry.target and not file:
                continue
            while above[-1][0] >= entry.depth:
                above.pop()
            parent = above[-1][1]
            opens = following is not None and following.depth > entry.depth
            node = parent.find(entry.title, file, opens)
            if node is None:
                node = _Node(entry.title, entry.number, file)
                parent.add(node, last.get(id(parent)))
                self._of_file.setdefault(file, []).append(node)
            last[id(parent)] = node
            above.append((entry.depth, node))

    def pages(self) -> Iterator[Listed]:
        """Yield each page once, in the order of the table of contents."""
        pending: list[tuple[_Node, _Node | None]] = [(one, None) for one in reversed(self._top())]
        seen = set()
        while pending:
            node, chapter = pending.pop()
            if chapter is None and not node.is_part:
                chapter = node
            file, below = node.own_file, node.children
            if file and file not in seen:
                seen.add(file)
                named = chapter or node
                yield Listed(file, node.title, named.title, named.first_number)
                # A page that is listed twice shows the pages below it in only one of its places.
                twins = (one.children for one in self._of_file[file] if one.own_file)
                below = below or next(filter(None, twins), [])
            pending += [(one, chapter) for one in reversed(below)]

    def _top(self) -> Sequence[_Node]:
        """Return the topmost lines; a single one that holds all others is the book itself."""
        top = self._root.children
        whole = top[0] if len(top) == 1 else None
        if whole is None or not any(one.children for one in whole.children):
            return top
        return [_Node(whole.title, whole.number, whole.own_file), *whole.children]
