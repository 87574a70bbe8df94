"""What differs from one site generator to another: the selectors of `themes.toml`."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

_FILE = Path(__file__).with_name("themes.toml")
UNKNOWN = "unknown"
"""The name of the theme of pages that no entry recognises: HTML's own semantics."""

_SIMPLE = re.compile(r"(?:[a-z][\w-]*)?(?:\.[\w-]+)?")
"""A selector of a tag, a class or both."""

Selectors: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Theme:
    """The selectors by which a page is read, by their names in `themes.toml`."""

    name: str
    generator: re.Pattern[str] | None
    marker: str
    selectors: dict[str, Selectors]
    own_content: Selectors = ()

    def find(self, key: str, index: ElementIndex) -> list[HtmlElement]:
        """Return the indexed elements that the theme's selectors of `key` match, in their order."""
        return [one for css in self.selectors.get(key, ()) for one in index.find(css)]

    def select(self, key: str, root: HtmlElement) -> list[HtmlElement]:
        """Return the elements below `root` that the selectors of `key` match, in page order."""
        selectors = self.selectors.get(key)
        return list(_compiled(", ".join(selectors))(root)) if selectors else []

    def is_marked(self, root: HtmlElement) -> bool:
        return bool(self.marker) and bool(_compiled(self.marker)(root))

    def content(self, root: HtmlElement) -> HtmlElement | None:
        """Return the page's main element, by the first selector that finds one with content."""
        return _with_content(self.selectors["content"], root)


def _with_content(selectors: Selectors, root: HtmlElement) -> HtmlElement | None:
    for selector in selectors:
        for found in _compiled(selector)(root):
            if found.text_content().strip() or found.find(".//img") is not None:
                return found
    return None


class ElementIndex:
    """The elements below one, by tag and class: most selectors name just these."""

    def __init__(self, element: HtmlElement) -> None:
        self.element = element
        self.elements: list[HtmlElement] = list(element.iter())
        """All of them. lxml makes a new object for an element that is not referenced."""
        self._named: dict[str, list[HtmlElement]] = defaultdict(list)
        for one in self.elements:
            self._named[str(one.tag)].append(one)
            for name in set((one.get("class") or "").split()):
                self._named[f".{name}"].append(one)
                self._named[f"{one.tag!s}.{name}"].append(one)

    def find(self, css: str) -> list[HtmlElement]:
        """Return the elements that a selector matches."""
        if _SIMPLE.fullmatch(css):
            return self._named.get(css, [])
        # Most pages lack most names: to evaluate every selector takes half the time of reading.
        return list(_compiled(css)(self.element)) if _names(css) <= self._named.keys() else []


@cache
def _names(css: str) -> frozenset[str]:
    """Return tags and classes that must be on the page for a selector to match."""
    bare = re.sub(r":[\w-]+\(.*\)|\[[^\]]*\]", "", css)
    return frozenset(re.findall(r"\.[\w-]+|(?<![\w.#:-])[a-z][\w-]*", bare))


@cache
def _compiled(css: str) -> CSSSelector:
    return CSSSelector(css, translator="html")


@cache
def _themes() -> tuple[Theme, ...]:
    """Return the themes of `themes.toml` in its order, the fallback last."""
    tables = tomllib.loads(_FILE.read_text("utf-8"))
    common: dict[str, list[str]] = tables["common"]
    return tuple(_theme(one, common) for one in (*tables["theme"], {"name": UNKNOWN}))


def _theme(table: dict[str, object], common: dict[str, list[str]]) -> Theme:
    generator = table.get("generator")
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    own = tuple(lists.pop("content", ()))
    selectors = {key: (*common.get(key, ()), *lists.get(key, ())) for key in (*common, *lists)}
    return Theme(
        str(table["name"]),
        re.compile(str(generator), re.IGNORECASE) if generator else None,
        str(table.get("marker", "")),
        selectors | {"content": (*own, *common["content"])},
        own,
    )


def fallback() -> Theme:
    """Return the theme of pages that no entry recognises: HTML's own semantics."""
    return _themes()[-1]


def theme_of(root: HtmlElement) -> Theme:
    """Return the theme of a page: by its generator's name, then by elements that only it has.

    Of several, the first whose content is on the page.
    """
    without_content = []
    for theme in chain(_named(root), (one for one in _themes() if one.is_marked(root))):
        if _with_content(theme.own_content, root) is not None:
            return theme
        without_content.append(theme)
    return next(iter(without_content), fallback())


def _named(root: HtmlElement) -> list[Theme]:
    names = root.xpath("//meta[translate(@name, 'G', 'g')='generator']/@content")
    return [one for one in _themes() if names and one.generator and one.generator.search(names[0])]
