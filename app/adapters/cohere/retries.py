"""Calls to Cohere, repeated after temporary failures.

The SDK's own retries are off: they do not repeat a call after a dropped connection or without an
answer in time, and let a reader wait for up to a minute.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from app.adapters.cohere.limiter import RateLimiter
from app.domain.errors import ProviderRateLimited, ProviderUnavailable

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long to retry after temporary failures. Times in seconds."""

    attempts: int
    first_backoff: float
    longest_backoff: float
    longest_retry_after: float
    """If Retry-After is longer, the error is raised at once."""

    async def run(self, send: Callable[[], Awaitable[T]], limiter: RateLimiter | None = None) -> T:
        """Return the result of `send`, retried; after a 429 all calls of the limiter pause.

        ProviderRateLimited or ProviderUnavailable when the retries are used up; other errors of
        `send` at once.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return await send()
            except (ProviderRateLimited, ProviderUnavailable) as error:
                wait = self._wait(attempt, error.retry_after)
                if attempt == self.attempts or wait is None:
                    raise
                fields = {"attempt": attempt, "wait": wait, "error": error.code}
                failed = {"status": error.status, "reason": error.reason}
                logger.warning("cohere.retry", extra=fields | failed)
                if limiter and isinstance(error, ProviderRateLimited):
                    limiter.pause(wait)
                else:
                    await (limiter.sleep if limiter else asyncio.sleep)(wait)

    def _wait(self, attempt: int, retry_after: float | None) -> float | None:
        """Seconds of exponential back-off with full jitter, added to the provider's Retry-After.

        None if Retry-After is too long. Source: AWS Architecture Blog, "Exponential Backoff And
        Jitter" (2015).
        """
        most = min(self.longest_backoff, self.first_backoff * 2 ** (attempt - 1))
        jitter = random.uniform(0.0, most)  # noqa: S311 - jitter is no secret
        if retry_after is None:
            return jitter
        if retry_after > self.longest_retry_after:
            return None
        return retry_after + min(jitter, self.first_backoff)


INGEST = Retries(10, first_backoff=1.0, longest_backoff=60.0, longest_retry_after=300.0)
"""For ingests: no reader waits, and a failed batch ends the run. Two minutes on average."""

READER = Retries(2, first_backoff=0.2, longest_backoff=1.0, longest_retry_after=1.0)
"""For calls with a waiting reader; if they fail, an answer is still possible without them."""
