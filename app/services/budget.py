"""Spending limits for calls to providers, as wrappers over the ports.

A call reserves its estimated price before it is made; the provider's bill replaces the estimate. A
cancelled call is charged its estimate, since providers also bill output that is not read. A call
above the limit raises BudgetSpent, and the use cases degrade as in an outage. The wrappers are
inside the circuit breakers: a cached vector costs nothing, and a spent budget does not open a
circuit.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from math import ceil
from typing import Protocol

from app.domain.answer import AnswerMode
from app.domain.cost import NOTHING, Bill, Price, Units
from app.domain.errors import BudgetSpent, ProviderError, StorageError
from app.domain.retrieval.query import Turn, Vector
from app.services.generators import GeneratedEnd, GenerationRequest, Generator, GeneratorEvent
from app.services.ports import Embedder, QuestionRewriter, Reranker
from app.services.recording import billed

_log = logging.getLogger(__name__)

WARNING_SHARE = 0.8
"""Share of a limit above which a warning is logged, once a day."""
_BYTES_PER_TOKEN = 4
_PROMPT_TOKENS = 500
"""Estimated tokens of the instructions in a prompt."""
_TEXTS_PER_SEARCH = 100
"""Maximum documents billed as one search (https://cohere.com/pricing)."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Amounts in US dollars."""

    day: float
    month: float


class SpendingStore(Protocol):
    """Money spent by day, kept over restarts and shared by processes. Raises StorageError."""

    async def spent(self, day: date) -> Spent:
        """Return the amounts spent on this day and in its month so far."""
        ...

    async def reserve(self, day: date, usd: float, limits: Spent) -> bool:
        """Add the amount unless the day or its month would exceed its limit.

        Return whether it was added. Concurrent reservations never exceed a limit together.
        """
        ...

    async def add(self, day: date, usd: float) -> Spent:
        """Add an amount, which may be negative; return the new totals."""
        ...

    async def first_notice(self, day: date, name: str) -> bool:
        """Return True for the first call with these arguments, False for later ones."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """Spending limits in US dollars per day and month, in UTC; None: no limit."""

    store: SpendingStore
    day: float | None
    month: float | None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def limits(self) -> Spent:
        infinity = float("inf")
        return Spent(
            infinity if self.day is None else self.day,
            infinity if self.month is None else self.month,
        )

    async def spent(self) -> Spent:
        """Return the amounts spent today and this month. Raises StorageError."""
        return await self.store.spent(self.now().date())

    async def fault(self) -> str:
        """Return a message that names the limit that is reached; "" if none is."""
        if self.day is None and self.month is None:
            return ""
        try:
            spent = await self.spent()
        except StorageError:
            return "the money spent cannot be counted"
        if spent.month >= self.limits.month:
            return "the budget is spent (RAG_BUDGET_MONTH)"
        return "the budget is spent (RAG_BUDGET_DAY)" if spent.day >= self.limits.day else ""

    async def reserve(self, usd: float) -> date:
        """Reserve the amount; return the day that it is charged to. Raises BudgetSpent.

        If the amounts cannot be stored, the limit cannot be enforced, so no call is allowed.
        """
        day = self.now().date()
        if not usd:
            return day
        try:
            admitted = await self.store.reserve(day, usd, self.limits)
            if not admitted and await self._first_notice(day, "spent"):
                _log.error("budget.spent", extra=self._fields(await self.store.spent(day)))
        except StorageError as error:
            _log.error("budget.not_counted", extra={"reason": str(error)})
            if self.day is None and self.month is None:
                return day
            message = "the money spent cannot be counted, so no provider is called"
            raise BudgetSpent(message) from error
        if not admitted:
            raise await self._error(day, usd)
        billed(NOTHING, usd)
        return day

    async def charge(self, day: date, usd: float, units: Units = NOTHING) -> None:
        """Add the amount spent for `units`; log a warning above WARNING_SHARE, once a day."""
        billed(units, usd)
        try:
            fields = self._fields(await self.store.add(day, usd))
            near = any(
                limit is not None and fields[f"spent_{name}"] >= WARNING_SHARE * limit
                for name, limit in (("day", self.day), ("month", self.month))
            )
            if near and await self._first_notice(day, "near"):
                _log.warning("budget.near", extra=fields)
        except StorageError as error:
            _log.error("budget.not_counted", extra={"reason": str(error)})

    async def _first_notice(self, day: date, kind: str) -> bool:
        """Whether this is the day's first notice of this kind with the current limits.

        The limits are part of the name, because a raised limit can be reached again.
        """
        return await self.store.first_notice(day, f"{kind} {self.day} {self.month}")

    def _fields(self, spent: Spent) -> dict[str, float]:
        fields = {"spent_day": round(spent.day, 6), "spent_month": round(spent.month, 6)}
        limits = {"RAG_BUDGET_DAY": self.day, "RAG_BUDGET_MONTH": self.month}
        return fields | {name: limit for name, limit in limits.items() if limit is not None}

    async def _error(self, day: date, usd: float) -> BudgetSpent:
        spent = await self.store.spent(day)
        if spent.month + usd > self.limits.month:
            name, limit = "RAG_BUDGET_MONTH", self.limits.month
            until = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        else:
            name, limit, until = "RAG_BUDGET_DAY", self.limits.day, day + timedelta(days=1)
        wait = datetime.combine(until, time(), UTC) - self.now()
        message = f"the budget is spent ({name}={limit:g}, US dollars)"
        return BudgetSpent(message, wait.total_seconds())


@dataclass(slots=True)
class Meter:
    """Charges the calls to one model to the budget."""

    budget: Budget
    price: Price
    bill: Bill = field(default_factory=Bill)
    """The bill that the adapter reports; its increase is charged after each call."""
    _charged: Units = NOTHING

    @asynccontextmanager
    async def call(self, estimate: Units) -> AsyncIterator[None]:
        """Raise BudgetSpent if the estimate exceeds the limit; charge the bill of the block."""
        reserved = self.price.of(estimate)
        day = await self.budget.reserve(reserved)
        try:
            yield
        except ProviderError:
            # A failed or refused call is charged what the provider billed, usually nothing.
            await self.settle(day, reserved)
            raise
        await self.settle(day, reserved)

    async def settle(self, day: date, reserved: float = 0.0) -> None:
        """Replace the reserved amount by what was billed since the last call."""
        due, self._charged = self.bill.total - self._charged, self.bill.total
        await self.budget.charge(day, self.price.of(due) - reserved, due)


@dataclass(frozen=True, slots=True)
class MeteredEmbedder:
    """An `Embedder` whose calls are charged; an ingest is charged per batch."""

    embedder: Embedder
    meter: Meter

    @property
    def model(self) -> str:
        return self.embedder.model

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        async with self.meter.call(_input_units(*texts)):
            return await self.embedder.embed_documents(texts)

    async def embed_batches(
        self, texts: Sequence[str]
    ) -> AsyncGenerator[tuple[int, list[Vector]], None]:
        least = self.meter.price.of(Units(input_tokens=1))
        day = await self.meter.budget.reserve(least)
        try:
            async with aclosing(self.embedder.embed_batches(texts)) as batches:
                async for batch in batches:
                    yield batch
                    await self.meter.settle(day, least)
                    day = await self.meter.budget.reserve(least)
        finally:
            await self.meter.settle(day)

    async def embed_query(self, text: str) -> Vector:
        async with self.meter.call(_input_units(text)):
            return await self.embedder.embed_query(text)


@dataclass(frozen=True, slots=True)
class MeteredReranker:
    """A `Reranker` whose calls are charged."""

    reranker: Reranker
    meter: Meter

    async def rerank(
        self, question: str, texts: Sequence[str], top_n: int
    ) -> list[tuple[int, float]]:
        async with self.meter.call(Units(searches=ceil(len(texts) / _TEXTS_PER_SEARCH))):
            return await self.reranker.rerank(question, texts, top_n)


@dataclass(frozen=True, slots=True)
class MeteredRewriter:
    """A `QuestionRewriter` whose calls are charged."""

    rewriter: QuestionRewriter
    meter: Meter

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        async with self.meter.call(_input_units(question, *(turn.content for turn in history))):
            return await self.rewriter.rewrite(question, history)


@dataclass(frozen=True, slots=True)
class MeteredGenerator:
    """A `Generator` whose answers are charged: the reported usage, or else the estimate."""

    mode = AnswerMode.GENERATED
    generator: Generator
    budget: Budget
    price: Price
    max_tokens: int = 1_000
    """Maximum tokens of an answer."""

    @property
    def model(self) -> str:
        return self.generator.model

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        reserved = self.price.of(self._estimate(request))
        day = await self.budget.reserve(reserved)
        begun = False
        try:
            async with aclosing(self.generator.generate(request)) as events:
                async for event in events:
                    begun = True
                    if isinstance(event, GeneratedEnd):
                        used = Units(event.usage.input_tokens, event.usage.output_tokens)
                        if used != Units():
                            await self.budget.charge(day, self.price.of(used) - reserved, used)
                    yield event
        except ProviderError:
            if not begun:
                await self.budget.charge(day, -reserved)
            raise

    def _estimate(self, request: GenerationRequest) -> Units:
        texts = [request.question, *(turn.content for turn in request.history)]
        context = sum(one.tokens for one in request.context)
        read = _PROMPT_TOKENS + context + _input_units(*texts).input_tokens
        return Units(read, self.max_tokens)


def _input_units(*texts: str) -> Units:
    """Estimate the input tokens of these texts."""
    return Units(sum(ceil(len(text.encode()) / _BYTES_PER_TOKEN) for text in texts))
