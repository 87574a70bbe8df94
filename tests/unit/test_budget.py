"""Ceilings for money: what is reserved, what is charged, what is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.adapters.sqlite.spending import SqliteSpending
from app.domain.answer import AnswerMode, Usage
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.cost import Bill, Price, Units
from app.domain.errors import BudgetSpent, ProviderUnavailable
from app.services.budget import Budget, Meter, MeteredGenerator, MeteredReranker
from app.services.generators import GeneratedEnd, GeneratedText, GenerationRequest, GeneratorEvent

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
A_SEARCH = Price(searches=1_000.0)
"""A search costs a dollar."""


def budget(home: Path, day: float | None, month: float | None = None) -> Budget:
    """A fresh one over the same file, as after a restart."""
    return Budget(SqliteSpending(home / "spending.sqlite"), day, month, now=lambda: NOON)


@dataclass
class BillingReranker:
    """Bills `searches` a call, or fails."""

    bill: Bill = field(default_factory=Bill)
    searches: int = 1
    fails: bool = False

    async def rerank(
        self, question: str, texts: Sequence[str], top_n: int
    ) -> list[tuple[int, float]]:
        if self.fails:
            message = "no answer"
            raise ProviderUnavailable(message)
        self.bill.add(Units(searches=self.searches))
        return [(0, 1.0)]


def metered(reranker: BillingReranker, limit: Budget) -> MeteredReranker:
    return MeteredReranker(reranker, Meter(limit, A_SEARCH, reranker.bill))


async def calls(reranker: MeteredReranker, times: int) -> int:
    """How many of so many calls at once are made."""
    work = (reranker.rerank("question", ["text"], 1) for _ in range(times))
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    assert all(isinstance(one, list | BudgetSpent) for one in outcomes), outcomes
    return sum(isinstance(one, list) for one in outcomes)


def test_calls_at_once_do_not_exceed_the_day(tmp_path: Path) -> None:
    assert asyncio.run(calls(metered(BillingReranker(), budget(tmp_path, 3.0)), 10)) == 3


def test_what_was_spent_outlasts_a_restart(tmp_path: Path) -> None:
    assert asyncio.run(calls(metered(BillingReranker(), budget(tmp_path, 3.0)), 2)) == 2
    assert asyncio.run(calls(metered(BillingReranker(), budget(tmp_path, 3.0)), 2)) == 1


def test_the_month_holds_over_its_days(tmp_path: Path) -> None:
    store = SqliteSpending(tmp_path / "spending.sqlite")

    async def spend() -> None:
        await store.add(datetime(2026, 10, 31, tzinfo=UTC).date(), 50.0)
        await store.add(datetime(2026, 11, 1, tzinfo=UTC).date(), 9.0)

    asyncio.run(spend())
    assert asyncio.run(calls(metered(BillingReranker(), budget(tmp_path, 5.0, 10.0)), 3)) == 1


def test_the_bill_replaces_the_estimate(tmp_path: Path) -> None:
    ceiling = budget(tmp_path, 10.0)
    assert asyncio.run(calls(metered(BillingReranker(searches=4), ceiling), 1)) == 1
    assert asyncio.run(ceiling.store.spent(NOON.date())).day == pytest.approx(4.0)


def test_a_call_that_fails_costs_what_was_billed(tmp_path: Path) -> None:
    ceiling = budget(tmp_path, 10.0)
    with pytest.raises(ProviderUnavailable):
        asyncio.run(metered(BillingReranker(fails=True), ceiling).rerank("q", ["text"], 1))
    assert asyncio.run(ceiling.store.spent(NOON.date())).day == 0.0


@pytest.mark.parametrize(
    ("day", "month", "hours"), [(0.0, None, 12), (None, 0.0, 12 + 8 * 24), (9.0, 0.0, 12 + 8 * 24)]
)
def test_the_error_says_until_when(
    tmp_path: Path, day: float | None, month: float | None, hours: float
) -> None:
    with pytest.raises(BudgetSpent) as caught:
        asyncio.run(budget(tmp_path, day, month).reserve(1.0))
    assert caught.value.retry_after == hours * 3_600


def test_a_model_without_a_price_is_not_stopped(tmp_path: Path) -> None:
    asyncio.run(budget(tmp_path, 0.0).reserve(0.0))


def test_one_line_a_day_from_80_percent_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(12):
        asyncio.run(calls(metered(BillingReranker(), budget(tmp_path, 10.0)), 1))
    events = [(record.message, record.levelname) for record in caplog.records]
    assert events == [("budget.near", "WARNING"), ("budget.spent", "ERROR")]
    assert vars(caplog.records[0])["spent_day"] == pytest.approx(8.0)
    # A limit that the owner raises can be reached again on the same day.
    for _ in range(12):
        asyncio.run(calls(metered(BillingReranker(), budget(tmp_path, 20.0)), 1))
    assert [record.message for record in caplog.records] == 2 * ["budget.near", "budget.spent"]


@pytest.mark.parametrize("day", [1.0, None])
def test_money_that_cannot_be_counted_stops_calls_below_a_ceiling_only(
    tmp_path: Path, day: float | None
) -> None:
    (tmp_path / "spending.sqlite").mkdir()
    made = asyncio.run(calls(metered(BillingReranker(), budget(tmp_path, day)), 1))
    assert made == (0 if day else 1)


@dataclass
class Writing:
    """Writes two words, then ends with this usage."""

    usage: Usage
    model: str = "writing"
    mode: AnswerMode = AnswerMode.GENERATED

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        yield GeneratedText("two")
        yield GeneratedText("words")
        yield GeneratedEnd(self.usage, "COMPLETE")


async def answer(generator: MeteredGenerator, events: int) -> None:
    """Read so many events, then leave."""
    request = GenerationRequest(
        "question?", (), (), analysis=QuestionAnalysis.__new__(QuestionAnalysis)
    )
    async with aclosing(generator.generate(request)) as stream:
        for _ in range(events):
            await anext(stream)


@pytest.mark.parametrize(
    ("events", "usage", "dollars"),
    [
        (3, Usage(1_000_000, 0), 2.0),
        (3, Usage(), 1_000 * 8 / 1e6 + 503 * 2 / 1e6),
        (1, Usage(1_000_000, 0), 1_000 * 8 / 1e6 + 503 * 2 / 1e6),
    ],
    ids=["read to its end", "no usage reported", "left before its end"],
)
def test_an_answer_costs_what_its_end_reports_or_else_the_estimate(
    tmp_path: Path, events: int, usage: Usage, dollars: float
) -> None:
    ceiling = budget(tmp_path, 10.0)
    generator = MeteredGenerator(Writing(usage), ceiling, Price(2.0, 8.0), max_tokens=1_000)
    asyncio.run(answer(generator, events))
    assert asyncio.run(ceiling.store.spent(NOON.date())).day == pytest.approx(dollars)
