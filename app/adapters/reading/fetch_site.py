"""Fetches a built site from its address into a folder."""

import asyncio
import mimetypes
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import httpx

from app.adapters.reading.fetch_record import FetchRecord, file_for
from app.adapters.reading.page_facts import read_facts
from app.adapters.reading.polite_requests import (
    AGENT,
    Answer,
    PageFailed,
    PoliteRequests,
    Sleep,
    http_client,
)
from app.adapters.reading.site_addresses import SITEMAP_BYTES, sitemap_urls
from app.adapters.reading.site_pages import PAGE_SUFFIXES
from app.adapters.reading.tree import MAX_BYTES
from app.domain.errors import InputError
from app.domain.urls import checked_base_url, encoded_path, encoded_url
from app.services.phases import Phases

_REDIRECTS = 10
_SITEMAPS = 100
_HTML = (None, "text/html", "application/xhtml+xml")
MAX_PAGES = 10_000
_VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
"""Headers of a page, with those that ask for it only if it has changed."""


@dataclass(frozen=True, slots=True)
class FetchedSite:
    """The folder and address for `open_site_folder`."""

    folder: Path
    base_url: str
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """Addresses that were not fetched, by reason."""


async def fetch_site(
    address: str,
    folder: Path,
    phases: Phases,
    *,
    allow_private: bool = False,
    sleep: Sleep = asyncio.sleep,
) -> FetchedSite:
    """Fetch the pages of the site below an address into `folder/pages`, one after the other.

    They are those of its sitemap or, without one, those that its links lead to. Pages of an
    earlier run are asked for only if they have changed; an interrupted run is continued. So the
    folder must belong to this address.

    InputError if the address is not http(s), not public, not allowed by robots.txt or has no page.
    FileRefused for a page of more than `MAX_BYTES`. ProviderUnavailable if the server fails.
    """
    async with http_client(allow_private=allow_private) as client:
        crawl = _Crawl(PoliteRequests(client, sleep), FetchRecord(folder))
        try:
            await crawl.begin(checked_base_url(address))
        except PageFailed as error:
            raise InputError(f"{address}: {error}") from error
        await crawl.run(phases)
    return FetchedSite(crawl.record.pages, crawl.root.rstrip("/"), crawl.left_out)


@dataclass(slots=True)
class _Crawl:
    """Fetches the pages below a root, each once."""

    requests: PoliteRequests
    record: FetchRecord
    root: str = ""
    """The address of the site, with a slash at its end."""
    left_out: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    found: set[str] = field(default_factory=set)
    """Files of the pages that are known."""
    waiting: deque[str] = field(default_factory=deque)

    async def begin(self, address: str) -> None:
        """Fetch the first page of the site, where redirects lead to. InputError if none."""
        url = address
        for _ in range(_REDIRECTS):
            above, _, name = url.rpartition("/")
            is_page = not name or name.lower().endswith(PAGE_SUFFIXES)
            self.root = f"{above}/" if is_page else f"{url}/"
            await self.requests.read_robots(url)
            if not self.requests.may_fetch(url):
                raise InputError(f"{url}: the site's robots.txt does not allow {AGENT} to read it")
            fault, target = self._kept(url, await self._get(url))
            if not fault:
                return self._add([url])
            if not target:
                raise InputError(f"{url}: {fault}, so no HTML page; give the book's address")
            url = checked_base_url(target)
        raise InputError(f"{address}: redirects in a loop")

    async def run(self, phases: Phases) -> None:
        """Fetch the pages of the sitemap; without one, those that links lead to."""
        listed = await self._sitemap()
        self._add(listed)
        with phases.phase("fetch", len(self.found) if listed else 0, "pages") as advance:
            while self.waiting:
                url = self.waiting.popleft()
                file = self._file(url)
                if file not in self.record.seen:
                    await self._fetch(url, file)
                if file in self.record.seen and not listed:
                    self._add(self._links(file))
                advance(1)
        self.record.finish()

    def _file(self, url: str) -> str:
        """Return the file for an address; "" if it is not one of a page below the root."""
        path = url.removeprefix(self.root) if f"{url}/" != self.root else ""
        if path == url or "?" in url or mimetypes.guess_type(path)[0] not in _HTML:
            return ""
        return file_for(path)

    def _add(self, urls: Iterable[str]) -> None:
        """Add pages that are not known. InputError if there are too many."""
        for url in urls:
            file = self._file(url)
            if file and file not in self.found:
                self.found.add(file)
                self.waiting.append(url)
        if len(self.found) > MAX_PAGES:
            raise InputError(f"more than {MAX_PAGES:,} pages: give a part of it")

    async def _sitemap(self) -> list[str]:
        """Return the pages below the root that the site's sitemaps list."""
        host = urljoin(self.root, "/")
        waiting = deque([*self.requests.sitemaps, f"{self.root}sitemap.xml", f"{host}sitemap.xml"])
        seen: set[str] = set()
        found: list[str] = []
        while waiting and len(seen) < _SITEMAPS:
            url = waiting.popleft()
            if url in seen or not url.startswith(host):
                continue
            seen.add(url)
            with suppress(PageFailed):
                response, body = await self.requests.get(url, SITEMAP_BYTES)
                pages, more = sitemap_urls(body if response.is_success else b"")
                found += [page for page in pages if self._file(page)]
                waiting += more
        return found

    async def _get(self, url: str) -> Answer:
        """Ask for a page only if it has changed."""
        return await self.requests.get(url, MAX_BYTES, self.record.known.get(self._file(url)))

    async def _fetch(self, url: str, file: str) -> None:
        """Fetch a page, or add the one that it leads to, or note why it is left out."""
        if not self.requests.may_fetch(url):
            self.left_out["disallowed by robots.txt"].append(url)
            return
        try:
            fault, target = self._kept(url, await self._get(url))
        except (PageFailed, OSError) as error:
            fault, target = str(error), ""
            if file in self.record.known:  # the server may have it again tomorrow
                self.record.keep(file, self.record.known[file])
        self._add([target])
        if fault and not self._file(target):
            self.left_out[fault].append(url)

    def _kept(self, url: str, answer: Answer) -> tuple[str, str]:
        """Keep a page, or the known one if it is unchanged.

        Of other answers return why they are no page, and the address that they lead to.
        """
        response, body = answer
        file = self._file(url)
        if response.status_code == httpx.codes.NOT_MODIFIED and file in self.record.known:
            self.record.keep(file, self.record.known[file])
        elif response.next_request:
            return "leads elsewhere", urldefrag(str(response.next_request.url)).url
        elif not response.is_success:
            return f"answers {response.status_code}", ""
        elif "html" not in response.headers.get("content-type", "html"):
            return "not HTML", ""
        else:
            own = {
                _VALIDATORS[one]: response.headers[one]
                for one in _VALIDATORS.keys() & response.headers.keys()
                if response.headers[one].isascii()  # what httpx can send
            }
            self.record.keep(file, own, body)
        return "", ""

    def _links(self, file: str) -> Iterator[str]:
        page = read_facts((self.record.pages / file).read_bytes(), file)
        for target in filter(None, page.all_links):
            is_address = target.startswith(("/", "http://", "https://"))
            with suppress(ValueError):
                path = target if is_address else encoded_path(target)
                yield encoded_url(urljoin(self.root, path))
