"""Cohere reranking through the real SDK, against the local double."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.adapters.cohere.reranker import CohereReranker
from app.domain.errors import ProviderError, ProviderRateLimited, ProviderUnavailable
from tests.cohere_double import CohereDouble, Fault
from tests.cohere_world import World, unlimited, with_world
from tests.provider_fakes import free_calls

TEXTS = ["the moon is far", "light energy in the chloroplast", "light travels", "nothing"]


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    with CohereDouble() as served:
        yield served


def reranker(world: World, seconds: float = 3.0) -> CohereReranker:
    return CohereReranker(world.client.sdk, unlimited(), free_calls(), "rerank-v3.5", seconds)


def test_the_best_come_first_with_scores_from_0_to_1(double: CohereDouble) -> None:
    async def use(world: World) -> None:
        ranking = await reranker(world).rerank("light energy", TEXTS, top_n=3)
        assert ranking == [(1, 1.0), (2, 0.5), (0, 0.0)]

    with_world(double, use)
    (request,) = double.to("rerank")
    assert request.body["top_n"] == 3
    assert request.body["documents"] == TEXTS


@pytest.mark.parametrize(("texts", "top_n"), [([], 3), (TEXTS, 0)])
def test_nothing_to_rank_costs_no_call(double: CohereDouble, texts: list[str], top_n: int) -> None:
    async def use(world: World) -> None:
        assert await reranker(world).rerank("light", texts, top_n) == []

    with_world(double, use)
    assert double.requests == []


def test_more_wanted_than_there_is_gives_what_there_is(double: CohereDouble) -> None:
    async def use(world: World) -> None:
        assert len(await reranker(world).rerank("light", TEXTS, top_n=50)) == 4

    with_world(double, use)


def test_a_silent_provider_is_asked_a_few_times_and_then_left_alone(double: CohereDouble) -> None:
    """The time limit holds over all attempts of a call."""
    double.random_faults = lambda request: Fault(kind="stall")

    async def use(world: World) -> None:
        slow = reranker(world, seconds=0.05)
        for _ in range(5):
            with pytest.raises(ProviderUnavailable):
                await slow.rerank("light", TEXTS, 3)

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
            await reranker(world).rerank("light", TEXTS, 3)

    with_world(double, use)
