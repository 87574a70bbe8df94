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

_NAMING = ("role", "data-type")
_ATTRIBUTE = re.compile(r"\[(role|data-type)=([\w-]+)\]")
_ARGUMENT = re.compile(r":[\w-]+\((?:[^()]|\([^()]*\))*\)")
_SIMPLE = re.compile(r"(?P<tag>[a-z][\w-]*)?(?:\.(?P<name>[\w-]+))?")

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
        self._element = element
        self.elements: list[HtmlElement] = list(element.iter())
        """All of them. lxml makes a new object for an element that is not referenced."""
        self._by_tag: dict[str, list[HtmlElement]] = defaultdict(list)
        self._by_class: dict[str, list[HtmlElement]] = defaultdict(list)
        self._by_attribute: dict[str, list[HtmlElement]] = defaultdict(list)
        for one in self.elements:
            self._by_tag[str(one.tag)].append(one)
            for name in (one.get("class") or "").split():
                self._by_class[name].append(one)
            for name in _NAMING:
                if (value := one.get(name)) is not None:
                    self._by_attribute[f"{name}={value}"].append(one)

    def _has_names(self, css: str) -> bool:
        """Whether the classes, roles and tags that a selector needs are there: a quick test."""
        tags, classes, attributes = _needed(css)
        return (
            tags <= self._by_tag.keys()
            and classes <= self._by_class.keys()
            and attributes <= self._by_attribute.keys()
        )

    def find(self, css: str) -> list[HtmlElement]:
        """Return the elements that a selector matches."""
        simple = _SIMPLE.fullmatch(css)
        if simple is None:
            return list(_compiled(css)(self._element)) if self._has_names(css) else []
        tag, name = simple["tag"], simple["name"]
        if name is None:
            return self._by_tag.get(tag, [])
        return [one for one in self._by_class.get(name, ()) if tag in (None, one.tag)]


@cache
def _needed(css: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the tags, classes and attributes that an element or one around it must have."""
    plain = _ARGUMENT.sub("", css)
    attributes = frozenset("=".join(one) for one in _ATTRIBUTE.findall(plain))
    bare = re.sub(r"\[[^\]]*\]", "", plain)
    tags = frozenset(re.findall(r"(?<![\w.#-])[a-z][\w-]*", bare))
    return tags, frozenset(re.findall(r"\.([\w-]+)", bare)), attributes


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
