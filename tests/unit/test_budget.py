"""Ceilings for money: which calls are made, what is charged, told and recorded."""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.adapters.sqlite.spending import SqliteSpending
from app.domain.cost import Price, Units
from app.domain.errors import BudgetSpent, ProviderError, ProviderUnavailable
from app.services.budget import Budget
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls
from app.services.recording import recording, stage
from app.services.resilience import CircuitBreaker
from tests.generating import openai_at
from tests.openai_double import OpenAIDouble, event

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
SEARCH = Units(searches=1)
PRICE = Price(2.0, 8.0, searches=1_000.0)
"""A search costs a dollar."""


def budget(home: Path, **limits: float) -> Budget:
    """A fresh one over the same file, as after a restart."""
    store = SqliteSpending(home / "spending.sqlite")
    return Budget(store, limits, now=lambda: NOON)  # type: ignore[arg-type]


def paid_from(limit: Budget) -> ProviderCalls:
    return ProviderCalls("llama", limit, PRICE, CircuitBreaker("the provider"))


async def search(
    provider: ProviderCalls, billed: int | None = 1, error: ProviderError | None = None
) -> None:
    """Estimated at one search; the provider bills so many, or does not say."""
    async with provider.call(SEARCH) as call:
        await asyncio.sleep(0)
        if billed is not None:
            call.bill(Units(searches=billed))
        if error is not None:
            raise error


async def calls(provider: ProviderCalls, times: int) -> int:
    """How many of so many calls, one after the other, are made."""
    made = 0
    for _ in range(times):
        with suppress(BudgetSpent):
            await search(provider)
            made += 1
    return made


async def spent(limit: Budget) -> float:
    return (await limit.spent())["day"]


async def test_no_call_begins_once_the_day_is_spent(tmp_path: Path) -> None:
    assert await calls(paid_from(budget(tmp_path, day=3.0)), 10) == 3


async def test_the_month_holds_over_its_days(tmp_path: Path) -> None:
    store = SqliteSpending(tmp_path / "spending.sqlite")
    await store.add(datetime(2026, 10, 31, tzinfo=UTC).date(), 50.0)
    await store.add(datetime(2026, 11, 1, tzinfo=UTC).date(), 9.0)
    assert await calls(paid_from(budget(tmp_path, month=10.0, day=5.0)), 3) == 1


@pytest.mark.parametrize(
    ("billed", "failed", "dollars"),
    [(4, False, 4.0), (0, False, 0.0), (None, False, 1.0), (None, True, 0.0), (2, True, 2.0)],
)
async def test_a_call_costs_what_was_billed_or_else_the_estimate_unless_it_failed(
    tmp_path: Path, billed: int | None, *, failed: bool, dollars: float
) -> None:
    limit = budget(tmp_path, day=10.0)
    error = ProviderUnavailable("no answer") if failed else None
    with recording() as record, suppress(ProviderUnavailable):
        await search(paid_from(limit), billed, error)
    assert await spent(limit) == record.usd == pytest.approx(dollars)
    assert record.units == Units(searches=billed or 0)


async def test_a_cancelled_call_costs_its_estimate(tmp_path: Path) -> None:
    limit = budget(tmp_path, day=10.0)
    with pytest.raises(ProviderUnavailable):
        async with paid_from(limit).call(SEARCH, seconds=0.1):
            await asyncio.Event().wait()
    assert await spent(limit) == 1.0


@pytest.mark.parametrize(
    ("limits", "hours"),
    [
        ({"day": 0.0}, 12),
        ({"month": 0.0}, 12 + 8 * 24),
        ({"month": 0.0, "day": 9.0}, 12 + 8 * 24),
    ],
)
async def test_the_error_says_until_when(
    tmp_path: Path, limits: dict[str, float], hours: float
) -> None:
    with pytest.raises(BudgetSpent) as caught:
        await search(paid_from(budget(tmp_path, **limits)))
    assert caught.value.retry_after == hours * 3_600


async def test_a_spent_budget_does_not_open_the_circuit(tmp_path: Path) -> None:
    provider = paid_from(budget(tmp_path, day=0.0))
    for _ in range(5):
        with pytest.raises(BudgetSpent):
            async with provider.call(SEARCH, seconds=20.0):
                pytest.fail("what the budget does not allow is not called")
    assert provider.breaker.closed


async def test_a_model_without_a_price_is_not_stopped(tmp_path: Path) -> None:
    free = replace(paid_from(budget(tmp_path, day=0.0)), price=None)
    assert await calls(free, 1) == 1


async def test_a_limit_that_is_reached_is_one_line_a_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    provider = paid_from(budget(tmp_path, day=2.0))
    await calls(provider, 5)
    (record,) = caplog.records
    assert (record.message, record.levelname) == ("budget.spent", "ERROR")
    assert record.__dict__["limit"] == "RAG_BUDGET_DAY=2"


@pytest.mark.parametrize("limits", [{"day": 1.0}, {}])
async def test_money_that_cannot_be_counted_stops_calls_below_a_ceiling_only(
    tmp_path: Path, limits: dict[str, float]
) -> None:
    (tmp_path / "spending.sqlite").mkdir()
    made = await calls(paid_from(budget(tmp_path, **limits)), 1)
    assert made == (0 if limits else 1)


MILLION = 'data: {"choices":[],"usage":{"prompt_tokens":1000000,"completion_tokens":0}}\n\n'
BROKEN = "data: {\n\n"
ESTIMATE = 0.01
"""About 900 tokens of a prompt, and the maximum of an answer."""


@pytest.mark.parametrize(
    ("events", "usage", "dollars"),
    [(3, MILLION, 2.0), (3, "", ESTIMATE), (1, MILLION, ESTIMATE), (3, BROKEN, ESTIMATE)],
    ids=["read to its end", "no usage reported", "left before its end", "broken off"],
)
async def test_an_answer_costs_what_its_end_reports_or_else_the_estimate(
    tmp_path: Path, events: int, usage: str, dollars: float
) -> None:
    limit = budget(tmp_path, day=10.0)
    stream = [*map(event, ("two", "words")), event(finish_reason="stop"), usage]
    with OpenAIDouble(stream=stream) as double, suppress(ProviderUnavailable):
        async with openai_at(double.url, calls=paid_from(limit)) as model:
            request = GenerationRequest("word " * 400, (), ())
            async with aclosing(model.generate(request)) as taken:
                for _ in range(events):
                    await anext(taken)
    assert await spent(limit) == pytest.approx(dollars, rel=0.05)


def test_stages_add_up_in_the_order_in_which_they_began() -> None:
    with recording("r1") as record:
        for name in ("search", "fetch", "search"):
            with stage(name):
                pass
    assert list(record.seconds) == ["search", "fetch"]
    assert sum(record.seconds.values()) * 1e3 <= record.ms
