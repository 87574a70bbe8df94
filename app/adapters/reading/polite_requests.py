"""Requests of a robot: at the pace and within the rules that a site asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urljoin

import httpx
from protego import Protego

from app.adapters.reading.public_transport import PublicTransport
from app.domain.errors import FileRefused, InputError, ProviderUnavailable

AGENT = "textbook-rag"
_ROBOTS_BYTES = 500_000
MAX_SITE_BYTES = 1_000_000_000
"""Bytes of all pages of a site."""
_SECONDS = 60.0
"""Maximum time for one page."""
_PAUSE = 0.1
"""Seconds before each request; a longer Crawl-delay takes precedence."""
_ATTEMPTS = 3
_LONGEST_WAIT = 300.0
"""Maximum seconds to wait for a server that refuses for a while."""
_WAIT = 5.0
"""Seconds to wait for a server that refuses for a while and does not say for how many."""

Sleep: TypeAlias = Callable[[float], Awaitable[object]]
Answer: TypeAlias = tuple[httpx.Response, bytes]
"""A response and its body."""


class PageFailed(Exception):
    """The page cannot be had; the text says why."""


def http_client(*, allow_private: bool) -> httpx.AsyncClient:
    """Return a client that connects to public addresses only, unless others are allowed."""
    return httpx.AsyncClient(
        transport=None if allow_private else PublicTransport(),
        headers={"User-Agent": AGENT, "Accept": "text/html,application/xhtml+xml"},
        timeout=_SECONDS,
        trust_env=False,
    )


@dataclass(slots=True)
class PoliteRequests:
    """Sends one request after the other."""

    client: httpx.AsyncClient
    sleep: Sleep
    _robots: Protego = field(default_factory=lambda: Protego.parse(""))
    _size: int = 0

    async def read_robots(self, url: str) -> None:
        """Read the rules of a page's site. ProviderUnavailable if the server does not tell them."""
        address = urljoin(url, "/robots.txt")
        try:
            response, body = await self.get(address, _ROBOTS_BYTES)
        except PageFailed as error:
            message = f"{address}: {error}; try again later"
            raise ProviderUnavailable(message) from error
        self._robots = Protego.parse(body.decode("utf-8", "replace") if is_ok(response) else "")

    def may_fetch(self, url: str) -> bool:
        return bool(self._robots.can_fetch(url, AGENT))

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps that robots.txt names."""
        return [*self._robots.sitemaps]

    async def get(self, url: str, most: int, headers: Mapping[str, str] | None = None) -> Answer:
        """Get at most so many bytes, in several attempts.

        PageFailed if the server does not send them. FileRefused for a larger page.
        ProviderUnavailable if the server asks to come back much later.
        """
        pause = max(_PAUSE, self._robots.crawl_delay(AGENT) or 0)
        reason, wait = "", 0.0
        for attempt in range(_ATTEMPTS):
            await self.sleep(pause + max(wait, 2**attempt - 1))
            try:
                async with asyncio.timeout(_SECONDS):
                    response, body = await self._get(url, most, headers)
            except (httpx.RequestError, httpx.InvalidURL, TimeoutError) as error:
                reason = str(error) or type(error).__name__
                continue
            if response.status_code < 500 and response.status_code != 429:
                return response, body
            reason, wait = f"answers {response.status_code}", _retry_after(response)
            if wait > _LONGEST_WAIT:
                message = f"{url}: the server asks to wait {wait:.0f} seconds; try again later"
                raise ProviderUnavailable(message, wait)
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
                if self._size > MAX_SITE_BYTES:
                    message = f"more than {MAX_SITE_BYTES:,} bytes: give a part of the site"
                    raise InputError(message)
        return response, bytes(body)


def is_ok(response: httpx.Response) -> bool:
    return response.status_code == httpx.codes.OK


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds that a server asks to wait that refuses for a while."""
    if response.status_code not in (429, 503):
        return 0.0
    said = response.headers.get("retry-after", "")
    return float(said) if said.isdecimal() else _WAIT
