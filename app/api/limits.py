"""Limits per client address: the request rate and the concurrent requests."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from cachetools import LRUCache
from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.domain.errors import ConfigError, Overloaded, TooManyRequests
from app.services.recording import stage

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
_SECONDS_TO_FILL = 60.0
SUBSCRIBERS_A_SITE = 8
"""Capacity of a site's bucket, in multiples of a subscriber's."""


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
    """Questions per minute, and the capacity of a bucket; 0 means no limit."""
    clock: Callable[[], float] = time.monotonic
    """Gives seconds."""
    _buckets: LRUCache[tuple[str, str], tuple[float, float]] = field(
        default_factory=lambda: LRUCache(MAX_BUCKETS), init=False
    )
    """(kind, client) -> (fill level from 0 to 1, time in seconds)."""

    def admit(self, address: str, charge: Charge) -> float:
        """Take the cost and return 0; if not enough is left, return the seconds to wait."""
        if not self.per_minute:
            return 0.0
        now = self.clock()
        # For IPv4 both keys are equal; the last one, the subscriber's, applies.
        allowances = {site(address): SUBSCRIBERS_A_SITE, subscriber(address): 1}
        costs = {
            (charge.kind, client): min(1.0, charge.questions / self.per_minute / times)
            for client, times in allowances.items()
        }
        filled = {key: self._filled(key, now) for key in costs}
        missing = max(cost - filled[key] for key, cost in costs.items())
        admitted = missing <= 0
        for key, cost in costs.items():
            self._buckets[key] = (filled[key] - cost * admitted, now)
        return 0.0 if admitted else missing * _SECONDS_TO_FILL

    def _filled(self, key: tuple[str, str], now: float) -> float:
        left, then = self._buckets.get(key, (1.0, now))
        return min(1.0, left + (now - then) / _SECONDS_TO_FILL)


def charge_address(request: Request, charge: Charge) -> None:
    """Charge the request's address. TooManyRequests if a limit is reached."""
    limit: RateLimit = request.app.state.rate_limit
    wait = limit.admit(client_of(request), charge)
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
LONGEST_WAIT = 5.0
"""Maximum seconds that a request waits for its turn."""


@dataclass(slots=True)
class FairQueue:
    """Places for requests that run at once. Clients that wait get the next free ones in turn.

    While no other client waits, one client may hold all places.
    """

    places: int
    longest_wait: float = LONGEST_WAIT
    """Seconds."""
    held: int = field(default=0, init=False)
    _waiting: OrderedDict[str, deque[asyncio.Future[None]]] = field(
        default_factory=OrderedDict, init=False
    )
    """Each client's requests, oldest first; the next client first."""

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """Hold a place during the block. Overloaded if none becomes free in time."""
        if self.held < self.places:
            self.held += 1
        else:
            with stage("queue"):
                await self._turn(client)
        try:
            yield
        finally:
            self._release()

    async def _turn(self, client: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            async with asyncio.timeout(self.longest_wait):
                await turn
        except BaseException as error:
            if not turn.cancelled():  # it got a place in this very moment
                self._release()
            if isinstance(error, TimeoutError):
                message = "too many questions are being answered; ask again in a moment"
                raise Overloaded(message, RETRY_SECONDS) from None
            raise

    def _release(self) -> None:
        """Give the place to the next client; requests that stopped waiting are passed over."""
        while self._waiting:
            client, turns = self._waiting.popitem(last=False)
            while turns:
                turn = turns.popleft()
                if not turn.done():
                    if turns:
                        self._waiting[client] = turns
                    turn.set_result(None)
                    return
        self.held -= 1


SEARCHES_AT_ONCE = 24
"""Searches that run at once. One takes a few ms of one core; more only share it, so that all of
them come late."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Limits of the server on concurrent answers and searches."""

    answers: FairQueue
    """Answers until they are sent. While they wait for a model they use little CPU."""
    searches: FairQueue
    """Searches. Without a limit, a burst of questions would start all provider calls first, and
    they would time out while the CPU is busy with searches."""


def capacity_of(request: Request) -> Capacity:
    capacity: Capacity = request.app.state.capacity
    return capacity


def client_place(queue: FairQueue, request: Request) -> AbstractAsyncContextManager[None]:
    """Return a block that holds a place for the request's client. Raises Overloaded."""
    return queue.place(site(client_of(request)))


async def answer_place(request: Request) -> AsyncIterator[None]:
    """Dependency: hold an answer's place until the response is sent. Raises Overloaded."""
    async with client_place(capacity_of(request).answers, request):
        yield
