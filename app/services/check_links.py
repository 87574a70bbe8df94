"""Checks a book's deep links on its built site."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urldefrag

from app.domain.page_text import BuiltPage


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
