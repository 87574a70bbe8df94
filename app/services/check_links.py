"""Checks a book's deep links on its built site."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urldefrag

from app.domain.page_text import BuiltPage

_PAGES_AT_ONCE = 8


class BuiltSite(Protocol):
    """The pages of a built site."""

    async def page(self, url: str) -> BuiltPage | None:
        """Return the built page at this URL of the book; None if the site has none.

        InputError if the site cannot be read.
        """
        ...


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


@dataclass(frozen=True, slots=True)
class Checked:
    """Misses in reading order, and the numbers of pages and links checked."""

    misses: tuple[Miss, ...]
    pages: int
    links: int


async def check_links(links: Iterable[DeepLink], site: BuiltSite) -> Checked:
    """Check the links, reading each page once. InputError if the site cannot be read."""
    by_page: dict[str, list[DeepLink]] = {}
    for link in links:
        by_page.setdefault(urldefrag(link.url).url, []).append(link)
    turn = asyncio.Semaphore(_PAGES_AT_ONCE)

    async def misses_of(url: str) -> list[Miss]:
        async with turn:
            page = await site.page(url)
        if page is None:
            fault = f"no such page, {len(by_page[url])} links"
            return [Miss(by_page[url][0].file, url, fault)]
        faults = ((link, page.fault(link.url)) for link in by_page[url])
        return [
            Miss(link.file, link.url, fault, link.paragraph_id) for link, fault in faults if fault
        ]

    found = await asyncio.gather(*map(misses_of, by_page))
    return Checked(
        tuple(miss for misses in found for miss in misses),
        len(by_page),
        sum(map(len, by_page.values())),
    )
