"""Cohere reranking through the real SDK, against the local double."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.cohere.reranker import CohereReranker
from app.adapters.sqlite.spending import SqliteSpending
from app.domain.cost import Price, Units
from app.domain.errors import (
    BudgetSpent,
    ProviderError,
    ProviderRateLimited,
    ProviderUnavailable,
)
from app.services.budget import Budget
from app.services.provider_calls import ProviderCalls
from app.services.recording import recording
from app.services.resilience import CircuitBreaker
from tests.cohere_double import CohereDouble, Fault
from tests.cohere_world import World, count_words, with_world
from tests.provider_fakes import free_calls

TEXTS = ["the moon is far", "light energy in the chloroplast", "light travels", "nothing"]


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    with CohereDouble() as served:
        yield served


def reranker(world: World, seconds: float = 3.0, model: str = "rerank-v3.5") -> CohereReranker:
    sdk = world.client.sdk
    return CohereReranker(sdk, free_calls(), count_words, model, seconds)


def test_the_best_come_first_with_scores_from_0_to_1(double: CohereDouble) -> None:
    async def use(world: World) -> None:
        ranking = await reranker(world).rerank("light energy", TEXTS)
        assert ranking == [(1, 1.0), (2, 0.5), (0, 0.0), (3, 0.0)]

    with_world(double, use)
    (request,) = double.to("rerank")
    assert request.body["documents"] == TEXTS


def test_nothing_to_rank_costs_no_call(double: CohereDouble) -> None:
    async def use(world: World) -> None:
        assert await reranker(world).rerank("light", []) == []

    with_world(double, use)
    assert double.requests == []


@pytest.mark.parametrize(
    ("model", "calibrated", "billed"),
    [
        ("rerank-v3.5", False, Units(searches=1)),
        ("rerank-v4.0-pro", False, Units(searches=1)),
        ("rerank-v5.0-fast", True, Units(input_tokens=20)),
        ("rerank-v5.0-pro", True, Units(input_tokens=20)),
    ],
)
def test_version_5_is_calibrated_and_billed_by_tokens(
    double: CohereDouble, model: str, *, calibrated: bool, billed: Units
) -> None:
    double.count_tokens = count_words

    async def use(world: World) -> None:
        used = reranker(world, model=model)
        assert used.calibrated is calibrated
        with recording() as record:
            await used.rerank("light energy", TEXTS)
        assert record.units == billed

    with_world(double, use)


def test_a_spent_budget_stops_the_next_ranking(double: CohereDouble, tmp_path: Path) -> None:
    double.count_tokens = count_words
    budget = Budget(SqliteSpending(tmp_path / "spending.sqlite"), 0.00001, None)

    async def use(world: World) -> None:
        calls = ProviderCalls(budget, Price(1.0), CircuitBreaker("rerank"))
        used = replace(reranker(world, model="rerank-v5.0-fast"), provider=calls)
        await used.rerank("light", TEXTS)
        with pytest.raises(BudgetSpent):
            await used.rerank("light", TEXTS)

    with_world(double, use)


def test_a_silent_provider_is_asked_a_few_times_and_then_left_alone(double: CohereDouble) -> None:
    """The time limit holds over all attempts of a call."""
    double.random_faults = lambda request: Fault(kind="stall")

    async def use(world: World) -> None:
        slow = reranker(world, seconds=0.05)
        for _ in range(5):
            with pytest.raises(ProviderUnavailable):
                await slow.rerank("light", TEXTS)

    with_world(double, use)
    assert 3 <= len(double.to("rerank")) <= 6


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(status=500), ProviderUnavailable),
        (Fault(status=429, retry_after="20"), ProviderRateLimited),
        (Fault(kind="body", body='{"id":"x","results":[]}'), ProviderError),
        (
            Fault(kind="body", body='{"id":"x","results":[{"index":9,"relevance_score":0.5}]}'),
            ProviderError,
        ),
        (
            Fault(kind="body", body='{"id":"x","results":[{"index":0,"relevance_score":7}]}'),
            ProviderError,
        ),
        (
            Fault(kind="body", body='{"id":"x","results":[{"index":0,"relevance_score":NaN}]}'),
            ProviderError,
        ),
        (Fault(kind="body", body='{"id":"x","results":[{}]}'), ProviderError),
    ],
    ids=str,
)
def test_what_is_no_ranking_is_an_error(
    double: CohereDouble, fault: Fault, error: type[Exception]
) -> None:
    double.random_faults = lambda request: fault

    async def use(world: World) -> None:
        with pytest.raises(error):
            await reranker(world).rerank("light", TEXTS)

    with_world(double, use)
