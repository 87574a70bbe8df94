"""What differs from one site generator to another: the selectors of `themes.toml`."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

_FILE = Path(__file__).with_name("themes.toml")
UNKNOWN = "unknown"
"""The last theme: HTML's own semantics, for pages that no other one recognises."""

Roles: TypeAlias = dict[str, dict[HtmlElement, None]]
"""Role -> the elements that have it, in order."""
_Lists: TypeAlias = dict[str, list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """The selectors by which a page is read, by their names in `themes.toml`."""

    name: str
    generator: re.Pattern[str]
    marker: str
    selectors: _Lists
    own_content: Sequence[str]
    roles: Sequence[str]
    """The keys of `selectors` that give elements of the content a role."""

    def select(self, key: str, root: HtmlElement) -> list[HtmlElement]:
        """Return the elements below `root` that the selectors of `key` match, in page order."""
        selectors = self.selectors.get(key)
        return list(_compiled(", ".join(selectors))(root)) if selectors else []

    def marks(self, root: HtmlElement, names: Set[str]) -> bool:
        """Whether the marker is on the page, whose elements have these names."""
        parts = self.marker.split(", ") if self.marker else ()
        return any(_required(one) <= names and _compiled(one)(root) for one in parts)

    def content(self, root: HtmlElement) -> HtmlElement | None:
        """Return the page's main element, by the first selector that finds one with content."""
        return _with_content(self.selectors["content"], root)

    def roles_in(self, content: HtmlElement) -> Roles:
        """Return the roles of the elements."""
        named = _named(content)
        found: Roles = {role: {} for role in self.roles}
        for role in self.roles:
            for css in self.selectors[role]:
                if css in named:
                    found[role] |= dict.fromkeys(named[css])
                elif _required(css) <= named.keys():
                    found[role] |= dict.fromkeys(_compiled(css)(content))
        return found


def _with_content(selectors: Sequence[str], root: HtmlElement) -> HtmlElement | None:
    for selector in selectors:
        for found in _compiled(selector)(root):
            if any(map(str.strip, found.itertext())) or found.find(".//img") is not None:
                return found
    return None


def _named(root: HtmlElement) -> dict[str, list[HtmlElement]]:
    """Return the elements by the simple selectors that match them.

    A page lacks most names of a selector; to evaluate each one takes longer than all the rest.
    """
    named: dict[str, list[HtmlElement]] = defaultdict(list)
    for one in root.iter():
        kind = str(one.tag), one.get("class"), one.get("role"), one.get("data-type")
        for name in _names_of(*kind):
            named[name].append(one)
        if ident := one.get("id"):
            named[f"#{ident}"].append(one)
    return named


@lru_cache(1 << 12)
def _names_of(tag: str, classes: str | None, role: str | None, kind: str | None) -> list[str]:
    """Return the simple selectors that match an element with these attributes."""
    named = (name for one in (classes or "").split() for name in (f".{one}", f"{tag}.{one}"))
    return [tag, *named, f"[role={role}]", f"[data-type={kind}]"]


@cache
def _required(css: str) -> frozenset[str]:
    """Return the names, as in `_named`, that must be on a page for a selector to match."""
    outer = re.sub(r":[\w-]+\(.*\)", "", css)
    exact = re.findall(r"\[(?:role|data-type)=[\w-]+\]", outer)
    bare = re.sub(r"\[[^\]]*\]", "", outer)
    return frozenset([*exact, *re.findall(r"[.#][\w-]+|(?<![\w.#:-])[a-z][\w-]*", bare)])


@cache
def _compiled(css: str) -> CSSSelector:
    return CSSSelector(css, translator="html")


@cache
def _themes() -> tuple[Theme, ...]:
    """Return the themes of `themes.toml` in its order, the fallback last."""
    tables = tomllib.loads(_FILE.read_text("utf-8"))
    return tuple(_theme(one, tables["page"], tables["site"]) for one in tables["theme"])


def _theme(table: Mapping[str, str | list[str]], page: _Lists, site: _Lists) -> Theme:
    own: _Lists = {key: value for key, value in table.items() if isinstance(value, list)}
    common = page | site
    selectors = {key: [*common.get(key, ()), *own.get(key, ())] for key in (*common, *own)}
    selectors["content"] = [*own.get("content", ()), *site["content"]]
    name, marker, generator = (str(table.get(key, "")) for key in ("name", "marker", "generator"))
    pattern = re.compile(generator or "(?!)", re.IGNORECASE)
    return Theme(name, pattern, marker, selectors, own.get("content", ()), [*page])


def fallback() -> Theme:
    return _themes()[-1]


def theme_of(root: HtmlElement) -> Theme:
    """Return the theme of a page: by its generator's name, then by elements that only it has.

    Of several, the first whose content is on the page.
    """
    generators = root.xpath("//meta[translate(@name, 'GENRATO', 'genrato')='generator']/@content")
    named = (one for one in _themes() if generators and one.generator.search(generators[0]))
    names = _named(root).keys()
    marked = (one for one in _themes() if one.marks(root, names))
    first = None
    for theme in chain(named, marked):
        if _with_content(theme.own_content, root) is not None:
            return theme
        first = first or theme
    return first or fallback()
