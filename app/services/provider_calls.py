"""Calls to a provider: each behind a circuit breaker, in a time limit and within the budget.

An adapter makes each of its calls in one block:

    async with self.provider.call(estimate, seconds) as call:
        response = await client.rerank(...)
        call.bill(units)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass
from math import ceil

from app.domain.cost import NOTHING, Price, Units
from app.domain.errors import ProviderError
from app.services.budget import Budget
from app.services.generators import GeneratedEnd, GeneratorEvent
from app.services.resilience import CircuitBreaker, time_limit

_BYTES_PER_TOKEN = 4


@dataclass(slots=True)
class Call:
    """A call under way."""

    limit: asyncio.Timeout
    begun: bool = False
    billed: Units | None = None
    """What the provider billed, retries included; None if it did not say so."""

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

    budget: Budget
    price: Price
    breaker: CircuitBreaker

    @asynccontextmanager
    async def call(
        self, estimate: Units, seconds: float | None = None
    ) -> AsyncGenerator[Call, None]:
        """Make one call in the block, which lasts at most `seconds`.

        None for a call that no reader waits for, of an ingest: it has no time limit, and neither
        heeds nor moves the circuit breaker.

        BudgetSpent if the budget is spent. ProviderUnavailable while the circuit is open, or if the
        time is over. Afterwards the bill is charged, else the estimate. Without a bill, a failed
        call is free. A cancelled one costs its estimate: output that nobody reads is billed.
        """
        with self.breaker.call() if seconds is not None else nullcontext():
            async with time_limit(seconds, self.breaker.name) as limit:
                if self.price.of(estimate):
                    await self.budget.check()
                call = Call(limit)
                try:
                    yield call
                except ProviderError:
                    if not call.begun:
                        call.bill(NOTHING)
                    raise
                finally:
                    usd = self.price.of(estimate if call.billed is None else call.billed)
                    # Shielded: what a cancelled call costs is counted too.
                    await asyncio.shield(self.budget.charge(usd, call.billed or NOTHING))

    async def answer(
        self, events: AsyncGenerator[GeneratorEvent, None], estimate: Units, seconds: float
    ) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield the events of an answer, as one call; `seconds` limits the wait for the first."""
        end: GeneratedEnd | None = None
        async with self.call(estimate, seconds) as call, aclosing(events):
            async for event in events:
                call.begin()
                if isinstance(event, GeneratedEnd):
                    end = event
                    bill_usage(call, event)
                else:
                    yield event
        # Outside the call: the consumer may close this stream after its last event, which the
        # breaker would treat as a cancelled call.
        if end is not None:
            yield end


def bill_usage(call: Call, end: GeneratedEnd) -> None:
    """Bill the tokens of an answer, if the model reported them."""
    used = Units(end.usage.input_tokens, end.usage.output_tokens)
    if used != NOTHING:
        call.bill(used)


def tokens_about(texts: Iterable[str]) -> int:
    """Estimate the tokens of these texts."""
    return sum(ceil(len(text.encode()) / _BYTES_PER_TOKEN) for text in texts)
