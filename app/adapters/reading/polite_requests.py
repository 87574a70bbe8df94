"""Requests of a robot: at the pace and within the rules that a site asks for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TypeAlias
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx
from protego import Protego

from app.domain.errors import FileRefused, InputError, ProviderUnavailable

AGENT = "textbook-rag"
_ROBOTS_BYTES = 500_000
CONNECTIONS = 2
SECONDS = 60.0
"""Maximum time for one page."""
_PAUSE = 0.2
"""Seconds before each request of a connection; a longer Crawl-delay takes precedence."""
_ATTEMPTS = 3
_LONGEST_WAIT = 300.0
"""Maximum seconds to wait for a server that refuses for a while."""
_WAIT = 5.0
"""Seconds to wait for a server that refuses for a while and does not say how long."""

Sleep: TypeAlias = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Bounds on a site."""

    pages: int = 10_000
    size: int = 1_000_000_000
    """Bytes of all pages."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer to a request for `url`."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_html(self) -> bool:
        is_other = "html" not in self.headers.get("content-type", "html")
        return self.status == httpx.codes.OK and not is_other

    @property
    def target(self) -> str:
        """The address that a redirect leads to; "" of any other answer."""
        is_redirect = self.status in (301, 302, 303, 307, 308)
        return joined(self.url, self.headers.get("location", "")) if is_redirect else ""


def joined(base: str, link: str) -> str:
    """Return the absolute address of a link, without fragment; "" if it is none."""
    try:
        return urldefrag(urljoin(base, link)).url if link else ""
    except ValueError:
        return ""


class PageFailed(Exception):
    """The page cannot be had; the text says why."""


@dataclass(slots=True)
class PoliteRequests:
    client: httpx.AsyncClient
    limits: FetchLimits
    sleep: Sleep
    sitemaps: list[str] = field(default_factory=list)
    """The sitemaps that robots.txt names."""
    _robots: Protego = field(default_factory=lambda: Protego.parse(""))
    _pause: float = 0.0
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the server has asked for time."""
    _size: int = 0

    async def read_robots(self, url: str) -> None:
        """Read the rules of a page's site. ProviderUnavailable if the server does not tell them."""
        address = urljoin(url, "/robots.txt")
        try:
            answer = await self.get(address, _ROBOTS_BYTES)
        except PageFailed as error:
            message = f"{address}: {error}; try again later"
            raise ProviderUnavailable(message) from error
        rules = answer.body.decode("utf-8", "replace") if answer.status == httpx.codes.OK else ""
        self._robots = Protego.parse(rules)
        self._pause = max(_PAUSE, self._robots.crawl_delay(AGENT) or 0)
        own = urlsplit(url).netloc
        self.sitemaps = [one for one in self._robots.sitemaps if urlsplit(one).netloc == own]

    def may_fetch(self, url: str) -> bool:
        return bool(self._robots.can_fetch(url, AGENT))

    async def get(self, url: str, most: int, headers: Mapping[str, str] | None = None) -> Answer:
        """Get at most so many bytes, in several attempts.

        PageFailed if the server does not send them. FileRefused for a larger page.
        ProviderUnavailable if the server asks to come back much later.
        """
        reason = ""
        for attempt in range(_ATTEMPTS):
            async with self._gate:
                pass
            await self.sleep(self._pause + 2**attempt - 1)
            try:
                async with asyncio.timeout(SECONDS):
                    answer = await self._get(url, most, headers)
            except (httpx.RequestError, httpx.InvalidURL, TimeoutError) as error:
                reason = str(error) or type(error).__name__
                continue
            if answer.status in (429, 503):
                await self._wait(_retry_after(answer.headers), url)
            elif answer.status < httpx.codes.INTERNAL_SERVER_ERROR:
                return answer
            reason = f"answers {answer.status}"
        raise PageFailed(reason)

    async def _get(self, url: str, most: int, headers: Mapping[str, str] | None) -> Answer:
        body = bytearray()
        async with self.client.stream("GET", url, headers=headers) as response:
            async for part in response.aiter_bytes():
                body += part
                self._size += len(part)
                if len(body) > most:
                    message = f"the page has more than the limit of {most:,} bytes: not read"
                    raise FileRefused(message, url)
                if self._size > self.limits.size:
                    message = f"more than {self.limits.size:,} bytes: give a part of the site"
                    raise InputError(message)
        return Answer(url, response.status_code, response.headers, bytes(body))

    async def _wait(self, seconds: float, url: str) -> None:
        if seconds > _LONGEST_WAIT:
            message = f"{url}: the server asks to wait {seconds:.0f} seconds; try again later"
            raise ProviderUnavailable(message, seconds)
        async with self._gate:
            await self.sleep(seconds)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that the server asks to wait."""
    said = headers.get("retry-after", "")
    try:
        return (
            float(said) if said.isdigit() else parsedate_to_datetime(said).timestamp() - time.time()
        )
    except ValueError:
        return _WAIT
