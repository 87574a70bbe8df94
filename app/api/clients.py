"""The client's address, and the part of it that identifies a client for limits."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from fastapi import Request

from app.domain.errors import ConfigError

SUBSCRIBER_BITS = 64
"""Prefix length of one IPv6 subscriber, who has at least a /64."""
SITE_BITS = 48
"""Prefix length of one IPv6 customer, who may have up to a /48 (RFC 6177)."""


def client_of(request: Request) -> str:
    """Return the client's address (behind a trusted proxy, the proxy's client's); "" if none."""
    return request.client.host if request.client else ""


def subscriber(address: str) -> str:
    """Return the key of a subscriber: an IPv4 address, or an IPv6 /64 prefix."""
    return _key(address, SUBSCRIBER_BITS)


def site(address: str) -> str:
    """Return the key of a customer: an IPv4 address, or an IPv6 /48 prefix."""
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
    """Parse a comma-separated list of networks. ConfigError names an invalid one."""
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
