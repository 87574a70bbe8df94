"""Calls to a provider: time limit, retries, circuit breaker, budget and recording.

An adapter makes each of its calls in one block:

    async with self.calls.call(estimate, seconds) as call:
        response = await call.run(send)  # `send` bills what the provider reports: call.bill(units)
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

from app.domain.cost import NOTHING, Price, Units
from app.domain.errors import ProviderError, ProviderRateLimited, ProviderUnavailable
from app.services.budget import Budget
from app.services.resilience import CircuitBreaker, time_limit

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long to retry after temporary failures. Times in seconds."""

    attempts: int
    first_backoff: float
    longest: float
    """The longest back-off. If Retry-After is longer, the error is raised at once."""
    after_timeout: bool
    """Whether to retry a call that timed out."""

    def wait(self, attempt: int, error: ProviderError) -> float | None:
        """Seconds before the next attempt; None if there is none.

        Exponential back-off with full jitter, added to the provider's Retry-After. Source: AWS
        Architecture Blog, "Exponential Backoff And Jitter" (2015).
        """
        timed_out = isinstance(error.__cause__, TimeoutError)
        least = error.retry_after or 0.0
        gives_up = attempt == self.attempts or least > self.longest
        if gives_up or (timed_out and not self.after_timeout):
            return None
        most = min(self.longest, self.first_backoff * 2 ** (attempt - 1))
        return least + random.uniform(0.0, most)  # noqa: S311 - jitter is no secret


INGEST = Retries(9, 1.0, longest=300.0, after_timeout=True)
"""For ingests: no reader waits, and a failed batch ends the run. Two minutes on average."""
READER = Retries(2, 0.2, longest=1.0, after_timeout=False)
"""For calls with a waiting reader; if they fail, an answer is still possible without them."""


@dataclass(slots=True)
class Call:
    """A call under way."""

    limit: asyncio.Timeout
    retries: Retries
    sleep: Callable[[float], Awaitable[None]]
    begun: bool = False
    billed: Units | None = None
    """What the provider billed, retries included; None if it did not say so."""

    async def run(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `send`, retried after ProviderRateLimited and ProviderUnavailable.

        The last of these errors when the retries are used up; other errors of `send` at once.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return await send()
            except (ProviderRateLimited, ProviderUnavailable) as error:
                wait = self.retries.wait(attempt, error)
                if wait is None:
                    raise
                fields = {"attempt": attempt, "wait": round(wait, 2), "error": error.code}
                failed = {"status": error.status, "reason": error.reason}
                _log.warning("provider.retry", extra=fields | failed)
                await self.sleep(wait)

    def begin(self) -> None:
        """Lift the time limit, since the first output is here. From now on a failure costs money.

        A streamed answer does this before it yields: a time limit belongs to one task.
        """
        if not self.begun:
            self.limit.reschedule(None)
            self.begun = True

    def bill(self, units: Units) -> None:
        self.billed = (self.billed or NOTHING) + units


@dataclass(frozen=True, slots=True)
class ProviderCalls:
    """The calls to one model for one purpose."""

    model: str
    budget: Budget
    price: Price | None
    """None if it is not known: the calls are not charged."""
    breaker: CircuitBreaker
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @asynccontextmanager
    async def call(
        self, estimate: Units, seconds: float | None = None
    ) -> AsyncGenerator[Call, None]:
        """Make one call in the block, which lasts at most `seconds`.

        No `seconds` for a call that no reader waits for, of an ingest: it has no time limit, is
        retried for minutes, and neither heeds nor moves the circuit breaker.

        BudgetSpent if the budget is spent. ProviderUnavailable while the circuit is open, or if the
        time is over. Afterwards the bill is charged, else the estimate. Without a bill, a failed
        call is free. A cancelled one costs its estimate: output that nobody reads is billed.
        """
        price = self.price or Price()
        with self.breaker.call() if seconds is not None else nullcontext():
            async with time_limit(seconds, self.breaker.name) as limit:
                if price.of(estimate):
                    await self.budget.check()
                call = Call(limit, INGEST if seconds is None else READER, self.sleep)
                try:
                    yield call
                except ProviderError:
                    if not call.begun:
                        call.bill(NOTHING)
                    raise
                finally:
                    usd = price.of(estimate if call.billed is None else call.billed)
                    # Shielded: what a cancelled call costs is counted too.
                    await asyncio.shield(self.budget.charge(usd, call.billed or NOTHING))
