"""Connects only to public addresses, so that a crawled site cannot reach the machine's network."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpx

from app.domain.errors import InputError

_EMBEDS_IPV4 = tuple(map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))
"""IPv6 networks whose addresses stand for an IPv4 address (RFC 6052, 8215, 3056, 4380)."""


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
        if any(parsed in network for network in _EMBEDS_IPV4):
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved
