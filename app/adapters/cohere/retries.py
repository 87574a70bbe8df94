"""Calls to Cohere within its rate limits, repeated after temporary failures."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from app.adapters.cohere.limiter import RateLimiter, Slot
from app.domain.errors import ProviderRateLimited, ProviderUnavailable

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to retry after temporary failures. Times in seconds."""

    attempts: int
    first_backoff: float
    longest_backoff: float
    longest_retry_after: float
    """If Retry-After is longer, the error is raised at once."""
    longest_queue: float | None = None
    """Longest wait for the rate limiter; None for no limit."""


INGEST = RetryPolicy(10, first_backoff=1.0, longest_backoff=60.0, longest_retry_after=300.0)
"""For ingests: no reader waits, and a failed batch ends the run. Two minutes on average."""

READER = RetryPolicy(
    2, first_backoff=0.2, longest_backoff=1.0, longest_retry_after=1.0, longest_queue=1.0
)
"""For calls with a waiting reader; if they fail, an answer is still possible without them."""


class Calls:
    """Runs calls to one endpoint, for any number of tasks of one event loop."""

    def __init__(
        self,
        limiter: RateLimiter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.limiter = limiter
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - jitter is no secret

    async def run(
        self,
        send: Callable[[Slot], Awaitable[T]],
        policy: RetryPolicy,
        inputs: int = 1,
        tokens: int = 0,
    ) -> T:
        """Return the result of `send`, retried as `policy` allows.

        ProviderRateLimited or ProviderUnavailable when the retries are used up; other errors of
        `send` at once.
        """
        attempt = 0
        while True:
            attempt += 1
            slot = await self.limiter.acquire(inputs, tokens, policy.longest_queue)
            try:
                return await send(slot)
            except (ProviderRateLimited, ProviderUnavailable) as error:
                wait = self._wait(attempt, policy, error.retry_after)
                if attempt == policy.attempts or wait is None:
                    raise
                fields = {"attempt": attempt, "wait": wait, "error": error.code}
                failed = {"status": error.status, "reason": error.reason}
                logger.warning("cohere.retry", extra=fields | failed)
                if isinstance(error, ProviderRateLimited):
                    self.limiter.pause(wait)  # other callers would be refused as well
                else:
                    await self._sleep(wait)

    def _wait(self, attempt: int, policy: RetryPolicy, retry_after: float | None) -> float | None:
        """Seconds of exponential back-off with full jitter, added to the provider's Retry-After.

        None if Retry-After is too long. Source: AWS Architecture Blog, "Exponential Backoff And
        Jitter" (2015).
        """
        most = min(policy.longest_backoff, policy.first_backoff * 2 ** (attempt - 1))
        jitter = self._rng.uniform(0.0, most)
        if retry_after is None:
            return jitter
        if retry_after > policy.longest_retry_after:
            return None
        return retry_after + min(jitter, policy.first_backoff)
