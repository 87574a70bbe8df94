"""Tables of contents: of SUMMARY.md and YAML their entries, of any and of navigations the pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

import lxml.html
from markdown_it import MarkdownIt

from app.adapters.reading.documents import PageInfo

UNLISTED = "not in the table of contents: list them in the site's navigation to have them read"
_PART = re.compile(
    r"part|unit|volume|book|module|(?:front|back) ?matter|appendi|(?:chapter|lecture)s\b", re.I
)
_COMMONMARK = MarkdownIt("commonmark")
_FILE_KEYS = ("file", "local", "root", "url", "link", "pattern", "glob")
_TITLE_KEYS = ("title", "caption", "label", "text")
_CHILD_KEYS = ("parts", "chapters", "sections", "entries", "children", "items", "subtrees", "toc")
_ATTRIBUTES = re.compile(r"\{:[^}]*\}")


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

    A section is a part, not a chapter, if it is named as one or groups only chapters, and so is
    any line above chapters that are numbered through. `opened` are the paths of lines with others
    below, in any navigation.
    """
    parts = {
        line
        for line in lines
        if line.is_section
        and (_PART.match(line.entry.title) or all(one.path in opened for one in line.below))
    }
    parts |= _above_numbered(lines)
    top = [line for line in lines if not line.above]
    if len(top) == 1 and any(one.path in opened for one in top[0].below):
        parts.add(top[0])  # the book itself
    found: dict[str, PageInfo] = {}
    for line in lines:
        file = line.entry.target
        if file and file not in found and not line.is_section:
            chapters = (one for one in (*line.above, line) if one not in parts)
            chapter = next(chapters, line).entry
            name = chapter.title or chapter.target
            found[file] = PageInfo(file, "", line.entry.title, name, chapter.number)
    return found


def _above_numbered(lines: Sequence[_Line]) -> set[_Line]:
    """Return the parts of a book whose chapters are numbered through: lines without a number, above
    several numbers that no other line is above.
    """
    above = [line for line in lines if not line.entry.number]
    numbers = [{one.entry.number for one in line.below} - {0} for line in above]
    count = Counter(chain.from_iterable(numbers))
    pairs = zip(above, numbers, strict=True)
    return {line for line, own in pairs if len(own) > 1 and all(count[one] == 1 for one in own)}


def summary_entries(text: str, *, numbered: bool = False) -> Iterator[Entry]:
    """Read a SUMMARY.md as the nested CommonMark list that it is; its headings name no chapters.

    If `numbered`, the items of its lists are numbered through, as mdBook numbers chapters.
    """
    html = _COMMONMARK.render(text)
    root = lxml.html.fragment_fromstring(html, create_parent="div")
    count = 0
    for one in root.xpath(".//li | p//a"):
        depth = int(one.xpath("count(ancestor::li)"))
        is_chapter = one.tag == "li" and depth == 0
        count += is_chapter
        link = next(iter(one.xpath("self::a | a | p/a")), None)
        target = "" if link is None else unquote(link.get("href", "")).partition("#")[0]
        nodes = one.xpath("text() | *[not(self::ul or self::ol)]") if link is None else [link]
        text = "".join(node if isinstance(node, str) else node.text_content() for node in nodes)
        title = " ".join(_ATTRIBUTES.sub("", text).split())
        if "://" not in target:
            yield Entry(depth, title, count if numbered and is_chapter else 0, target)


def yaml_entries(value: object, depth: int = 0) -> Iterator[Entry]:
    """Read the tables of contents that YAML and JSON hold: nested lists of names and tables."""
    if isinstance(value, str):
        yield Entry(depth, "", 0, value)
    elif isinstance(value, list):
        for one in value:
            yield from yaml_entries(one, depth)
    elif isinstance(value, Mapping):
        yield from _table_entries(value, depth)


def _table_entries(table: Mapping[str, object], depth: int) -> Iterator[Entry]:
    title, target = _first(table, _TITLE_KEYS), _target(table)
    children = [table[key] for key in _CHILD_KEYS if isinstance(table.get(key), (list, dict))]
    if not (children or target or "type" in table or "://" in _first(table, _FILE_KEYS)):
        for label, below in table.items():  # `nav`: {Title: file} or {Title: [...]}
            yield Entry(depth, str(label), 0, below if isinstance(below, str) else "")
            yield from yaml_entries([] if isinstance(below, str) else below, depth + 1)
        return
    if title or target:
        yield Entry(depth, title, 0, target)
        depth += "root" not in table
    yield from yaml_entries(children, depth)


def _first(table: Mapping[str, object], keys: tuple[str, ...]) -> str:
    return next((str(table[key]) for key in keys if isinstance(table.get(key), (str, int))), "")


def _target(table: Mapping[str, object]) -> str:
    """Return the page that an entry names; "" if it names none or one of another site."""
    link = table.get("link")
    if isinstance(link, Mapping):  # Docusaurus's category
        return str(link.get("id") or "")
    kind = table.get("type")
    if kind in ("link", "html"):
        return ""
    target = _first(table, ("id",)) if kind or "id" in table else _first(table, _FILE_KEYS)
    return "" if "://" in target else target
