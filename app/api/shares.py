"""Fair limits on concurrent work: one client cannot take all slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fastapi import Request

from app.api.clients import client_of, site
from app.domain.errors import Overloaded

RETRY_SECONDS = 1.0
"""Retry-After for an overload: a search takes less."""


@dataclass(slots=True)
class Shares:
    """`total` slots. A client gets another slot only if it holds fewer than are free.

    So one client holds at most half of the slots, two hold a third each, and a new client finds
    one. They run out only with about as many clients as slots. See Choudhury and Hahne, "Dynamic
    queue length thresholds for shared-memory packet switches", 1998.
    """

    total: int
    _held: Counter[str] = field(default_factory=Counter, init=False)

    @property
    def free(self) -> int:
        return self.total - self._held.total()

    def take(self, client: str, *, shared: bool = True) -> bool:
        """Return whether the client got a slot, which it must `release`.

        A client with `shared` False, such as a trusted proxy, may take every free slot.
        """
        if self.free <= (self._held.get(client, 0) if shared else 0):
            return False
        self._held[client] += 1
        return True

    def release(self, client: str) -> None:
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]


@dataclass(frozen=True, slots=True)
class Capacity:
    """Limits of the server on concurrent answers and searches."""

    answers: Shares
    """Answers until they are sent; those that wait for a model cost little."""
    searches: Shares
    """Searches that run or wait for the CPU; a longer queue would delay all by seconds."""


def capacity_of(request: Request) -> Capacity:
    capacity: Capacity = request.app.state.capacity
    return capacity


@contextmanager
def client_slot(slots: Shares, request: Request) -> Iterator[None]:
    """Hold a slot for the request's client inside the block. Overloaded if there is none."""
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
