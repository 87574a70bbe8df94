"""Fetches a built site from its address into a folder."""

from __future__ import annotations

import asyncio
import mimetypes
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urljoin

import httpx

from app.adapters.reading.fetch_record import FetchRecord, Stored, file_for
from app.adapters.reading.page_facts import read_facts
from app.adapters.reading.polite_requests import (
    AGENT,
    CONNECTIONS,
    SECONDS,
    Answer,
    FetchLimits,
    PageFailed,
    PoliteRequests,
    Sleep,
    joined,
)
from app.adapters.reading.public_transport import AddressRefused, PublicTransport
from app.adapters.reading.site_addresses import SITEMAP_BYTES, sitemap_urls
from app.adapters.reading.site_pages import PAGE_SUFFIXES
from app.adapters.reading.tree import MAX_BYTES
from app.domain.errors import InputError
from app.domain.urls import checked_base_url, encoded_path, encoded_url

_REDIRECTS = 10
_SITEMAPS = 100
_HTML = (None, "text/html", "application/xhtml+xml")
LIMITS = FetchLimits()

Progress: TypeAlias = Callable[[int, int, float], None]
"""Called with the number of pages done, the number known, and the seconds left."""


@dataclass(slots=True)
class FetchedSite:
    """The folder and address for `open_site_folder`, and how the pages came there."""

    folder: Path
    base_url: str
    fetched: int = 0
    unchanged: int = 0
    resumed: int = 0
    """Pages of an interrupted run that were not asked for again."""
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """Addresses that were not fetched, by reason."""


async def fetch_site(
    address: str,
    folder: Path,
    *,
    allow_private: bool = False,
    limits: FetchLimits = LIMITS,
    progress: Progress = lambda *_: None,
    sleep: Sleep = asyncio.sleep,
) -> FetchedSite:
    """Fetch the pages of the site below an address into `folder/pages`.

    They are those of its sitemap or, without one, those that its links lead to. Pages of an
    earlier run are asked for only if they have changed; an interrupted run is continued. So the
    folder must belong to this address.

    InputError if the address is not http(s), not public, not allowed by robots.txt or has no page.
    FileRefused for a page of more than `MAX_BYTES`. ProviderUnavailable if the server fails.
    """
    async with httpx.AsyncClient(
        transport=None if allow_private else PublicTransport(),
        headers={"User-Agent": AGENT, "Accept": "text/html,application/xhtml+xml"},
        timeout=SECONDS,
        trust_env=False,
    ) as client:
        requests = PoliteRequests(client, limits, sleep)
        record = FetchRecord(folder)
        try:
            home = await _home(requests, record, checked_base_url(address))
        except PageFailed as error:
            raise InputError(f"{address}: {error}") from error
        crawl = _Crawl(requests, record, FetchedSite(record.pages, _root(home.url).rstrip("/")))
        await crawl.run(home, progress)
        return crawl.site


async def _home(requests: PoliteRequests, record: FetchRecord, address: str) -> Answer:
    """Return the first page of the site, where redirects lead to. InputError if there is none."""
    url = address
    for _ in range(_REDIRECTS):
        await requests.read_robots(url)
        if not requests.may_fetch(url):
            message = f"{url}: the site's robots.txt does not allow {AGENT} to read it"
            raise InputError(message)
        file = _file(url, _root(url))
        answer = await requests.get(url, MAX_BYTES, _validators(record.known.get(file)))
        if not answer.target:
            if answer.is_html or answer.status == httpx.codes.NOT_MODIFIED:
                return answer
            message = f"{url}: answers {answer.status} and no HTML page; give the book's address"
            raise InputError(message)
        url = checked_base_url(answer.target)
    message = f"{address}: redirects in a loop"
    raise InputError(message)


def _root(url: str) -> str:
    """Return the address below which a site is whose first page has this URL."""
    above, _, name = url.rpartition("/")
    return f"{above}/" if not name or name.lower().endswith(PAGE_SUFFIXES) else f"{url}/"


def _file(url: str, root: str) -> str:
    """Return the file for an address; "" if it is not one of a page below the root."""
    path = url.removeprefix(root) if f"{url}/" != root else ""
    if path == url or "?" in url or mimetypes.guess_type(path)[0] not in _HTML:
        return ""
    return file_for(path)


def _validators(page: Stored | None) -> dict[str, str]:
    """Return the headers that ask for a page only if it has changed."""
    named = {"If-None-Match": page.etag, "If-Modified-Since": page.modified} if page else {}
    return {name: value for name, value in named.items() if value}


