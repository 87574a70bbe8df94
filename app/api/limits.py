"""Limits per client address: the request rate and the concurrent requests."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from cachetools import LRUCache
from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.domain.errors import ConfigError, Overloaded, TooManyRequests

SUBSCRIBER_BITS = 64
"""IPv6 prefix length of a subscriber: the smallest network that a provider assigns."""
SITE_BITS = 48
"""IPv6 prefix length of a site: the largest network that a customer usually gets (RFC 6177)."""


def client_of(request: Request) -> str:
    """Return the client's address, behind a trusted proxy that of the proxy's client; or ""."""
    return request.client.host if request.client else ""


def subscriber(address: str) -> str:
    """Return the key of a subscriber: an IPv4 address, or an IPv6 /64 prefix."""
    return _key(address, SUBSCRIBER_BITS)


def site(address: str) -> str:
    """Return the key of a site: an IPv4 address, or an IPv6 /48 prefix."""
    return _key(address, SITE_BITS)


@lru_cache(maxsize=4_096)
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


MAX_BUCKETS = 20_000
"""Maximum number of stored buckets. The least recently used ones are dropped; a dropped bucket
counts as full."""
SUBSCRIBERS_A_SITE = 8
"""Capacity of a site's bucket, in multiples of a subscriber's."""
MINUTES_A_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Charge:
    """Cost of a request: the number of questions taken from the bucket of this kind."""

    kind: str
    questions: float


CHARGES: Mapping[str, Charge] = {
    "/v1/chat": Charge("questions", 1.0),
    "/v1/chat/completions": Charge("questions", 1.0),
    "/v1/ai-sdk": Charge("questions", 1.0),
    "/v1/search": Charge("questions", 0.5),
    "/healthz": Charge("health", 0.02),
    "/readyz": Charge("health", 0.05),
    "/metrics": Charge("health", 0.05),
}
READING = Charge("reading", 0.1)
"""Cost of all other paths: glossary, citations, lists, pages, unknown paths."""
WHOLE_BOOK = Charge("reading", 2.0)
"""Cost of a book's whole text, a few MB."""


def charge_of(path: str) -> Charge:
    if path.endswith("/llms-full.txt"):
        return WHOLE_BOOK
    return CHARGES.get(path, READING)


def daily(questions: int, clock: Callable[[], float] = time.monotonic) -> RateLimit:
    """Return a limit of questions per day; 0 means no limit. The bucket refills constantly."""
    return RateLimit(questions / MINUTES_A_DAY, max(1, questions), clock)


@dataclass(slots=True)
class RateLimit:
    """A token bucket for each client and kind of request.

    Kinds are limited separately: a client without questions left can still follow citations, and
    readers do not block a health check from the same address. An IPv6 address uses two buckets, its
    subscriber's and its site's.

    The `limits` package was tried: its memory storage scans all keys at each request (18 ms at
    60,000 keys) and has no limit on their number (decision 0001).
    """

    per_minute: float
    """Questions per minute; 0 means no limit."""
    burst: int
    """Capacity of a bucket, in questions."""
    clock: Callable[[], float] = time.monotonic
    """Gives seconds."""
    _buckets: LRUCache[tuple[str, str], tuple[float, float]] = field(
        default_factory=lambda: LRUCache(MAX_BUCKETS), init=False
    )
    """(kind, client) -> (fill level from 0 to 1, time in seconds)."""

    def admit(self, address: str, charge: Charge) -> float:
        """Take the cost and return 0; if not enough is left, return the seconds to wait."""
        # For IPv4 both keys are equal; the last one, the subscriber's, applies.
        return self.take({site(address): SUBSCRIBERS_A_SITE, subscriber(address): 1}, charge)

    def take(self, allowances: Mapping[str, int], charge: Charge) -> float:
        """Take the cost from the buckets of all these clients or of none; returns as `admit`.

        `allowances` has each client's bucket capacity, in multiples of `burst`.
        """
        if not self.per_minute:
            return 0.0
        now = self.clock()
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


def charge_address(request: Request, charge: Charge) -> None:
    """Charge the request's address. TooManyRequests if a limit is reached."""
    limit: RateLimit = request.app.state.rate_limit
    daily_limit: RateLimit = request.app.state.daily_limit
    address = client_of(request)
    wait = limit.admit(address, charge)
    if not wait and charge.kind == "questions":
        wait = daily_limit.admit(address, charge)
    if wait:
        message = f"too many requests from your address; try again in {wait:.1f} s"
        raise TooManyRequests(message, round(wait, 3))


