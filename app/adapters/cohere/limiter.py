"""Rate limits of Cohere: calls, inputs and tokens per minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.cost import RateLimits
from app.domain.errors import ProviderRateLimited

Tier: TypeAlias = Literal["trial", "production"]
Endpoint: TypeAlias = Literal["embed", "chat", "rerank"]

_MINUTE = 60.0
# Seconds added to the minute. Calls reach the server with varying delay, so two calls may be closer
# together there than here. The margin costs 2.5 % of the throughput.
_SLACK = 1.5


# https://docs.cohere.com/docs/rate-limits (2026). The trial key's limit of 100,000 tokens a minute
# is documented only in the error that enforces it: "trial token rate limit exceeded".
_LIMITS: Mapping[tuple[Tier, Endpoint], RateLimits] = {
    ("trial", "embed"): RateLimits(100, 2_000, 100_000),
    ("trial", "chat"): RateLimits(20),
    ("trial", "rerank"): RateLimits(10),
    ("production", "embed"): RateLimits(2_000, 2_000),
    ("production", "chat"): RateLimits(500),
    ("production", "rerank"): RateLimits(1_000),
}


def default_limits(tier: Tier, endpoint: Endpoint) -> RateLimits:
    """Return the limits that Cohere documents for this kind of key."""
    return _LIMITS[tier, endpoint]


@dataclass(slots=True, eq=False)
class Slot:
    """Permission to send one call at `time`, in seconds; it counts for the following minute."""

    time: float
    inputs: int
    tokens: int
    """An estimate, replaced by the billed tokens."""


class RateLimiter:
    """A rate limiter with a sliding window of 60 seconds.

    Callers are served in order. Each gets the earliest time at which its call is within the limits,
    and sleeps until then without holding a lock.
    """

    def __init__(
        self,
        limits: RateLimits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._sleep = sleep
        self._slots: deque[Slot] = deque()
        self._resume_at = 0.0

    async def acquire(
        self, inputs: int = 1, tokens: int = 0, max_wait: float | None = None
    ) -> Slot:
        """Wait until a call with this many inputs and tokens may be sent.

        ProviderRateLimited, without waiting, if that would take more than `max_wait` seconds.
        """
        slot = Slot(0.0, inputs, tokens)
        slot.time = self._earliest(slot)
        wait = slot.time - self._clock()
        if max_wait is not None and wait > max_wait:
            message = f"the limit of Cohere calls per minute is reached; next call in {wait:.0f} s"
            raise ProviderRateLimited(message, retry_after=wait)
        self._slots.append(slot)
        try:
            while (wait := slot.time - self._clock()) > 0:  # `pause` may move it meanwhile
                await self._sleep(wait)
        except BaseException:
            self._slots.remove(slot)
            raise
        return slot

    def pause(self, seconds: float) -> None:
        """Send no call for this time. Called after the provider refused one."""
        now = self._clock()
        until = now + seconds
        delay = until - max(now, self._resume_at)
        if delay <= 0:
            return
        self._resume_at = until
        for slot in self._slots:
            if slot.time > now:
                slot.time += delay

    def _earliest(self, slot: Slot) -> float:
        now = self._clock()
        while self._slots and self._slots[0].time + _MINUTE + _SLACK <= now:
            self._slots.popleft()
        last = self._slots[-1].time if self._slots else now
        earliest = max(now, self._resume_at, last)
        calls = len(self._slots)
        inputs = sum(other.inputs for other in self._slots)
        tokens = sum(other.tokens for other in self._slots)
        for other in self._slots:
            if self._fits(calls + 1, inputs + slot.inputs, tokens + slot.tokens):
                break
            earliest = max(earliest, other.time + _MINUTE + _SLACK)
            calls -= 1
            inputs -= other.inputs
            tokens -= other.tokens
        return earliest  # in an empty window even a call above the limits is sent: Cohere decides

    def _fits(self, calls: int, inputs: int, tokens: int) -> bool:
        limits = self.limits
        return (
            (limits.calls_per_minute is None or calls <= limits.calls_per_minute)
            and (limits.inputs_per_minute is None or inputs <= limits.inputs_per_minute)
            and (limits.tokens_per_minute is None or tokens <= limits.tokens_per_minute)
        )
