"""Waits for a provider's rate limits: calls, inputs and tokens per minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.domain.cost import RateLimits

# A minute and 1.5 seconds: calls reach the server with varying delay, so two calls may be closer
# together there than here. The margin costs 2.5 % of the throughput.
_WINDOW = 61.5


@dataclass(slots=True, eq=False)
class Slot:
    """A call sent at `time`, in seconds, which counts for the following minute."""

    time: float
    inputs: int
    tokens: int
    """An estimate, replaced by the billed tokens."""


class RateLimiter:
    """A rate limiter with a sliding window. Callers are served in order."""

    def __init__(
        self,
        limits: RateLimits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.limits = limits
        self.sleep = sleep
        self._clock = clock
        self._slots: deque[Slot] = deque()
        self._turn = asyncio.Lock()

    async def acquire(self, inputs: int = 1, tokens: int = 0) -> Slot:
        """Wait until a call with this many inputs and tokens may be sent."""
        async with self._turn:
            while (wait := self._wait(inputs, tokens)) > 0:
                await self.sleep(wait)
            slot = Slot(self._clock(), inputs, tokens)
            self._slots.append(slot)
            return slot

    def _wait(self, inputs: int, tokens: int) -> float:
        """Return the seconds until the next try; 0 if the call may be sent now."""
        now = self._clock()
        while self._slots and self._slots[0].time + _WINDOW <= now:
            self._slots.popleft()
        # In an empty window even a call above the limits is sent: the provider decides.
        if not self._slots or self._fits(inputs, tokens):
            return 0.0
        return self._slots[0].time + _WINDOW - now

    def _fits(self, inputs: int, tokens: int) -> bool:
        limits, sent = self.limits, self._slots
        amounts = (
            (len(sent) + 1, limits.calls_per_minute),
            (sum(one.inputs for one in sent) + inputs, limits.inputs_per_minute),
            (sum(one.tokens for one in sent) + tokens, limits.tokens_per_minute),
        )
        return all(limit is None or amount <= limit for amount, limit in amounts)
