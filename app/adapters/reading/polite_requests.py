"""Requests of a robot: as a site asks for in pace and rules, and to public addresses only."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias
from urllib.parse import urljoin

import httpx
from protego import Protego

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
_EMBEDS_IPV4 = tuple(map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))
"""IPv6 networks whose addresses stand for an IPv4 address (RFC 6052, 8215, 3056, 4380)."""


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
            raise ProviderUnavailable(f"{address}: {error}; try again later") from error
        self._robots = Protego.parse(body.decode("utf-8", "replace") if response.is_success else "")
        if (self._robots.crawl_delay(AGENT) or 0) > _LONGEST_WAIT:
            message = f"{address} asks for over {_LONGEST_WAIT:.0f} seconds between requests"
            raise InputError(message)

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
            except (httpx.RequestError, httpx.InvalidURL, UnicodeError, TimeoutError) as error:
                # Without the number that the system gives it: "[Errno -2] ..."
                reason = str(error).rpartition("] ")[2] or type(error).__name__
                continue
            if response.status_code < 500 and response.status_code != 429:
                return response, body
            asked = response.headers.get("retry-after", "")
            waits = _WAIT if response.status_code in (429, 503) else 0.0
            reason = f"answers {response.status_code}"
            wait = float(asked) if asked.isdecimal() else waits
            if wait > _LONGEST_WAIT:
                message = f"{url}: the server asks to wait {wait:.0f} seconds; try again later"
                raise ProviderUnavailable(message, wait)
        raise PageFailed(reason)

    async def _get(self, url: str, most: int, headers: Mapping[str, str] | None) -> Answer:
        body = bytearray()
        async with self.client.stream("GET", url, headers=headers) as response:
            if "," in response.headers.get("content-encoding", ""):
                raise PageFailed("compressed twice")  # 2 KB can be gigabytes
            async for part in response.aiter_bytes():
                body += part
                self._size += len(part)
                if len(body) > most:
                    message = f"the page has more than the limit of {most:,} bytes: not read"
                    raise FileRefused(message, url)
                if self._size > MAX_SITE_BYTES:
                    raise InputError(f"more than {MAX_SITE_BYTES:,} bytes: give a part of the site")
        return response, bytes(body)


class PublicTransport(httpx.AsyncBaseTransport):
    """Resolves each host itself, and connects to the very address that it has checked.

    So a name that resolves to another address a moment later (DNS rebinding) is of no use. Each
    host has connections of its own, since a certificate is checked for one host.
    """

    def __init__(self) -> None:
        self._by_host: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request. InputError unless every address of the host is public."""
        host = request.url.host
        address = await public_address(host, request.url.port or 0)
        checked = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        if host not in self._by_host:
            self._by_host[host] = httpx.AsyncHTTPTransport()
        return await self._by_host[host].handle_async_request(checked)

    async def aclose(self) -> None:
        for transport in self._by_host.values():
            await transport.aclose()


async def public_address(host: str, port: int) -> str:
    """Resolve a host. InputError unless every address is public; httpx.ConnectError if none."""
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        message = f"{host}: no such host"
        raise httpx.ConnectError(message) from error
    addresses = [str(one[4][0]).partition("%")[0] for one in found]
    if private := next((one for one in addresses if not is_public(one)), ""):
        message = f"{host} has the address {private}, which is not public: not fetched. "
        raise InputError(f"{message}If it is your own site, run `ingest --allow-private`")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    parsed: IPv4Address | IPv6Address = ip_address(address)
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return is_public(str(parsed.ipv4_mapped))
        if parsed.is_site_local or any(parsed in network for network in _EMBEDS_IPV4):
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved
