"""What a built page says of itself and of its site: addresses, language, navigation, links."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from urllib.parse import unquote

from lxml.html import HtmlElement

from app.adapters.reading.table_of_contents import Entry
from app.adapters.reading.themes import Theme, theme_of
from app.adapters.reading.tree import parse

_REFRESH = re.compile(r"\s*\d*\s*[;,]\s*url\s*=\s*['\"]?([^'\"]+)", re.I)
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,4})*\.\s+(?=\S)")
_FIRST_NUMBER = re.compile(r"\d{1,4}(?!\d)")
_BESIDE = (
    "(//nav | //*[@role='navigation'] | //aside)"
    "[count(.//a[not(contains('←↑⇐', substring(., 1, 1)))]) > 1]"
    "[not(ancestor::footer or ancestor::header or ancestor::main or ancestor::article)]"
)
"""Navigations beside the text, without those of links to the page before and behind."""
_WORDS = 6
"""Words of a paragraph that is more than a label."""
_INDEX = re.compile(r"\bindex\b", re.IGNORECASE)
_INDEX_LINKS = 20
_INDEX_TEXT = 30
"""Least links of an index, and most characters between them for each."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a page says. Links and other addresses are as of `resolved`."""

    file: str
    theme: Theme
    title: str
    site_name: str
    language: str
    canonical: str
    redirect: str
    is_indexed: bool
    """False if robots are told not to index the page."""
    is_page: bool
    """False if the theme says that it is not a page of the book."""
    version: str
    next: str
    navigation: tuple[Entry, ...]
    contents: tuple[Entry, ...]
    """The table of contents in its text."""
    links: tuple[str, ...]
    """Links and frames in the order of the page, without those of the navigation."""
    paragraphs: frozenset[int]
    """Hashes of its paragraphs and listings, without those of a few words."""
    is_index: bool
    """Whether it is an index of terms: a title says so, and little text is between many links."""

    @property
    def all_links(self) -> Iterator[str]:
        """Yield the pages that it leads to, those of its navigation first."""
        yield from (entry.target for entry in self.navigation)
        yield self.next
        yield self.redirect
        yield from self.links


@lru_cache(1 << 16)
def resolved(href: str, folder: str) -> str:
    """Return where a link of a page in `folder` leads, without fragment.

    It is a path below the site's folder, such as `guide/a.html`, or, as it stands, a path that
    begins with a slash or an http(s) URL; "" if it leads to no other page.
    """
    target = href.strip().partition("#")[0]
    if not target or "?" in target:
        return ""
    if target.startswith(("http://", "https://", "/")):
        return f"https:{target}" if target.startswith("//") else target
    if ":" in target.partition("/")[0]:
        return ""
    path = posixpath.normpath(posixpath.join(folder, unquote(target)))
    if path.startswith(".."):
        return ""
    is_folder = target.endswith(("/", ".")) and path != "."
    return f"{path}/" if is_folder else "./" if path == "." else path


def read_facts(data: bytes, file: str) -> PageFacts:
    """Read what the page in this file, relative to the site's folder, says."""
    root = parse(data, file)
    title = " ".join((root.findtext(".//head/title") or "").split())
    base = next((one.get("href", "") for one in root.iter("base") if one.get("href")), "")
    folder = posixpath.dirname(file)
    folder = resolved(base, folder) if base and "://" not in base else folder
    names = ("name", "property", "http-equiv")
    metas = {
        next(filter(None, map(one.get, names)), "").lower(): one.get("content") or ""
        for one in root.iter("meta")
    }
    theme = theme_of(root)
    refresh = _REFRESH.match(metas.get("refresh", ""))
    content = theme.content(root)
    navigation = tuple(_entries(_menus(root, theme), theme, file, folder))
    listed = {"", *(entry.target for entry in navigation)}
    leading = root.iter("a", "iframe", "frame")
    links = (resolved(one.get("href") or one.get("src") or "", folder) for one in leading)
    paragraphs = () if content is None else content.iter("p", "pre")
    texts = (str(one.text_content()) for one in paragraphs)
    return PageFacts(
        file,
        theme,
        title,
        (metas.get("og:site_name") or metas.get("book:title", "")).strip(),
        (root.get("lang") or root.get("xml:lang") or "").strip(),
        _first(folder, root.xpath("//link[@rel='canonical']")),
        resolved(refresh[1], folder) if refresh else "",
        not {"noindex", "none"} & set(re.split(r"[\s,]+", metas.get("robots", "").lower())),
        not theme.select("no_page", root),
        metas.get("docusaurus_version", ""),
        _first(folder, theme.select("next", root)),
        navigation,
        tuple(_entries(theme.select("contents", root), theme, file, folder)),
        tuple(dict.fromkeys(one for one in links if one not in listed)),
        frozenset(hash(text.strip()) for text in texts if text.count(" ") >= _WORDS - 1),
        content is not None and _is_index(content, title),
    )


