"""The check of deep links on the pages of a built site."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urldefrag, urlsplit

from app.domain.urls import TEXT_DIRECTIVE, PageText


@dataclass(frozen=True, slots=True)
class BuiltPage:
    """A page that a site generator built: the ids of its elements, and its text as it is shown."""

    ids: frozenset[str]
    text: PageText

    def fault(self, url: str) -> str:
        """Return the fault of a link to this page; "" if its anchor and quote are found."""
        anchor, _, directive = urlsplit(url).fragment.partition(TEXT_DIRECTIVE)
        if anchor and unquote(anchor) not in self.ids:
            return f"no element has the id {unquote(anchor)!r}"
        if not directive:
            return ""
        said, _, suffix = map(unquote, directive.partition(",-"))
        found = self.text.count(said, suffix)
        if found == 1:
            return ""
        shown = f"{said} {suffix}".rstrip()
        return f"the quote is not unique: {shown!r}" if found else f"no quote {shown!r}"


@dataclass(frozen=True, slots=True)
class DeepLink:
    """A paragraph's deep link. `start` is the paragraph's first code point in its file."""

    paragraph_id: str
    url: str
    kind: str
    file: str
    start: int


@dataclass(frozen=True, slots=True)
class Miss:
    """A broken link, or a missing page with all links to it."""

    file: str
    url: str
    fault: str
    paragraph_id: str = ""


def check_links(
    links: Iterable[DeepLink], page_at: Callable[[str], BuiltPage | None]
) -> list[Miss]:
    """Return the misses in reading order; `page_at` reads each page once, None if there is none."""
    by_page: dict[str, list[DeepLink]] = {}
    for link in links:
        by_page.setdefault(urldefrag(link.url).url, []).append(link)
    misses: list[Miss] = []
    for url, own in by_page.items():
        page = page_at(url)
        if page is None:
            misses.append(Miss(own[0].file, url, f"no such page, {len(own)} links"))
            continue
        faults = ((link, page.fault(link.url)) for link in own)
        misses += [Miss(one.file, one.url, why, one.paragraph_id) for one, why in faults if why]
    return misses
