"""`GET /metrics`, read by Prometheus's own parser, and `/readyz`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.bootstrap.local_state import site_keys
from app.domain.site_key import KeyKind, SiteKey, digest_of, new_key
from tests.cohere_double import CohereDouble, Fault
from tests.openai_double import OpenAIDouble
from tests.owl_server import ORIGIN, QUESTION, assert_problem
from tests.provider_fakes import opening_after
from tests.serving import connected, offline_settings, serving

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


@pytest.fixture
def home(owl_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(owl_home, tmp_path / "rag"))


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    with CohereDouble() as double:
        yield double


def cohere(double: CohereDouble) -> dict[str, Any]:
    provider = {"cohere_api_key": double.key, "cohere_base_url": double.url}
    return {"generator": "cohere", "budget_day": 5.0, **provider}


def test_answers_their_stages_and_their_price_are_counted(home: Path, double: CohereDouble) -> None:
    settings = offline_settings(home, **cohere(double))
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
    assert value(found, "degraded_answers_total", step="generator") == 1
    failed = {"step": "generator", "code": "provider_unavailable", "status": "503"}
    assert value(found, "failures_total", **failed) == 1
    assert value(found, "requests_total", route="/v1/chat", status="200") == 4
    assert value(found, "requests_total", route="", status="404") == 1
    assert value(found, "stage_seconds_count", stage="search") == 4
    assert value(found, "first_text_seconds_count") == 4
    assert value(found, "billed_units_total", kind="input_tokens") > 0
    spent = value(found, "cost_usd_total")
    assert spent == pytest.approx(value(found, "spent_usd", period="day"))
    assert value(found, "budget_usd", period="day") == 5
    assert value(found, "index_generation", book="owls") == 1
    assert value(found, "index_age_seconds", book="owls") >= 0
    assert value(found, "index_up") == 1
    assert value(found, "breaker", provider="generator", state="closed") == 1


def test_an_open_breaker_is_a_metric_and_readyz_says_extractive_only(
    home: Path, double: CohereDouble
) -> None:
    settings = offline_settings(home, **cohere(double))
    with (
        opening_after(1),
        serving(settings) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        before = client.get("/readyz").json()
        double.fail(*[Fault(status=503)] * 3, endpoint="chat")
        client.post("/v1/chat", json={"question": QUESTION})
        found, after = scrape(client), client.get("/readyz").json()
    assert (before["status"], before["generator"]["fault"]) == ("ready", None)
    assert value(found, "breaker", provider="generator", state="open") == 1
    assert value(found, "breaker", provider="reranker", state="closed") == 1
    assert after["status"] == "ready, extractive only"
    assert "HTTP 503" in after["generator"]["fault"]
    assert (after["embedder"]["fault"], after["disk"]["fault"]) == (None, None)


def test_readyz_says_that_the_model_server_is_down(home: Path) -> None:
    with OpenAIDouble(status=503) as double:
        settings = offline_settings(home, generator="openai", openai_base_url=double.url)
        with serving(settings) as address:
            body = httpx.get(f"{address}/readyz").json()
    assert body["status"] == "ready, extractive only"
    assert "HTTP 503" in body["generator"]["fault"]


def test_readyz_says_that_the_budget_is_spent(home: Path, double: CohereDouble) -> None:
    settings = offline_settings(home, **{**cohere(double), "budget_day": 0})
    with serving(settings) as address:
        body = httpx.get(f"{address}/readyz").json()
    assert body["status"] == "ready, extractive only"
    assert "RAG_BUDGET_DAY" in body["generator"]["fault"]


def test_metrics_are_for_this_machine_or_a_secret_key(home: Path) -> None:
    settings = offline_settings(home, open=True)
    secret, public = (new_key(kind, bytes(32)) for kind in (KeyKind.SECRET, KeyKind.PUBLISHABLE))
    keys = site_keys(settings)
    keys.add(SiteKey(KeyKind.SECRET, digest_of(secret)))
    keys.add(SiteKey(KeyKind.PUBLISHABLE, digest_of(public), (ORIGIN,)))
    forwarded = {"X-Forwarded-For": "192.0.2.1"}
    with connected(settings) as client:
        refused = client.get("/metrics", headers=forwarded)
        assert_problem(refused, 401, "key_required")
        assert refused.headers["www-authenticate"].startswith("Bearer")
        for key, status, code in (
            ("sk_" + "0" * 43, 401, "key_unknown"),
            (public, 403, "secret_key_required"),
        ):
            sent = {**forwarded, "Authorization": f"Bearer {key}"}
            assert_problem(client.get("/metrics", headers=sent), status, code)
        assert scrape(client)
        assert scrape(client, **forwarded, Authorization=f"Bearer {secret}")
