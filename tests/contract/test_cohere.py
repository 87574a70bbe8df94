"""Cohere through the real SDK against the local double: vectors, rankings, answers, failures."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from app.adapters.providers.cohere_chat import CohereGenerator
from app.adapters.providers.cohere_client import COHERE, CohereClient, open_client
from app.adapters.providers.http import Provider, retry_after
from app.domain.cost import Units
from app.domain.errors import ConfigError, ProviderError, ProviderRateLimited, ProviderUnavailable
from app.domain.generated_text.model_text import GeneratedCitation, GeneratedEnd
from app.domain.prompts import NO_ANSWER
from app.services.recording import recording
from app.services.similarity import embed_documents
from tests.cohere_double import CohereDouble, Fault, embedding
from tests.generating import CONTEXT, answer, cohere_at, given, text_of
from tests.provider_fakes import cohere_embedder, cohere_reranker

MODULE = "app.adapters.providers.cohere_embedder"


# --- vectors


async def test_every_text_gets_its_own_vector_in_order(
    cohere: CohereClient, double: CohereDouble
) -> None:
    """In three batches."""
    texts = [f"text{number} word word" for number in range(200)]
    vectors = await embed_documents(cohere_embedder(cohere), texts)
    for text, vector in zip(texts, vectors, strict=True):
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


async def test_a_spent_month_is_not_waited_for(cohere: CohereClient, double: CohereDouble) -> None:
    message = "You are using a Trial key, which is limited to 1000 API calls / month"
    double.random_faults = lambda request: Fault(status=429, message=message, retry_after="1")

    with pytest.raises(ProviderRateLimited, match="1000 API calls / month") as caught:
        await embed_documents(cohere_embedder(cohere), ["a text"])
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
    # A busy machine may receive one late.
    asked = sorted(request.body["texts"][0] for request in double.to("embed"))
    assert asked == ["known", "new 0", "new 1", "new 2"]


UNUSABLE = "of zeros only, or with values that are not finite"


@pytest.mark.parametrize(
    ("vector", "fault"),
    [
        ([0.0] * 1_024, UNUSABLE),
        ([float("nan")] * 1_024, UNUSABLE),
        ([float("inf"), *[0.0] * 1_023], UNUSABLE),
        ([None] * 1_024, UNUSABLE),
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


# --- rankings

TEXTS = ["the moon is far", "light energy in the chloroplast", "light travels", "nothing"]


async def test_each_text_has_a_score_from_0_to_1(
    cohere: CohereClient, double: CohereDouble
) -> None:
    assert await cohere_reranker(cohere).scores("light energy", TEXTS) == [0.0, 1.0, 0.5, 0.0]
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
        await used.scores("light energy", TEXTS)
    assert record.units == billed


# --- answers


@pytest.fixture
async def model(double: CohereDouble) -> AsyncIterator[CohereGenerator]:
    async with cohere_at(double.url) as opened:
        yield opened


@pytest.mark.parametrize("first", [True, False])
async def test_citations_cover_the_cited_words_in_whichever_order_they_come(
    model: CohereGenerator, double: CohereDouble, *, first: bool
) -> None:
    """Also past characters that UTF-16 or UTF-8 would count as more than one."""
    double.citations_first = first
    context = (CONTEXT[1], CONTEXT[0])

    question = "Which naïve plant stores light energy?"
    events = await answer(model, context, question=question)
    text = text_of(events)
    cited = {
        text[event.start :][: len(event.words)]: event.paragraph_ids
        for event in events
        if isinstance(event, GeneratedCitation)
    }
    assert cited == {
        "The naïve 🌿-type plant 🌱 stores energy": ("p-two",),
        "Chlorophyll captures light energy in the chloroplast": ("p-one",),
    }


async def test_pieces_of_one_paragraph_have_ids_of_their_own_and_cite_the_paragraph(
    model: CohereGenerator, double: CohereDouble
) -> None:
    context = (
        given("p-one", "Chlorophyll captures energy."),
        given("p-one", "Light energy reaches the chloroplast."),
    )

    events = await answer(model, context)
    cited = [event for event in events if isinstance(event, GeneratedCitation)]
    assert {event.paragraph_ids for event in cited} == {("p-one",)}
    names = [document["id"] for document in double.to("chat")[0].body["documents"]]
    assert len(set(names)) == 2


async def test_when_the_documents_hold_no_answer_the_end_says_so_and_no_text_does(
    model: CohereGenerator,
) -> None:
    events = await answer(model, question="Who won the cup?")
    (end,) = events
    assert isinstance(end, GeneratedEnd)
    assert end.finish_reason == NO_ANSWER


# --- failures of the transport: no secret leaves in any of them


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": " 0.25 "}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read_in_all_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("key", ["", "   ", "k\u00e9y", "ke\ny"])
async def test_a_key_that_is_none_is_refused_before_it_reaches_a_header(key: str) -> None:
    with pytest.raises(ConfigError, match="set CO_API_KEY"):
        async with open_client(key, "http://127.0.0.1:9"):
            pass


@pytest.mark.parametrize(
    ("url", "error"),
    [("http://127.0.0.1:9", ProviderUnavailable), ("ftp://example.org", ConfigError)],
)
async def test_an_address_where_nothing_answers_is_one_clear_error(
    url: str, error: type[Exception]
) -> None:
    async with open_client("secret-key", url) as client:
        with pytest.raises(error, match="RAG_COHERE_BASE_URL") as caught:
            await cohere_embedder(client).embed_query("question")
    assert "secret-key" not in str(caught.value)


def test_the_text_of_a_transport_error_is_not_repeated() -> None:
    """A protocol error may hold the request's headers."""
    errors = Provider(httpx.AsyncClient(), *COHERE).errors("embed")
    with pytest.raises(ProviderUnavailable) as caught, errors:
        raise httpx.LocalProtocolError("Illegal header value b'Bearer secret-key'")
    assert "secret-key" not in str(caught.value)