class RateLimited:
    """Middleware that refuses requests above the rate limit before their body is read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            charge_address(Request(scope), charge_of(scope["path"]))
        await self._app(scope, receive, send)


RETRY_SECONDS = 1.0
"""Retry-After for an overload; a search takes less time."""


LONGEST_WAIT = 1.5
"""Maximum seconds of CPU time that may be queued; a request that would exceed it is refused."""
LEAST_SLOTS = 8
_LONGEST_SAMPLE = 0.2
"""Maximum seconds that one request contributes to the average."""
_NEW_SAMPLE = 0.05
"""Minimum weight of the newest request in the moving average."""
_SAMPLE_EVERY = 0.02
"""Minimum seconds between samples: with many threads, reading the CPU clock takes up to 0.4 ms."""


@dataclass(slots=True)
class RequestCost:
    """Moving average of the CPU time of finished requests.

    The first request is left out, since it loads models. Python uses one core, so concurrent
    requests wait for each other's CPU time, though not for each other's provider calls.
    """

    cpu: Callable[[], float] = time.process_time
    """Gives the CPU time of the process in seconds."""
    clock: Callable[[], float] = time.monotonic
    """Gives seconds."""
    each: float = field(default=0.0, init=False)
    """Average seconds of CPU time per request; 0 until two requests have ended."""
    _ended: int = field(default=0, init=False)
    """Requests in the average, plus the first one."""
    _since_mark: int = field(default=0, init=False)
    """Requests that ended since `_mark`."""
    _not_sampled: int = field(default=0, init=False)
    """Requests that ended between two samples; they add to the weight of the next sample."""
    _mark: float | None = field(default=None, init=False)
    """CPU time at the start of the running sample; None if no sample is running."""
    _due: float = field(default=-math.inf, init=False)
    """Time from which the CPU clock may be read again."""

    @property
    def slots(self) -> int:
        """Number of requests whose CPU time fits into LONGEST_WAIT, at least LEAST_SLOTS."""
        return max(LEAST_SLOTS, int(LONGEST_WAIT / self.each)) if self.each else sys.maxsize

    def begin(self) -> None:
        """Record that a request begins while no other is running."""
        if self._mark is None and self.clock() >= self._due:
            self._read()

    def end(self, *, idle: bool) -> None:
        """Record that a request has ended; `idle` if no other is running."""
        if self._mark is None:
            self._not_sampled += 1
            if not idle and self.clock() >= self._due:
                self._read()
            return
        self._since_mark += 1
        if idle or self.clock() >= self._due:
            self._add(self._mark)
            if idle:
                self._mark = None

    def _read(self) -> float:
        self._due = self.clock() + _SAMPLE_EVERY
        self._since_mark = 0
        self._mark = self.cpu()
        return self._mark

    def _add(self, mark: float) -> None:
        ended = self._since_mark
        stands_for = ended + self._not_sampled
        sample = min((self._read() - mark) / ended, _LONGEST_SAMPLE)
        if self._ended:
            share = max(_NEW_SAMPLE, 1 / self._ended)
            self.each += (sample - self.each) * (1 - (1 - share) ** stands_for)
        self._ended += stands_for
        self._not_sampled = 0


@dataclass(slots=True)
class FairSlots:
    """`total` slots, shared fairly by clients; fewer slots while requests are slow.

    A client gets another slot only if it holds fewer slots than are free. So one client gets at
    most half of the slots, two clients a third each, and a new client finds a free slot. The slots
    run out only with about as many clients as slots. See Choudhury and Hahne, "Dynamic queue length
    thresholds for shared-memory packet switches", 1998.
    """

    total: int
    cost: RequestCost | None = None
    most: int = 0
    """Maximum slots of one client; 0 means no limit other than its share."""
    _held: Counter[str] = field(default_factory=Counter, init=False)

    @property
    def free(self) -> int:
        total = min(self.total, self.cost.slots) if self.cost else self.total
        return total - self._held.total()

    def take(self, client: str, *, shared: bool = True) -> bool:
        """Try to take a slot; return whether the client got one. The caller must `release` it.

        With `shared` False, for a trusted proxy, the client may take every free slot.
        """
        held = self._held.get(client, 0) if shared else 0
        if self.free <= held or 0 < self.most <= held:
            return False
        if self.cost and not self._held:
            self.cost.begin()
        self._held[client] += 1
        return True

    def release(self, client: str) -> None:
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        if self.cost:
            self.cost.end(idle=not self._held)


@dataclass(frozen=True, slots=True)
class Capacity:
    """Limits of the server on concurrent answers and searches."""

    answers: FairSlots
    """Answers until they are sent. While they wait for a model they use little CPU."""
    searches: FairSlots
    """Searches that run or wait for the CPU; a longer queue would delay all of them by seconds."""


def capacity_of(request: Request) -> Capacity:
    capacity: Capacity = request.app.state.capacity
    return capacity


@contextmanager
def client_slot(slots: FairSlots, request: Request) -> Iterator[None]:
    """Hold a slot for the request's client during the block. Overloaded if none is free."""
    client = site(client_of(request))
    if not slots.take(client):
        whose = "from your address " if slots.free else ""
        message = f"too many questions {whose}are being answered; ask again in a moment"
        raise Overloaded(message, RETRY_SECONDS)
    try:
        yield
    finally:
        slots.release(client)


async def answer_slot(request: Request) -> AsyncIterator[None]:
    """Dependency: hold an answer slot until the response is sent. Raises Overloaded."""
    with client_slot(capacity_of(request).answers, request):
        yield
