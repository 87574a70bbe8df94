"""Places that many clients want at once: one client cannot hold them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fastapi import Request

from app.api.clients import client_of, site
from app.domain.errors import Overloaded

RETRY_SECONDS = 1.0
"""After which a place may be free: an answer from the index takes less."""


@dataclass(slots=True)
class Shares:
    """`total` places. A client gets one more only while it holds fewer than are free.

    So one client holds at most half of them, two hold a third each, and a newcomer finds a place
    (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
    1998). Only with about as many clients as places is there none left.
    """

    total: int
    _held: Counter[str] = field(default_factory=Counter, init=False)

    @property
    def free(self) -> int:
        return self.total - self._held.total()

    def take(self, client: str, *, shared: bool = True) -> bool:
        """Return whether the client got a place, which it must `release`.

        One that stands for many others (`shared` is false) may take every place that is free.
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
class Room:
    """What may be under way at once."""

    answers: Shares
    """Until they are sent; while a model writes they cost little."""
    searches: Shares
    """What takes the processor, or waits for it: in a longer queue all would wait for seconds."""


def room_of(request: Request) -> Room:
    room: Room = request.app.state.room
    return room


@contextmanager
def a_place(places: Shares, request: Request) -> Iterator[None]:
    """Hold a place for whoever asks. Raises Overloaded when there is none for him."""
    client = site(client_of(request))
    if not places.take(client):
        whose = "from your address " if places.free else ""
        message = f"too many questions {whose}are being answered; ask again in a moment"
        raise Overloaded(message, RETRY_SECONDS)
    try:
        yield
    finally:
        places.release(client)


async def with_an_answers_place(request: Request) -> AsyncIterator[None]:
    """Hold a place until the response is sent, or raise Overloaded. For use as a dependency."""
    with a_place(room_of(request).answers, request):
        yield
