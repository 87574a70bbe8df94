"""Tables of contents: SUMMARY.md, `nav`, `_toc.yml`, `_toctree.yml`, `myst.yml`, sidebars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_PART = re.compile(r"(?:part|unit|volume|book|module|(?:front|back) ?matter|appendi)", re.I)
_FILE_KEYS = ("file", "local", "root", "url", "link")
_TITLE_KEYS = ("title", "caption", "label", "text")
_CHILD_KEYS = ("parts", "chapters", "sections", "entries", "children", "items", "subtrees", "toc")
_DEPTH = 30


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in a table of contents."""

    target: str
    """The page's file, or another name that the generator uses for it."""
    labels: tuple[str, ...]
    """The titles above it, and its own last; "" where there is none."""
    number: int = 0
    """The number of its chapter; 0 if the site shows none."""

    @property
    def title(self) -> str:
        return self.labels[-1]

    @property
    def chapter(self) -> str:
        """The outermost title that names no part of the book; "" for the page's own."""
        above = [one for one in self.labels[:-1] if one and not _PART.match(one)]
        return above[0] if above else ""


def summary_entries(text: str, *, numbered: bool = False) -> list[Entry]:
    """Read a SUMMARY.md as the nested CommonMark list that it is; its headings name no chapters."""
    root = SyntaxTreeNode(MarkdownIt("commonmark").parse(text))
    entries: list[Entry] = []
    count = 0
    for node in root.children:
        if node.type in ("bullet_list", "ordered_list"):
            entries += _items(node, (), count if numbered else None)
            count += len(node.children)
        elif node.type == "paragraph":
            entries += [Entry(target, (title,)) for target, title in _links(node)]
    return entries


def _items(
    node: SyntaxTreeNode, above: tuple[str, ...], count: int | None, depth: int = 0
) -> Iterator[Entry]:
    for position, item in enumerate(node.children, 1):
        number = 0 if count is None else count + (position if not depth else 0)
        paragraphs = [child for child in item.children if child.type == "paragraph"]
        links = [one for child in paragraphs for one in _links(child)]
        label = links[0][1] if links else " ".join(map(_plain, paragraphs))
        labels = (*above, label)
        if links and links[0][0]:
            yield Entry(links[0][0], labels, number)
        for child in item.children if depth < _DEPTH else ():
            if child.type in ("bullet_list", "ordered_list"):
                yield from _items(child, labels, number if count is not None else None, depth + 1)


def _links(node: SyntaxTreeNode) -> Iterator[tuple[str, str]]:
    for one in node.walk():
        if one.type == "link":
            target = unquote(str(one.attrs.get("href", ""))).partition("#")[0]
            if "://" not in target:
                yield target, _plain(one)


def _plain(node: SyntaxTreeNode) -> str:
    text = "".join(one.content for one in node.walk() if one.type in ("text", "code_inline"))
    return " ".join(re.sub(r"\{:[^}]*\}", "", text).split())


def yaml_entries(value: object, above: tuple[str, ...] = (), depth: int = 0) -> Iterator[Entry]:
    """Read the tables of contents that YAML and JSON hold: nested lists of names and tables."""
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        yield Entry(value, (*above, ""))
    elif isinstance(value, Sequence):
        for one in value:
            yield from yaml_entries(one, above, depth + 1)
    elif isinstance(value, Mapping):
        yield from _table_entries(value, above, depth)


def _table_entries(
    table: Mapping[str, object], above: tuple[str, ...], depth: int
) -> Iterator[Entry]:
    title, target = _first(table, _TITLE_KEYS), _target(table)
    children = [table[key] for key in _CHILD_KEYS if isinstance(table.get(key), (list, dict))]
    if not children and not target and len(table) >= 1 and "type" not in table:
        for label, below in table.items():  # `nav`: {Title: file} or {Title: [...]}
            if isinstance(below, str):
                yield Entry(below, (*above, str(label)))
            else:
                yield from yaml_entries(below, (*above, str(label)), depth + 1)
        return
    if target:
        yield Entry(target, (*above, title))
    for below in children:
        yield from yaml_entries(below, (*above, title) if title else above, depth + 1)


def _first(table: Mapping[str, object], keys: Sequence[str]) -> str:
    return next((str(table[key]) for key in keys if isinstance(table.get(key), (str, int))), "")


def _target(table: Mapping[str, object]) -> str:
    """Return the page that an entry names; "" if it names none or one of another site."""
    link = table.get("link")
    if isinstance(link, Mapping):
        return str(link.get("id") or "")
    if table.get("type") in ("doc", "ref") or ("type" not in table and "id" in table):
        return str(table.get("id") or "")
    target = _first(table, _FILE_KEYS)
    return "" if "://" in target or table.get("type") in ("link", "html") else target
