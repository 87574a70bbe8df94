"""The API over the wire: a real server, the real application offline, a tiny book."""

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import app.domain.errors as errors
from app.api.requests import MAX_HISTORY_CHARS, MAX_TURNS
from app.api.security import MAX_BODY_BYTES
from app.main import openapi_json
from tests.conftest import ROOT
from tests.owl_server import BOOK, ORIGIN, QUESTION, UNSURE, assert_problem
from tests.serving import ScriptedGenerator, offline_settings, serving

# --- answers ------------------------------------------------------------------------------------


def test_an_answer_quotes_the_book_and_cites_the_paragraph(client: httpx.Client) -> None:
    body = client.post("/v1/chat", json={"question": QUESTION, "book": "owls"}).json()
    assert (body["mode"], body["refused"]) == ("extractive", False)
    assert body["usage"] == {"input_tokens": 0, "output_tokens": 0}
    citation = body["citations"][0]
    assert body["answer"][citation["start"] : citation["end"]].strip()
    place = {"title": "Silent flight", "heading_path": ["Owls", "Silent flight"]}
    assert citation.items() >= {"book": "owls", "file": "owls.md", **place}.items()
    assert citation["url"].startswith(ORIGIN)
    assert citation["permalink"] == f"/cite/{citation['paragraph_id']}?book=owls"
    start, end = citation["spans"][0]
    assert "soft fringe" in citation["quote"]
    assert citation["quote"] in BOOK[start:end]


def test_a_generated_answer_names_its_mode_and_tokens(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The flight makes ", "no sound.")
    body = generating.post("/v1/chat", json={"question": QUESTION}).json()
    assert (body["mode"], body["answer"]) == ("generated", "The flight makes no sound.")
    assert body["usage"] == {"input_tokens": 3, "output_tokens": 2}


def test_search_finds_the_chunk_by_its_words_and_its_vector(client: httpx.Client) -> None:
    request = {"question": "feathers in a soft fringe break up the air", "k": 1}
    hits = client.post("/v1/search", json=request).json()["hits"]
    assert len(hits) == 1
    assert "soft fringe" in hits[0]["text"]
    assert hits[0]["url"].startswith(ORIGIN)
    assert hits[0]["dense_score"] > 0
    assert hits[0]["sparse_score"] > 0


# --- health -------------------------------------------------------------------------------------


def test_health_says_alive_and_readiness_names_books_embedder_and_generator(
    client: httpx.Client, generating: httpx.Client
) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}
    body = client.get("/readyz").json()
    assert body["books"] == ["owls"]
    assert body["embedder"]
    assert (body["generator"], body["faults"]) == ("", {})
    assert generating.get("/readyz").json()["generator"] == "scripted"


def test_an_index_without_books_is_not_ready(tmp_path: Path) -> None:
    with serving(offline_settings(tmp_path)) as address:
        problem = assert_problem(httpx.get(f"{address}/readyz"), 503, "no_book")
        assert "ingest" in problem["detail"]
        assert_problem(
            httpx.post(f"{address}/v1/chat", json={"question": QUESTION}), 404, "book_not_found"
        )


# --- bad input ----------------------------------------------------------------------------------

