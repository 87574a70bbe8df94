"""Tables of contents: SUMMARY.md, `nav`, `_toc.yml`, `_toctree.yml`, `myst.yml`, sidebars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import lxml.html
from lxml.html import HtmlElement
from markdown_it import MarkdownIt

from app.adapters.reading.table_of_contents import Entry

_COMMONMARK = MarkdownIt("commonmark")
_FILE_KEYS = ("file", "local", "root", "url", "link")
_TITLE_KEYS = ("title", "caption", "label", "text")
_CHILD_KEYS = ("parts", "chapters", "sections", "entries", "children", "items", "subtrees", "toc")
_ATTRIBUTES = re.compile(r"\{:[^}]*\}")


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
        title = _text(
            one.xpath("text() | *[not(self::ul or self::ol)]") if link is None else [link]
        )
        if "://" not in target:
            yield Entry(depth, title, count if numbered and is_chapter else 0, target)


def _text(nodes: list[HtmlElement | str]) -> str:
    text = "".join(one if isinstance(one, str) else str(one.text_content()) for one in nodes)
    return " ".join(_ATTRIBUTES.sub("", text).split())


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
    if not children and not target and "type" not in table:
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
