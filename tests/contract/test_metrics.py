"""`GET /metrics`, read by Prometheus's own parser, and `/readyz`."""

from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.cohere_double import CohereDouble, Fault
from tests.command_line import Run
from tests.openai_double import OpenAIDouble
from tests.owl_server import ORIGIN, QUESTION, added, assert_problem, bearer
from tests.provider_fakes import opening_after
from tests.serving import connected, offline_settings

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(client: httpx.Client, **headers: str) -> Samples:
    response = client.get("/metrics", headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"textbook_rag_{name}", frozenset(labels.items())]


def cohere(double: CohereDouble) -> dict[str, Any]:
    provider = {"cohere_api_key": double.key, "cohere_base_url": double.url}
    return {"generator": "cohere", "budget_day": 5.0, **provider}


def test_answers_their_stages_and_price_are_counted(state: Path, double: CohereDouble) -> None:
    settings = offline_settings(state, **cohere(double))
    with connected(settings) as client:
        for _ in range(2):
            assert client.post("/v1/chat", json={"question": QUESTION}).status_code == 200
        double.fail(*[Fault(status=503)] * 3, endpoint="chat")
        client.post("/v1/chat", json={"question": QUESTION})
        client.post("/v1/chat", json={"question": "Who won the world cup of 1998?"})
        assert client.get("/no/such/page/with/words").status_code == 404
        found = scrape(client)
    answered = {"confidence": "answered"}
    assert value(found, "answers_total", mode="generated", **answered) == 2
    assert value(found, "answers_total", mode="extractive", **answered) == 1
    assert value(found, "answers_total", mode="refused", confidence="not_in_book") == 1
    failed = {"step": "generator", "code": "provider_unavailable", "status": "503"}
    assert value(found, "failures_total", **failed) == 1
    assert value(found, "requests_total", route="/v1/chat", status="200") == 4
    assert value(found, "requests_total", route="", status="404") == 1
    assert value(found, "stage_seconds_count", stage="search") == 4
    assert value(found, "first_text_seconds_count") == 4
    assert value(found, "spent_usd", period="day") > 0
    assert value(found, "budget_usd", period="day") == 5
    assert (value(found, "index_up"), value(found, "books_damaged")) == (1, 0)
    assert value(found, "disk_free_bytes") > 0
    assert value(found, "breaker", provider="generator") == 0


def test_an_open_breaker_is_a_metric_and_readyz_says_extractive_only(
    state: Path, double: CohereDouble
) -> None:
    settings = offline_settings(state, **cohere(double))
    with (
        opening_after(1),
        connected(settings) as client,
    ):
        before = client.get("/readyz").json()
        double.fail(*[Fault(status=503)] * 3, endpoint="chat")
        client.post("/v1/chat", json={"question": QUESTION})
        found, after = scrape(client), client.get("/readyz").json()
    assert (before["status"], before["faults"]) == ("ready", {})
    assert value(found, "breaker", provider="generator") == 1
    assert value(found, "breaker", provider="reranker") == 0
    assert after["status"] == "ready, extractive only"
    assert after["faults"].keys() == {"generator"}
    assert "HTTP 503" in after["faults"]["generator"]


def test_readyz_says_that_no_model_answers(state: Path, double: CohereDouble) -> None:
    with OpenAIDouble(status=503) as down:
        for changes, why in (
            ({"generator": "openai", "openai_base_url": down.url}, "HTTP 503"),
            ({**cohere(double), "budget_day": 0}, "RAG_BUDGET_DAY"),
        ):
            with connected(offline_settings(state, **changes)) as client:
                body = client.get("/readyz").json()
            assert body["status"] == "ready, extractive only"
            assert why in body["faults"]["generator"]


def test_metrics_are_for_this_machine_or_a_secret_key(state: Path, run: Run) -> None:
    settings = offline_settings(state, open=True)
    secret, public = added(run, "--secret"), added(run, "--origin", ORIGIN)
    of_one_book = added(run, "--secret", "--book", "owls")
    forwarded = {"X-Forwarded-For": "192.0.2.1"}
    with connected(settings) as client:
        refused = client.get("/metrics", headers=forwarded)
        assert_problem(refused, 401, "key_required")
        assert refused.headers["www-authenticate"].startswith("Bearer")
        for key, status, code in (
            ("sk_" + "0" * 43, 401, "key_unknown"),
            (public, 403, "secret_key_required"),
            (of_one_book, 403, "book_not_allowed"),
        ):
            sent = bearer(key, **forwarded)
            assert_problem(client.get("/metrics", headers=sent), status, code)
        assert scrape(client)
        foreign = client.get("/metrics", headers={"Host": "evil.example"})
        assert_problem(foreign, 401, "key_required")
        assert scrape(client, **bearer(secret, **forwarded))