@dataclass(slots=True)
class _Crawl:
    """Fetches the pages below a root, each once."""

    requests: PoliteRequests
    record: FetchRecord
    site: FetchedSite
    found: set[str] = field(default_factory=set)
    """Files of the pages that are known."""
    waiting: deque[str] = field(default_factory=deque)

    @property
    def root(self) -> str:
        return f"{self.site.base_url}/"

    async def run(self, home: Answer, progress: Progress) -> None:
        """Fetch the pages of the sitemap; without one, those that links lead to."""
        listed = await self._sitemap()
        self.found.add(_file(home.url, self.root))
        links = self._store(home, _file(home.url, self.root))
        self._add(listed or links)
        running: set[asyncio.Task[list[str]]] = set()
        begun, done = time.monotonic(), 1
        try:
            while self.waiting or running:
                while self.waiting and len(running) < CONNECTIONS:
                    running.add(asyncio.create_task(self._page(self.waiting.popleft())))
                ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    done += 1
                    links = task.result()
                    self._add(() if listed and len(links) > 1 else links)
                    left = (time.monotonic() - begun) / (done - 1) * (len(self.found) - done)
                    progress(done, len(self.found), left)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        self.record.finish()

    def _add(self, urls: Iterable[str]) -> None:
        """Add pages that are not known. InputError if there are too many."""
        for url in urls:
            file = _file(url, self.root)
            if file and file not in self.found:
                self.found.add(file)
                self.waiting.append(url)
        if len(self.found) > self.requests.limits.pages:
            message = f"more than {self.requests.limits.pages:,} pages: give a part of it"
            raise InputError(message)

    async def _sitemap(self) -> list[str]:
        """Return the pages below the root that the site's sitemaps list."""
        usual = (f"{self.root}sitemap.xml", urljoin(self.root, "/sitemap.xml"))
        waiting = deque(self.requests.sitemaps or usual)
        seen: set[str] = set()
        found: list[str] = []
        while waiting and len(seen) < _SITEMAPS:
            url = waiting.popleft()
            if url in seen or not url.startswith(urljoin(self.root, "/")):
                continue
            seen.add(url)
            try:
                answer = await self.requests.get(url, SITEMAP_BYTES)
            except PageFailed:
                continue
            pages, more = sitemap_urls(answer.body if answer.status == httpx.codes.OK else b"")
            found += [page for page in pages if _file(page, self.root)]
            waiting += more
        return found

    async def _page(self, url: str) -> list[str]:
        """Fetch a page; return the addresses that it leads to, of a redirect the only one."""
        file = _file(url, self.root)
        page = self.record.known.get(file)
        if file in self.record.seen:
            self.site.resumed += 1
            return self._links(file)
        if not self.requests.may_fetch(url):
            return self._leave_out("disallowed by robots.txt", url)
        try:
            answer = await self.requests.get(url, MAX_BYTES, _validators(page))
            return self._store(answer, file)
        except AddressRefused:
            return self._leave_out("not at a public address", url)
        except (PageFailed, OSError) as error:
            if page:  # the server may have it again tomorrow
                self.record.keep(page)
            return self._leave_out(str(error), url)

    def _store(self, answer: Answer, file: str) -> list[str]:
        page = self.record.known.get(file)
        if answer.target:
            is_here = bool(_file(answer.target, self.root))
            return [answer.target] if is_here else self._leave_out("leads elsewhere", answer.url)
        if page and answer.status == httpx.codes.NOT_MODIFIED:
            self.record.keep(page)
            self.site.unchanged += 1
        elif answer.is_html:
            etag, modified = (answer.headers.get(one, "") for one in ("etag", "last-modified"))
            self.record.keep(Stored(file, etag, modified), answer.body)
            self.site.fetched += 1
        else:
            is_ok = answer.status == httpx.codes.OK
            return self._leave_out("not HTML" if is_ok else f"answers {answer.status}", answer.url)
        return self._links(file)

    def _links(self, file: str) -> list[str]:
        page = read_facts((self.record.pages / file).read_bytes(), file)
        targets = (page.redirect, *(one.target for one in page.navigation), page.next, *page.links)
        return [self._url(target) for target in targets if target]

    def _url(self, target: str) -> str:
        is_path = not target.startswith(("/", "http://", "https://"))
        return encoded_url(joined(self.root, encoded_path(target) if is_path else target))

    def _leave_out(self, reason: str, url: str) -> list[str]:
        self.site.left_out.setdefault(reason, []).append(url)
        return []
