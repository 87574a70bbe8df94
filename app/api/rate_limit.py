"""How many questions one client may ask: each costs money or time.

A token bucket for each address: it holds `burst` questions and fills up by `per_minute` a minute.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

from fastapi import HTTPException, Request

MAX_CLIENTS = 10_000
"""Buckets kept; beyond that those unused for longest are forgotten, which makes them full."""
_SITE_BITS = 64  # of an IPv6 address: one subscriber has all that begin with them


@dataclass(slots=True)
class RateLimit:
    per_minute: float
    """0: no limit."""
    burst: int
    clock: Callable[[], float] = time.monotonic
    """In seconds."""
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict, init=False)
    """By client: the questions it had left, and when."""

    def admit(self, client: str) -> float:
        """Return 0 and take one question from the client's bucket, or the seconds until there is
        one.
        """
        if not self.per_minute:
            return 0.0
        now, rate = self.clock(), self.per_minute / 60
        left, then = self._buckets.pop(client, (float(self.burst), now))
        left = min(self.burst, left + (now - then) * rate)
        admitted = left >= 1
        self._buckets[client] = (left - admitted, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if admitted else (1 - left) / rate


def client_key(address: str) -> str:
    """Return what stands for one client: its IPv4 address, or the first half of its IPv6 one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return f"{int(parsed) >> _SITE_BITS:x}"


async def within_rate_limit(request: Request) -> None:
    """Raise status 429 when the client asks too much. For use as a route's dependency."""
    limit: RateLimit = request.app.state.rate_limit
    wait = limit.admit(client_key(request.client.host if request.client else ""))
    if wait:
        detail = f"too many questions from your address; the next is taken in {wait:.1f} s"
        raise HTTPException(429, detail, {"Retry-After": f"{wait:.3f}"})
