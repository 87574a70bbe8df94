"""Spending limits for calls to providers, per day and month.

A call reserves its estimated price before it is made; the provider's bill replaces the estimate.
A call above a limit raises BudgetSpent, and the use cases degrade as in an outage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Protocol

from app.domain.cost import NOTHING, Units
from app.domain.errors import BudgetSpent, StorageError
from app.services.recording import billed

_log = logging.getLogger(__name__)

WARNING_SHARE = 0.8
"""Share of a limit above which a warning is logged."""


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

    async def reserve(self, day: date, usd: float, limits: Spent) -> Spent | None:
        """Add the amount; return the new totals. None if the day or its month would exceed its
        limit: nothing is added. Concurrent reservations never exceed a limit together.
        """
        ...

    async def add(self, day: date, usd: float) -> Spent:
        """Add an amount, which may be negative; return the new totals."""
        ...


@dataclass(slots=True)
class Budget:
    """Spending limits in US dollars per day and month, in UTC; None: no limit."""

    store: SpendingStore
    day: float | None
    month: float | None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _logged: set[tuple[date, str]] = field(default_factory=set, init=False, repr=False)
    """Events of each day that are logged once."""

    @property
    def limits(self) -> Spent:
        infinity = float("inf")
        return Spent(
            infinity if self.day is None else self.day,
            infinity if self.month is None else self.month,
        )

    @property
    def limited(self) -> bool:
        return self.day is not None or self.month is not None

    async def spent(self) -> Spent:
        """Return the amounts spent today and this month. Raises StorageError."""
        return await self.store.spent(self.now().date())

    async def fault(self) -> str:
        """Return a message that names the limit that is reached; "" if none is."""
        if not self.limited:
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

        If the amounts cannot be stored, a limit cannot be enforced, so no call is allowed.
        """
        day = self.now().date()
        if not usd:
            return day
        try:
            spent = await self.store.reserve(day, usd, self.limits)
            if spent is None:
                raise self._refusal(day, usd, await self.store.spent(day))
        except StorageError as error:
            _log.error("budget.not_counted", extra={"reason": str(error)})
            if not self.limited:
                return day
            message = "the money spent cannot be counted, so no provider is called"
            raise BudgetSpent(message) from error
        billed(NOTHING, usd)
        self._warn(day, spent)
        return day

    async def charge(self, day: date, usd: float, units: Units) -> None:
        """Add the amount, negative if more was reserved, that `units` cost."""
        billed(units, usd)
        if not usd:
            return
        try:
            self._warn(day, await self.store.add(day, usd))
        except StorageError as error:
            _log.error("budget.not_counted", extra={"reason": str(error)})

    def _warn(self, day: date, spent: Spent) -> None:
        near = WARNING_SHARE * self.limits.day, WARNING_SHARE * self.limits.month
        if spent.day >= near[0] or spent.month >= near[1]:
            self._log_once(day, logging.WARNING, "budget.near", spent)

    def _refusal(self, day: date, usd: float, spent: Spent) -> BudgetSpent:
        self._log_once(day, logging.ERROR, "budget.spent", spent)
        if spent.month + usd > self.limits.month:
            name, limit = "RAG_BUDGET_MONTH", self.limits.month
            until = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        else:
            name, limit, until = "RAG_BUDGET_DAY", self.limits.day, day + timedelta(days=1)
        wait = datetime.combine(until, time(), UTC) - self.now()
        message = f"the budget is spent ({name}={limit:g}, US dollars)"
        return BudgetSpent(message, wait.total_seconds())

    def _log_once(self, day: date, level: int, event: str, spent: Spent) -> None:
        if (day, event) in self._logged:
            return
        self._logged.add((day, event))
        fields = {"spent_day": round(spent.day, 6), "spent_month": round(spent.month, 6)}
        limits = {"RAG_BUDGET_DAY": self.day, "RAG_BUDGET_MONTH": self.month}
        known = {name: limit for name, limit in limits.items() if limit is not None}
        _log.log(level, event, extra=fields | known)
