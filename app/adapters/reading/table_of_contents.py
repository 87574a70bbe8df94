"""The table of contents of a built site, put together from the navigation of its pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from app.adapters.reading.page_facts import Entry

_PART = re.compile(r"(?:part|unit|volume|book|module|(?:front|back) ?matter|appendi)", re.I)


@dataclass(slots=True)
class _Node:
    title: str
    number: str = ""
    file: str = ""
    children: list[_Node] = field(default_factory=list)
    by_title: dict[str, list[_Node]] = field(default_factory=dict)

    def find(self, title: str, file: str, opens: bool) -> _Node | None:
        """Return the line below with this title and page.

        A section without a page of its own may link its first page where it is closed; `opens` says
        that lines follow below it.
        """
        same = self.by_title.get(title, [])
        closed = same[:1] if opens and not file else []
        opened = [one for one in same if not one.file and one.opens_with(file)]
        return next(iter([*(one for one in same if one.file == file), *closed, *opened]), None)

    def opens_with(self, file: str) -> bool:
        """Whether the first page below is this one."""
        first = self.children[0] if self.children else None
        while first is not None and first.file != file:
            first = first.children[0] if first.children else None
        return first is not None

    @property
    def own_file(self) -> str:
        """The page; "" if the link only opens the first page below."""
        return "" if self.opens_with(self.file) else self.file

    @property
    def is_part(self) -> bool:
        """Whether it groups chapters, or is named as a part, so that it is no chapter itself."""
        has_chapters = any(one.children for one in self.children)
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
                parent.by_title.setdefault(entry.title, []).append(node)
                _insert_after(parent.children, last.get(id(parent)), node)
            last[id(parent)] = node
            above.append((entry.depth, node))

    def pages(self) -> Iterator[Listed]:
        """Yield each page once, in the order of the table of contents."""
        pending: list[tuple[_Node, _Node | None]] = [(one, None) for one in self._top()]
        pending.reverse()
        seen = set()
        while pending:
            node, chapter = pending.pop()
            if chapter is None and not node.is_part:
                chapter = node
            if node.own_file and node.own_file not in seen:
                seen.add(node.own_file)
                named = chapter or node
                number = named.number.partition(".")[0]
                counted = int(number) if number.isdecimal() else 0
                yield Listed(node.own_file, node.title, named.title, counted)
            pending += [(one, chapter) for one in reversed(node.children)]

    def _top(self) -> Iterable[_Node]:
        """Return the topmost lines; a single one that holds all others is the book itself."""
        top = self._root.children
        whole = top[0] if len(top) == 1 else None
        if whole is None or not any(one.children for one in whole.children):
            return top
        return [_Node(whole.title, whole.number, whole.own_file), *whole.children]


def _insert_after(nodes: list[_Node], before: _Node | None, node: _Node) -> None:
    at = len(nodes)
    if before is not None and nodes[-1] is not before:
        at = next(at for at, one in enumerate(nodes) if one is before) + 1
    nodes.insert(at, node)
