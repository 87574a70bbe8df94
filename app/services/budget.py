"""Spending limits for calls to providers, per day and month."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, Protocol, TypeAlias

from app.domain.cost import Units
from app.domain.errors import BudgetSpent, StorageError
from app.services.recording import billed

_log = logging.getLogger(__name__)


Period: TypeAlias = Literal["month", "day"]
"""In UTC."""
Dollars: TypeAlias = Mapping[Period, float]


class SpendingStore(Protocol):
    """Money spent by day, kept over restarts and shared by processes. Raises StorageError."""

    async def spent(self, day: date) -> Dollars:
        """Return the amounts spent on this day and in its month so far."""
        ...

    async def add(self, day: date, usd: float) -> None: ...


@dataclass(slots=True)
class Budget:
    """Spending limits per day and month.

    A call is charged after it is made. Once a limit is reached, the next call raises BudgetSpent,
    and the use cases degrade as in an outage. Calls under way at that moment may exceed the limit.
    """

    store: SpendingStore
    limits: Dollars
    """Of the periods that have one, the longest first."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _spent_on: date = field(default=date.min, init=False)
    """The last day on which a limit was reached; that is logged once a day."""

    async def spent(self) -> Dollars:
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
        if not self.limits:
            return
        try:
            spent = await self.spent()
        except StorageError as error:
            _log.error("budget.not_counted", extra={"reason": str(error)})
            message = "the money spent cannot be counted, so no provider is called"
            raise BudgetSpent(message) from error
        today = self.now().date()
        next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
        for period, limit in self.limits.items():
            if spent[period] >= limit:
                reached = f"RAG_BUDGET_{period.upper()}={limit:g}"
                if self._spent_on != today:
                    self._spent_on = today
                    _log.error("budget.spent", extra={"limit": reached})
                until = next_month if period == "month" else today + timedelta(days=1)
                wait = datetime.combine(until, time(), UTC) - self.now()
                message = f"the budget is spent ({reached}, US dollars)"
                raise BudgetSpent(message, wait.total_seconds())

    async def charge(self, usd: float, units: Units) -> None:
        """Add what a call cost, for `units` if they are known."""
        billed(units, usd)
        if usd:
            try:
                await self.store.add(self.now().date(), usd)
            except StorageError as error:
                _log.error("budget.not_counted", extra={"reason": str(error)})
