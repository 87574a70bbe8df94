"""Spending limits for calls to providers, per day and month.

A call is charged after it is made. Once a limit is reached, the next call raises BudgetSpent, and
the use cases degrade as in an outage. Calls under way at that moment may exceed the limit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Protocol

from app.domain.cost import Units
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

    async def add(self, day: date, usd: float) -> Spent:
        """Add an amount; return the new totals."""
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
    def limited(self) -> bool:
        return self.day is not None or self.month is not None

    async def spent(self) -> Spent:
        """Return the amounts spent today and this month. Raises StorageError."""
        return await self.store.spent(self.now().date())

    async def fault(self) -> str:
        """Return a message that names the limit that is reached; "" if none is."""
        try:
            await self.check()
        except BudgetSpent as error:
            return error.reason
        return ""

    async def check(self) -> None:
        """Raise BudgetSpent if a limit is reached, or if it cannot be known."""
        if not self.limited:
            return
        today = self.now().date()
        try:
            spent = await self.spent()
        except StorageError as error:
            _log.error("budget.not_counted", extra={"reason": str(error)})
            message = "the money spent cannot be counted, so no provider is called"
            raise BudgetSpent(message) from error
        next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
        limits = (
            ("RAG_BUDGET_MONTH", self.month, spent.month, next_month),
            ("RAG_BUDGET_DAY", self.day, spent.day, today + timedelta(days=1)),
        )
        for name, limit, amount, until in limits:
            if limit is not None and amount >= limit:
                self._log_once(today, logging.ERROR, "budget.spent", spent)
                wait = datetime.combine(until, time(), UTC) - self.now()
                message = f"the budget is spent ({name}={limit:g}, US dollars)"
                raise BudgetSpent(message, wait.total_seconds())

    async def charge(self, usd: float, units: Units) -> None:
        """Add what a call cost, for `units` if they are known."""
        billed(units, usd)
        if not usd:
            return
        today = self.now().date()
        try:
            spent = await self.store.add(today, usd)
        except StorageError as error:
            _log.error("budget.not_counted", extra={"reason": str(error)})
            return
        limits = (self.day, spent.day), (self.month, spent.month)
        if any(limit is not None and one >= WARNING_SHARE * limit for limit, one in limits):
            self._log_once(today, logging.WARNING, "budget.near", spent)

    def _log_once(self, day: date, level: int, event: str, spent: Spent) -> None:
        if (day, event) in self._logged:
            return
        self._logged.add((day, event))
        fields = {"spent_day": round(spent.day, 6), "spent_month": round(spent.month, 6)}
        limits = {"RAG_BUDGET_DAY": self.day, "RAG_BUDGET_MONTH": self.month}
        known = {name: limit for name, limit in limits.items() if limit is not None}
        _log.log(level, event, extra=fields | known)
