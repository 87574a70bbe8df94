"""Tables of contents: SUMMARY.md, `nav`, `_toc.yml`, `_toctree.yml`, `myst.yml`, sidebars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from app.adapters.reading.table_of_contents import Entry

_FILE_KEYS = ("file", "local", "root", "url", "link")
_TITLE_KEYS = ("title", "caption", "label", "text")
_CHILD_KEYS = ("parts", "chapters", "sections", "entries", "children", "items", "subtrees", "toc")
_LISTS = ("bullet_list", "ordered_list")


def summary_entries(text: str, *, numbered: bool = False) -> Iterator[Entry]:
    """Read a SUMMARY.md as the nested CommonMark list that it is; its headings name no chapters.

    If `numbered`, the items of its lists are numbered through, as mdBook numbers chapters.
    """
    count = 0
    for node in SyntaxTreeNode(MarkdownIt("commonmark").parse(text)).children:
        if node.type in _LISTS:
            for item in node.children:
                count += 1
                yield from _item(item, str(count) if numbered else "", 0)
        elif node.type == "paragraph":
            yield from (Entry(0, title, "", target) for target, title in _links(node))


def _item(item: SyntaxTreeNode, number: str, depth: int) -> Iterator[Entry]:
    paragraphs = [child for child in item.children if child.type == "paragraph"]
    links = [one for child in paragraphs for one in _links(child)]
    target, label = links[0] if links else ("", " ".join(map(_plain, paragraphs)))
    yield Entry(depth, label, number, target)
    for child in item.children:
        for below in child.children if child.type in _LISTS else ():
            yield from _item(below, "", depth + 1)


def _links(node: SyntaxTreeNode) -> Iterator[tuple[str, str]]:
    for one in node.walk():
        if one.type == "link":
            target = unquote(str(one.attrs.get("href", ""))).partition("#")[0]
            if "://" not in target:
                yield target, _plain(one)


def _plain(node: SyntaxTreeNode) -> str:
    text = "".join(one.content for one in node.walk() if one.type in ("text", "code_inline"))
    return " ".join(re.sub(r"\{:[^}]*\}", "", text).split())


def yaml_entries(value: object, depth: int = 0) -> Iterator[Entry]:
    """Read the tables of contents that YAML and JSON hold: nested lists of names and tables."""
    if isinstance(value, str):
        yield Entry(depth, "", "", value)
    elif isinstance(value, Sequence):
        for one in value:
            yield from yaml_entries(one, depth)
    elif isinstance(value, Mapping):
        yield from _table_entries(value, depth)


def _table_entries(table: Mapping[str, object], depth: int) -> Iterator[Entry]:
    title, target = _first(table, _TITLE_KEYS), _target(table)
    children = [table[key] for key in _CHILD_KEYS if isinstance(table.get(key), (list, dict))]
    if not children and not target and "type" not in table:
        for label, below in table.items():  # `nav`: {Title: file} or {Title: [...]}
            yield Entry(depth, str(label), "", below if isinstance(below, str) else "")
            yield from yaml_entries(() if isinstance(below, str) else below, depth + 1)
        return
    if title or target:
        yield Entry(depth, title, "", target)
    for below in children:
        yield from yaml_entries(below, depth + bool((title or target) and "root" not in table))


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