_TURN = {"role": "user", "content": "Why?"}
_LONG = _TURN | {"content": "a" * 8_000}
WRONG: list[tuple[dict[str, object], int, str]] = [
    ({"question": ""}, 422, "invalid_question"),
    ({"question": " \n"}, 422, "invalid_question"),
    ({"question": "owl " * 5_000}, 422, "invalid_question"),
    ({"book": "hawks"}, 404, "book_not_found"),
    ({"question": "Hi!", "book": "hawks"}, 404, "book_not_found"),
    ({"book": "hawks", "page_url": "/owls", "scope": "page"}, 404, "book_not_found"),
    ({"selection": {"text": ""}}, 422, "invalid_request"),
    ({"selection": {"text": "a" * 4_001}}, 422, "invalid_request"),
    ({"history": [_LONG] * (MAX_HISTORY_CHARS // 8_000 + 1)}, 422, "invalid_request"),
]
INVALID: list[tuple[dict[str, object], str]] = [
    ({"question": 7}, "question"),
    ({"book": ""}, "book"),
    ({"boook": "owls"}, "boook"),
    ({"stream": "perhaps"}, "stream"),
    ({"history": "none"}, "history"),
    ({"history": [_TURN | {"role": "system"}]}, "history.0.role"),
    ({"history": [_TURN | {"content": 7}]}, "history.0.content"),
    ({"history": [_TURN | {"time": "now"}]}, "history.0.time"),
    ({"history": [_TURN] * (MAX_TURNS + 1)}, "history"),
]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_bad_question_is_a_problem_also_when_a_stream_was_asked_for(
    client: httpx.Client, accept: str
) -> None:
    def asked(change: dict[str, object]) -> httpx.Response:
        body = {"question": "Why?"} | change
        return client.post("/v1/chat", json=body, headers={"Accept": accept})

    for change, status, code in WRONG:
        assert_problem(asked(change), status, code)
    for change, field in INVALID:
        problem = assert_problem(asked(change), 422, "invalid_request")
        assert problem["errors"][0]["field"] == f"body.{field}"
        assert field in problem["detail"]


def test_a_body_up_to_the_limit_is_read_and_none_over_it(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    whole = json.dumps({"question": QUESTION}).encode().ljust(MAX_BODY_BYTES)
    assert client.post("/v1/chat", content=whole, headers=headers).status_code == 200
    response = client.post("/v1/chat", content=whole + b" ", headers=headers)
    assert_problem(response, 413, "body_too_large")
    assert response.headers["connection"] == "close"  # the rest is not read


def test_a_fault_of_the_body_is_named_once_with_what_to_do(client: httpx.Client) -> None:
    problem = client.post("/v1/chat", json={"boook": "owls"}).json()
    assert [one["field"] for one in problem["errors"]] == ["body.question", "body.boook"]
    plain = client.post("/v1/chat", content="hi", headers={"Content-Type": "text/plain"}).json()
    assert plain["detail"].endswith("send one with `Content-Type: application/json`")


def test_a_wrong_address_is_a_problem(client: httpx.Client) -> None:
    missing = assert_problem(client.get("/v1/nothing"), 404, "not_found")
    assert "see /v1/openapi.json" in missing["detail"]
    wrong = client.put("/v1/chat")
    assert "header `Allow`" in assert_problem(wrong, 405, "method_not_allowed")["detail"]
    assert wrong.headers["Allow"] == "POST"


# --- errors -------------------------------------------------------------------------------------

_SECRET = "cohere at 10.0.0.7 said: bad key abc123"


def test_a_failure_of_the_provider_is_a_problem_that_says_when_to_come_back(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play(errors.ProviderRateLimited(_SECRET, retry_after=2.5))
    response = generating.post("/v1/chat", json={"question": UNSURE})
    problem = assert_problem(response, 503, "provider_rate_limited")
    assert _SECRET not in response.text
    assert problem["retry_after"] == 2.5
    assert response.headers["retry-after"] == "3"


def test_an_unexpected_exception_is_logged_and_not_told(
    generating: httpx.Client, generator: ScriptedGenerator, caplog: pytest.LogCaptureFixture
) -> None:
    generator.play("The flight", RuntimeError(_SECRET))
    response = generating.post("/v1/chat", json={"question": QUESTION})
    problem = assert_problem(response, 500, "internal")
    assert _SECRET not in response.text
    assert "RuntimeError" not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"
    event = next(record for record in caplog.records if record.message == "http.unexpected_error")
    assert event.__dict__["request_id"] == problem["request_id"]
    assert event.exc_info is not None


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/books", "/v1/glossary?page=/owls"])
def test_head_has_the_headers_of_get(client: httpx.Client, path: str) -> None:
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    own = {"date", "x-request-id"}
    assert {k: v for k, v in head.headers.items() if k not in own} == {
        k: v for k, v in got.headers.items() if k not in own
    }


# --- headers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/healthz", "/v1/nothing", "/v1/openapi.json", "/widget/widget.js", "/v1/search"]
)
def test_every_response_carries_the_security_headers(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-request-id"]
    assert headers["cache-control"] == ("no-store" if path.startswith("/v1/") else "no-cache")


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [(ORIGIN, True), ("https://other.example:8443", True), ("https://evil.example", False)],
)
def test_only_listed_origins_may_call_from_a_browser(
    client: httpx.Client, origin: str, allowed: bool
) -> None:
    preflight = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    expected = origin if allowed else None
    asked = client.options("/v1/chat", headers=preflight)
    posted = client.post("/v1/chat", json={"question": ""}, headers={"Origin": origin})
    for response in (asked, posted):
        assert response.headers.get("access-control-allow-origin") == expected
        assert "access-control-allow-credentials" not in response.headers
    assert posted.status_code == (422 if allowed else 403)


# --- the contract -------------------------------------------------------------------------------

CONTRACT = ROOT / "specs/001-textbook-rag/contracts/openapi.json"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)


def test_the_contract_in_the_repository_is_the_one_served(client: httpx.Client) -> None:
    assert CONTRACT.read_text(encoding="utf-8") == openapi_json(), (
        f"run: python -m app.main > {CONTRACT.relative_to(ROOT)}"
    )
    assert client.get("/v1/openapi.json").json() == json.loads(openapi_json())


@pytest.mark.timeout(600)
def test_every_answer_to_any_request_is_in_the_description(own_home: Path, tmp_path: Path) -> None:
    """Schemathesis asks every operation what the description allows and what it does not."""
    with serving(offline_settings(own_home, questions_per_minute=0)) as address:
        command = [
            *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
            *("run", f"{address}/v1/openapi.json"),
            *("--checks", CHECKS),
            *("--phases", "examples,coverage,fuzzing"),
            *("--max-examples", "5", "--generation-deterministic", "--no-color"),
            *("--suppress-health-check", "all"),
        ]
        result = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=540, check=False
        )
    assert result.returncode == 0, result.stdout[-6_000:] + result.stderr[-2_000:]
    generated = re.search(r"(\d+) generated, (\d+) passed", result.stdout)
    assert generated
    assert generated[1] == generated[2]
    assert int(generated[1]) > 300
