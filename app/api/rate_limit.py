"""Rate limit: a token bucket for each client and kind of request.

Kinds are limited separately: a client without questions left can still follow citations, and
readers do not lock out a health check from the same address. An IPv6 address draws from two
buckets, its subscriber's and its site's.

The `limits` package was tried: its memory storage scans all keys at each request (18 ms at 60,000
keys) and has no limit on their number (decision 0001).
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
"""Limit on stored buckets; the least recently used are dropped, which makes them full."""
SUBSCRIBERS_A_SITE = 8
"""A site's allowance, in multiples of a subscriber's."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Cost of a request: a number of questions, from the bucket of its kind."""

    kind: str
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
"""Cost of all other paths: glossary, citations, lists, pages, unknown paths."""


@dataclass(slots=True)
class RateLimit:
    per_minute: float
    """Questions a minute; 0: no limit."""
    burst: int
    """Capacity of a bucket, in questions."""
    clock: Callable[[], float] = time.monotonic
    """Returns seconds."""
    _buckets: LRUCache[tuple[str, str], tuple[float, float]] = field(
        default_factory=lambda: LRUCache(MAX_BUCKETS), init=False
    )
    """(kind, client) -> (share left of a full bucket, time)."""

    def admit(self, address: str, charge: Charge) -> float:
        """Take the cost and return 0, or return the seconds until the bucket has enough."""
        if not self.per_minute:
            return 0.0
        now = self.clock()
        # The subscriber comes last: for IPv4 both keys are equal.
        allowances = {site(address): SUBSCRIBERS_A_SITE, subscriber(address): 1}
        costs = {
            (charge.kind, client): min(1.0, charge.questions / self.burst / times)
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
    """Middleware that refuses requests above the limit before their body is read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            limit: RateLimit = request.app.state.rate_limit
            charge = CHARGES.get(scope["path"], READING)
            wait = limit.admit(client_of(request), charge)
            if wait:
                detail = f"too many requests from your address; try again in {wait:.1f} s"
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
