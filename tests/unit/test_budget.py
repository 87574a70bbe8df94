"""Ceilings for money: which calls are made, what is charged, what is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from app.adapters.providers.openai_chat import OpenAIGenerator
from app.adapters.sqlite.spending import SqliteSpending
from app.domain.cost import Price, Units
from app.domain.errors import BudgetSpent, ProviderError, ProviderUnavailable
from app.services.budget import Budget, Dollars
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls
from app.services.recording import recording
from app.services.resilience import CircuitBreaker
from tests.openai_double import event
from tests.provider_fakes import model_server

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
SEARCH = Units(searches=1)
PRICE = Price(2.0, 8.0, searches=1_000.0)
"""A search costs a dollar."""


def budget(home: Path, day: float | None, month: float | None = None) -> Budget:
    """A fresh one over the same file, as after a restart."""
    limits: Dollars = {
        **({} if month is None else {"month": month}),
        **({} if day is None else {"day": day}),
    }
    return Budget(SqliteSpending(home / "spending.sqlite"), limits, now=lambda: NOON)


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
    assert await calls(paid_from(budget(tmp_path, 3.0)), 10) == 3


async def test_the_month_holds_over_its_days(tmp_path: Path) -> None:
    store = SqliteSpending(tmp_path / "spending.sqlite")

    async def spend() -> None:
        await store.add(datetime(2026, 10, 31, tzinfo=UTC).date(), 50.0)
        await store.add(datetime(2026, 11, 1, tzinfo=UTC).date(), 9.0)

    await spend()
    assert await calls(paid_from(budget(tmp_path, 5.0, 10.0)), 3) == 1


@pytest.mark.parametrize(("billed", "dollars"), [(4, 4.0), (0, 0.0), (None, 1.0)])
async def test_the_bill_replaces_the_estimate(
    tmp_path: Path, billed: int | None, dollars: float
) -> None:
    limit = budget(tmp_path, 10.0)
    with recording() as record:
        await search(paid_from(limit), billed)
    assert await spent(limit) == record.usd == pytest.approx(dollars)
    assert record.units == Units(searches=billed or 0)


@pytest.mark.parametrize(("billed", "dollars"), [(None, 0.0), (2, 2.0)])
async def test_a_call_that_fails_costs_what_was_billed(
    tmp_path: Path, billed: int | None, dollars: float
) -> None:
    limit, error = budget(tmp_path, 10.0), ProviderUnavailable("no answer")
    with pytest.raises(ProviderUnavailable):
        await search(paid_from(limit), billed, error)
    assert await spent(limit) == dollars


async def test_a_cancelled_call_costs_its_estimate(tmp_path: Path) -> None:
    limit = budget(tmp_path, 10.0)
    await limit.spent()  # the file is open
    with pytest.raises(ProviderUnavailable):
        async with paid_from(limit).call(SEARCH, seconds=0.1):
            await asyncio.Event().wait()
    assert await spent(limit) == 1.0


@pytest.mark.parametrize(
    ("day", "month", "hours"), [(0.0, None, 12), (None, 0.0, 12 + 8 * 24), (9.0, 0.0, 12 + 8 * 24)]
)
async def test_the_error_says_until_when(
    tmp_path: Path, day: float | None, month: float | None, hours: float
) -> None:
    with pytest.raises(BudgetSpent) as caught:
        await search(paid_from(budget(tmp_path, day, month)))
    assert caught.value.retry_after == hours * 3_600


async def test_a_model_without_a_price_is_not_stopped(tmp_path: Path) -> None:
    free = replace(paid_from(budget(tmp_path, 0.0)), price=None)
    assert await calls(free, 1) == 1


async def test_one_line_a_day_from_80_percent_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    provider = paid_from(budget(tmp_path, 10.0))
    for _ in range(12):
        await calls(provider, 1)
    events = [(record.message, record.levelname) for record in caplog.records]
    assert events == [("budget.near", "WARNING"), ("budget.spent", "ERROR")]
    assert vars(caplog.records[0])["spent_day"] == pytest.approx(8.0)
    assert vars(caplog.records[0])["RAG_BUDGET_DAY"] == 10.0


@pytest.mark.parametrize("day", [1.0, None])
async def test_money_that_cannot_be_counted_stops_calls_below_a_ceiling_only(
    tmp_path: Path, day: float | None
) -> None:
    (tmp_path / "spending.sqlite").mkdir()
    made = await calls(paid_from(budget(tmp_path, day)), 1)
    assert made == (0 if day else 1)


async def _body(text: str) -> AsyncGenerator[bytes, None]:
    yield text.encode()


async def answer(provider: ProviderCalls, usage: str, events: int) -> None:
    """Read so many of three events, then leave."""
    body = "".join(map(event, ("two", "words"))) + event(finish_reason="stop") + usage
    serve = httpx.MockTransport(lambda _: httpx.Response(200, content=_body(body)))
    async with httpx.AsyncClient(transport=serve, base_url="http://model.example") as client:
        model = OpenAIGenerator(model_server(client), provider, provider)
        async with aclosing(model.generate(GenerationRequest("word " * 400, (), ()))) as stream:
            for _ in range(events):
                await anext(stream)


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
    limit = budget(tmp_path, 10.0)
    with suppress(ProviderUnavailable):
        await answer(paid_from(limit), usage, events)
    assert await spent(limit) == pytest.approx(dollars, rel=0.05)
