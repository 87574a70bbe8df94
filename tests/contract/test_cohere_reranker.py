"""Cohere reranking through the real SDK, against the local double."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from app.adapters.providers.cohere_reranker import CohereReranker
from app.domain.cost import Units
from app.services.recording import recording
from tests.cohere_double import CohereDouble
from tests.cohere_world import World, connected, count_words
from tests.provider_fakes import free_calls

TEXTS = ["the moon is far", "light energy in the chloroplast", "light travels", "nothing"]


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    with CohereDouble() as served:
        yield served


@pytest.fixture
async def world(double: CohereDouble) -> AsyncIterator[World]:
    async with connected(double) as opened:
        yield opened


def reranker(world: World, seconds: float = 3.0, model: str = "rerank-v3.5") -> CohereReranker:
    return CohereReranker(world.client, free_calls(), count_words, model, seconds)


async def test_the_best_come_first_with_scores_from_0_to_1(
    world: World, double: CohereDouble
) -> None:
    ranking = await reranker(world).rerank("light energy", TEXTS)
    assert ranking == [(1, 1.0), (2, 0.5), (0, 0.0), (3, 0.0)]
    (request,) = double.to("rerank")
    assert request.body["documents"] == TEXTS


async def test_nothing_to_rank_costs_no_call(world: World, double: CohereDouble) -> None:
    assert await reranker(world).rerank("light", []) == []
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
async def test_version_5_is_calibrated_and_billed_by_tokens(
    world: World, double: CohereDouble, model: str, *, calibrated: bool, billed: Units
) -> None:
    double.count_tokens = count_words

    used = reranker(world, model=model)
    assert used.calibrated is calibrated
    with recording() as record:
        await used.rerank("light energy", TEXTS)
    assert record.units == billed
