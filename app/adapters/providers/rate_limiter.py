"""Waits for the rate limits of an embedder: calls, texts and tokens per minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from app.domain.cost import Tariff

# A minute and 1.5 seconds: calls reach the server with varying delay, so two calls may be closer
# together there than here. The margin costs 2.5 % of the throughput.
_WINDOW = 61.5


@dataclass(slots=True)
class SentCall:
    """A call sent at `time`, in seconds, which counts for the following minute."""

    time: float
    texts: int
    tokens: int
    """An estimate, replaced by the billed tokens."""


@dataclass(slots=True)
class RateLimiter:
    """A rate limiter with a sliding window, for calls that are made one after the other."""

    limits: Tariff
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _sent: deque[SentCall] = field(default_factory=deque, init=False)

    async def acquire(self, texts: int, tokens: int) -> SentCall:
        """Wait until a call with this many texts and tokens may be sent."""
        self._forget_old()
        # In an empty window even a call above the limits is sent: the provider decides.
        while self._sent and not self._fits(texts, tokens):
            await self.sleep(self._sent[0].time + _WINDOW - self.clock())
            self._forget_old()
        self._sent.append(SentCall(self.clock(), texts, tokens))
        return self._sent[-1]

    def _forget_old(self) -> None:
        while self._sent and self._sent[0].time + _WINDOW <= self.clock():
            self._sent.popleft()

    def _fits(self, texts: int, tokens: int) -> bool:
        limits, sent = self.limits, self._sent
        amounts = (
            (len(sent) + 1, limits.calls_per_minute),
            (sum(one.texts for one in sent) + texts, limits.texts_per_minute),
            (sum(one.tokens for one in sent) + tokens, limits.tokens_per_minute),
        )
        return all(limit is None or amount <= limit for amount, limit in amounts)
