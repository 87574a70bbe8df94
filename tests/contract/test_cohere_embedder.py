"""Cohere embeddings through the real SDK, against the local double."""

from __future__ import annotations

import json

import pytest

from app.adapters.providers.cohere_client import CohereClient
from app.domain.errors import (
    ProviderError,
    ProviderRateLimited,
    ProviderUnavailable,
)
from app.services.similarity import embed_documents
from tests.cohere_double import CohereDouble, Fault, embedding
from tests.provider_fakes import cohere_embedder

MODULE = "app.adapters.providers.cohere_embedder"


def texts(count: int, words: int = 3) -> list[str]:
    return [f"text{number} " + "word " * (words - 1) for number in range(count)]


async def test_every_text_gets_its_own_vector_in_order(
    cohere: CohereClient, double: CohereDouble
) -> None:
    """In three batches."""

    given = texts(200)
    vectors = await embed_documents(cohere_embedder(cohere), given)
    assert len(vectors) == 200
    for text, vector in zip(given, vectors, strict=True):
        assert vector.tolist() == pytest.approx(embedding(text, 1_024), abs=1e-6)
    assert [len(request.body["texts"]) for request in double.to("embed")] == [95, 95, 10]


@pytest.mark.parametrize(
    ("model", "sent"),
    [("embed-english-v3.0", None), ("embed-v4.0", 1024), ("embed-v5.0-pro", 1024)],
)
async def test_each_model_is_sent_the_parameters_that_it_knows(
    cohere: CohereClient, double: CohereDouble, model: str, sent: int | None
) -> None:
    embedder = cohere_embedder(cohere, model=model)
    assert embedder.tariff.tokens_per_text == (128_000 if sent else 512)
    await embed_documents(embedder, ["a"])
    await embedder.embed_query("b")
    bodies = [request.body for request in double.to("embed")]
    assert [body["input_type"] for body in bodies] == ["search_document", "search_query"]
    for body in bodies:
        assert (body["model"], body["embedding_types"]) == (model, ["float"])
        assert (body.get("output_dimension"), body["truncate"]) == (sent, "END")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=409),
        Fault(status=429, retry_after="0.25"),
        Fault(status=503, retry_after="3"),
        Fault(kind="drop"),
        Fault(kind="body"),
        Fault(kind="stall"),
    ],
    ids=str,
)
async def test_a_fault_that_may_pass_is_waited_out(
    cohere: CohereClient, double: CohereDouble, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is sent again, and billed once."""
    monkeypatch.setattr(f"{MODULE}.ATTEMPT_SECONDS", 0.5)
    double.fail(fault, fault, endpoint="embed")

    assert len(await embed_documents(cohere_embedder(cohere), ["one text"])) == 1
    assert len(double.to("embed")) == 3
    assert double.billed == {"one text": 1}


async def test_a_question_does_not_wait_for_a_busy_provider(
    cohere: CohereClient, double: CohereDouble
) -> None:
    """A reader waits: no long Retry-After."""
    double.random_faults = lambda request: Fault(status=429, retry_after="30")
    with pytest.raises(ProviderRateLimited) as caught:
        await cohere_embedder(cohere).embed_query("another")
    assert caught.value.retry_after == 30
    assert len(double.to("embed")) == 1


async def test_a_used_up_month_is_not_waited_for(
    cohere: CohereClient, double: CohereDouble
) -> None:
    message = "You are using a Trial key, which is limited to 1000 API calls / month"
    double.random_faults = lambda request: Fault(status=429, message=message, retry_after="1")

    with pytest.raises(ProviderRateLimited, match="1000 API calls / month") as caught:
        await embed_documents(cohere_embedder(cohere), texts(5))
    assert caught.value.retry_after is not None
    assert len(double.to("embed")) == 1


async def test_a_dead_provider_costs_a_few_questions_their_time_and_known_ones_nothing(
    cohere: CohereClient, double: CohereDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{MODULE}.QUESTION_SECONDS", 0.6)
    embedder = cohere_embedder(cohere)
    known = await embedder.embed_query("known")
    double.random_faults = lambda request: Fault(kind="stall")
    for number in range(5):
        with pytest.raises(ProviderUnavailable):
            await embedder.embed_query(f"new {number}")
        assert await embedder.embed_query("known") == known
    asked = [request.body["texts"][0] for request in double.to("embed")]
    assert asked == ["known", "new 0", "new 1", "new 2"]


@pytest.mark.parametrize(
    ("vector", "fault"),
    [
        ([0.0] * 1_024, "of zeros only"),
        ([float("nan")] * 1_024, "with values that are not finite"),
        ([float("inf"), *[0.0] * 1_023], "with values that are not finite"),
        ([None] * 1_024, "with values that are not finite"),
        ([1.0], "of 1 dimensions instead of 1024"),
    ],
    ids=lambda one: str(one)[:20],
)
async def test_a_vector_that_cannot_be_searched_with_is_refused_and_not_remembered(
    cohere: CohereClient, double: CohereDouble, vector: list[float | None], fault: str
) -> None:
    body = json.dumps({"embeddings": {"float": [vector]}})
    double.random_faults = lambda request: Fault(kind="body", body=body)

    embedder = cohere_embedder(cohere)
    for _ in range(2):
        with pytest.raises(ProviderError, match=f'a vector {fault}, for a text: "owl"') as caught:
            await embedder.embed_query("owl")
        assert "owl" not in caught.value.reason, "which is logged"
    with pytest.raises(ProviderError, match=f'a vector {fault}, for a text: "bat"'):
        await embed_documents(embedder, ["bat"])
    assert len(double.to("embed")) == 3
