"""How much one client may ask: a token bucket for each address, filled again by the minute.

A bucket is of one sort of request: who has asked all his questions can still follow citations, and
what watches the server's health is not locked out by readers behind the same address. An IPv6
address draws from two buckets, its subscriber's and its site's.

The `limits` package was tried for this: its memory storage looks at every key it has with every
request, 18 ms each at 60,000 keys, and has no bound of keys (decision 0001).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cachetools import LRUCache
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.clients import client_of, site, subscriber
from app.api.problems import problem_response

MAX_BUCKETS = 20_000
"""Kept; beyond that those unused for longest are forgotten, which makes them full."""
SUBSCRIBERS_A_SITE = 8
"""So many times one subscriber's allowance has the site that it belongs to."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a request costs: so many questions, from the bucket of its sort."""

    sort: str
    questions: float


CHARGES: Mapping[str, Charge] = MappingProxyType(
    {
        "/v1/chat": Charge("questions", 1.0),
        "/v1/search": Charge("questions", 0.5),
        "/healthz": Charge("health", 0.02),
        "/readyz": Charge("health", 0.05),
    }
)
READING = Charge("reading", 0.1)
"""Of every other path: glossary, citations, lists, pages and what is not there."""


@dataclass(slots=True)
class RateLimit:
    per_minute: float
    """Questions; 0: no limit."""
    burst: int
    """Questions at once."""
    clock: Callable[[], float] = time.monotonic
    """In seconds."""
    _buckets: LRUCache[tuple[str, str], tuple[float, float]] = field(
        default_factory=lambda: LRUCache(MAX_BUCKETS), init=False
    )
    """By sort and client: what was left, as a share of a full bucket, and when."""

    def admit(self, address: str, charge: Charge) -> float:
        """Return 0 and take what the request costs, or the seconds until there is enough."""
        if not self.per_minute:
            return 0.0
        now = self.clock()
        # In this order: an IPv4 address is both.
        allowances = {site(address): SUBSCRIBERS_A_SITE, subscriber(address): 1}
        costs = {
            (charge.sort, client): min(1.0, charge.questions / self.burst / times)
            for client, times in allowances.items()
        }
        filled = {key: self._filled(key, now) for key in costs}
        missing = max(cost - filled[key] for key, cost in costs.items())
        admitted = missing <= 0
        for key, cost in costs.items():
            self._buckets[key] = (filled[key] - cost * admitted, now)
        return 0.0 if admitted else missing * self._seconds_to_fill

    @property
    def _seconds_to_fill(self) -> float:
        return self.burst / self.per_minute * 60

    def _filled(self, key: tuple[str, str], now: float) -> float:
        left, then = self._buckets.get(key, (1.0, now))
        return min(1.0, left + (now - then) / self._seconds_to_fill)


class RateLimited:
    """Refuses who asks too much, before anything of the request's body is read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            limit: RateLimit = request.app.state.rate_limit
            charge = CHARGES.get(scope["path"], READING)
            wait = limit.admit(client_of(request), charge)
            if wait:
                detail = f"too many requests from your address; the next is taken in {wait:.1f} s"
                response = problem_response(
                    429,
                    "too_many_requests",
                    detail,
                    str(scope["state"]["request_id"]),
                    retry_after=round(wait, 3),
                )
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)
