"""Cohere reranking through the real SDK, against the local double."""

from __future__ import annotations

import pytest

from app.adapters.providers.cohere_client import CohereClient
from app.domain.cost import Units
from app.services.recording import recording
from tests.cohere_double import CohereDouble
from tests.provider_fakes import cohere_reranker

TEXTS = ["the moon is far", "light energy in the chloroplast", "light travels", "nothing"]


async def test_the_best_come_first_with_scores_from_0_to_1(
    cohere: CohereClient, double: CohereDouble
) -> None:
    ranking = await cohere_reranker(cohere).rerank("light energy", TEXTS)
    assert ranking == [(1, 1.0), (2, 0.5), (0, 0.0), (3, 0.0)]
    (request,) = double.to("rerank")
    assert request.body["documents"] == TEXTS


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
    cohere: CohereClient, double: CohereDouble, model: str, *, calibrated: bool, billed: Units
) -> None:
    used = cohere_reranker(cohere, model)
    assert used.calibrated is calibrated
    with recording() as record:
        await used.rerank("light energy", TEXTS)
    assert record.units == billed
