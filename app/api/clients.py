"""Who asks: the address behind a request, and what of it stands for one client."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from fastapi import Request

from app.domain.errors import ConfigError

SUBSCRIBER_BITS = 64
"""Of an IPv6 address: one subscriber has at least all addresses that begin with them."""
SITE_BITS = 48
"""One customer of a provider may have as much (RFC 6177)."""


def client_of(request: Request) -> str:
    """The address that asks; "" where it has none. Behind a trusted proxy, the proxy's client."""
    return request.client.host if request.client else ""


def subscriber(address: str) -> str:
    """Return what stands for one client: an IPv4 address, or an IPv6 one's first 64 bits."""
    return _key(address, SUBSCRIBER_BITS)


def site(address: str) -> str:
    """Return what stands for one customer: an IPv4 address, or an IPv6 one's first 48 bits."""
    return _key(address, SITE_BITS)


def _key(address: str, bits: int) -> str:
    parsed = _parsed(address)
    if isinstance(parsed, IPv6Address):
        return f"{int(parsed) >> (128 - bits):x}/{bits}"
    return str(parsed or address)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed


def trusted_proxies(setting: str) -> list[str]:
    """Return the networks of a comma-separated setting. ConfigError names one that is none."""
    entries = [entry.strip() for entry in setting.split(",") if entry.strip()]
    for entry in entries:
        try:
            ip_network(entry)
        except ValueError as error:
            message = f"RAG_TRUSTED_PROXIES: {error}; write addresses or networks as 10.0.0.0/8"
            raise ConfigError(message) from None
    return entries


def is_one_of(address: str, networks: list[str]) -> bool:
    parsed = _parsed(address)
    return parsed is not None and any(parsed in ip_network(one) for one in networks)
