"""Limits per client address: the rate of requests, and turns for what runs at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from ipaddress import IPv6Address, ip_address
from weakref import WeakValueDictionary

from cachetools import LRUCache
from fastapi import Request

from app.domain.errors import Overloaded, TooManyRequests
from app.services.recording import stage

NETWORK_BITS = 48
"""IPv6 prefix length of a site: the largest network that a customer usually gets (RFC 6177)."""


def client_of(request: Request) -> str:
    """Return the client's address, behind a trusted proxy that of the proxy's client; or ""."""
    return request.client.host if request.client else ""


@lru_cache(maxsize=4_096)
def network_of(address: str) -> str:
    """Return the key of a client: an IPv4 address, or an IPv6 /48 prefix."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and not parsed.ipv4_mapped:
        return f"{int(parsed) >> (128 - NETWORK_BITS):x}/{NETWORK_BITS}"
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


MAX_BUCKETS = 20_000
"""Maximum number of stored buckets. The least recently used ones are dropped; a dropped bucket
counts as full."""
SECONDS_TO_FILL = 60.0
"""A bucket holds the questions of a minute."""
ANSWER = 1.0
SEARCH = 0.5
_QUESTIONS = {
    "/v1/chat": ANSWER,
    "/v1/chat/completions": ANSWER,
    "/v1/ai-sdk": ANSWER,
    "/v1/search": SEARCH,
}
"""Cost of a request by path, in questions. Other requests are cheap, and free: a client without
questions left can still follow citations."""
_ROUNDING = 1e-6


@dataclass(slots=True)
class RateLimit:
    """A token bucket for each client; decision 0001 says why it is not the package `limits`."""

    per_minute: float
    """Questions per minute, and the capacity of a bucket; 0 means no limit."""
    clock: Callable[[], float] = time.monotonic
    """Gives seconds."""
    _full_at: LRUCache[str, float] = field(default_factory=partial(LRUCache, MAX_BUCKETS))
    """Client -> when its bucket is full again."""

    def admit(self, address: str, questions: float) -> float:
        """Take the cost and return 0; if not enough is left, return the seconds to wait."""
        if not self.per_minute:
            return 0.0
        now, client = self.clock(), network_of(address)
        cost = SECONDS_TO_FILL * min(1.0, questions / self.per_minute)
        full_at = max(now, self._full_at.get(client, now))
        wait = full_at + cost - now - SECONDS_TO_FILL
        admitted = wait < _ROUNDING
        self._full_at[client] = full_at + cost * admitted
        return 0.0 if admitted else wait


def charge(request: Request, questions: float | None = None) -> None:
    """Charge the request's address, by default what its path costs. TooManyRequests."""
    limit: RateLimit = request.app.state.rate_limit
    cost = _QUESTIONS.get(request.scope["path"]) if questions is None else questions
    if cost and (wait := limit.admit(client_of(request), cost)):
        message = f"too many requests from your address; try again in {wait:.1f} s"
        raise TooManyRequests(message, round(wait, 3))


RETRY_SECONDS = 1.0
"""Retry-After for an overload; a search takes less time."""
LONGEST_WAIT = 5.0
"""Maximum seconds that a request waits for its turn."""


class FairQueue:
    """Places for requests that run at once. Clients that wait get the next free ones in turn.

    While no other client waits, one client may hold all places. Of each client, one request at a
    time waits for a place; its others wait for that one.
    """

    def __init__(self, places: int, longest_wait: float = LONGEST_WAIT) -> None:
        """`longest_wait` is in seconds."""
        self._free = asyncio.Semaphore(places)
        self._longest_wait = longest_wait
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """Hold a place during the block. Overloaded if none becomes free in time."""
        turn = self._turns.setdefault(client, asyncio.Lock())
        with stage("queue"):
            try:
                async with asyncio.timeout(self._longest_wait), turn:
                    await self._free.acquire()
            except TimeoutError:
                message = "too many questions are being answered; ask again in a moment"
                raise Overloaded(message, RETRY_SECONDS) from None
        try:
            yield
        finally:
            self._free.release()


SEARCHES_AT_ONCE = 24
"""Searches that run at once. One takes a few ms of one core; more only share it, so that all of
them come late."""


def search_place(request: Request) -> AbstractAsyncContextManager[None]:
    """Return a block that holds a place of the server's searches. Raises Overloaded.

    Without a limit, a burst of questions would start all provider calls first, and they would time
    out while the CPU is busy with searches.
    """
    searches: FairQueue = request.app.state.searches
    return searches.place(network_of(client_of(request)))


def answer_place(request: Request) -> AbstractAsyncContextManager[None]:
    """Return a block that holds a place of the server's answers. Raises Overloaded.

    While an answer waits for its model it uses little CPU.
    """
    answers: FairQueue = request.app.state.answers
    return answers.place(network_of(client_of(request)))


async def answering(request: Request) -> AsyncIterator[None]:
    """Dependency: hold an answer's place until the response is sent. Raises Overloaded.

    What is pushed on the stack `request.state.at_end` is called then, too.
    """
    async with answer_place(request), AsyncExitStack() as request.state.at_end:
        yield