def _is_index(content: HtmlElement, title: str) -> bool:
    titles = (title, *map(_text, islice(content.iter("h1", "h2"), 1)))
    links = content.findall(".//a[@href]") if any(map(_INDEX.search, titles)) else []
    between = len(_text(content)) - sum(len(_text(one)) for one in links)
    return len(links) >= _INDEX_LINKS and between < _INDEX_TEXT * len(links)


def _text(element: HtmlElement) -> str:
    return " ".join(str(element.text_content()).split())


def _menus(root: HtmlElement, theme: Theme) -> list[HtmlElement]:
    """Return the elements that hold the table of contents.

    Of an unknown theme it is the navigation with the most links beside the text. That of the
    current one of several tabs is put below it.
    """
    if "navigation" in theme.selectors:
        menus = theme.select("navigation", root)
        for tab in theme.select("tab", root)[:1]:
            tab.extend(menus)
        return [*theme.select("tabs", root), *menus]
    return sorted(root.xpath(_BESIDE), key=lambda one: -len(one.findall(".//a")))[:1]


def _entries(menus: Sequence[HtmlElement], theme: Theme, file: str, folder: str) -> Iterator[Entry]:
    """Yield the entries of these elements, each once if one is inside another."""
    inner = set(menus)
    outer = [one for one in menus if inner.isdisjoint(one.iterancestors())]
    labels, nests, numbers = (
        {found for menu in outer for found in theme.select(key, menu)}
        for key in ("label", "nest", "number")
    )
    seen = {file}
    for element in chain.from_iterable(menu.iter() for menu in outer):
        if element in labels and labels.isdisjoint(element.iterancestors()):
            target = _target(element, file, folder, seen)
            seen.add(target)
            number, title = _numbered(element, numbers)
            is_label = not target and (element.get("href") or "#") == "#"
            if title and (target or (is_label and any(map(str.isalnum, title)))):
                depth = sum(one in nests for one in element.iterancestors())
                yield Entry(depth, title, number, target)


def _target(link: HtmlElement, file: str, folder: str, seen: Set[str]) -> str:
    """Return the page that an entry leads to; "" if it is to a section of one of those `seen`."""
    href = link.get("href", "#").strip()
    around = " ".join(one.get("class") or "" for one in (link, *link.xpath("parent::li")))
    # Zensical, Sphinx and the Carpentries show the current page in its table of contents so.
    if not href or (href == "#" and {"current", "current-chapter"} & {*around.lower().split()}):
        return file
    target = resolved(href, folder)
    return "" if "#" in href and target in seen else target


def _numbered(element: HtmlElement, numbers: set[HtmlElement]) -> tuple[int, str]:
    """Return the number, its first part alone, and the title that an entry shows."""
    text = _text(element)
    found = _NUMBER.match(text)
    shown = (_text(one) for one in (element.iter() if numbers else ()) if one in numbers)
    number = next(shown, found[0] if found else "")
    first = _FIRST_NUMBER.match(number)
    return int(first[0]) if first else 0, text.removeprefix(number).strip()


def _first(folder: str, links: Iterable[HtmlElement]) -> str:
    """Return where the first of these links leads that leads to a page; "" if none does."""
    return next(filter(None, (resolved(one.get("href") or "", folder) for one in links)), "")
