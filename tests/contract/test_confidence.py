"""The three answers, over HTTP, as events and on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from app.bootstrap.books import sample_request
from tests.command_line import Run
from tests.owl_server import BOOK, ORIGIN, QUESTION, events_of
from tests.serving import ingest, offline_settings, serving

Json: TypeAlias = dict[str, Any]

FOREIGN = "Who won the 1998 football cup?"
NEAR = "How far can a snowy owl see at night?"
NOTICE = "The book may not say this. These passages come nearest.\n\n"


@pytest.fixture(scope="module")
def strict(owl_home: Path) -> Iterator[httpx.Client]:
    """A client of a server where every question of the book's domain is uncertain."""
    with (
        serving(offline_settings(owl_home, answer_threshold=1.0)) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        yield client


def asked(client: httpx.Client, question: str) -> Json:
    body: Json = client.post("/v1/chat", json={"question": question}).json()
    return body


def test_an_answered_question_has_no_notice(client: httpx.Client) -> None:
    body = asked(client, QUESTION)
    assert (body["confidence"], body["refused"], body["mode"]) == ("answered", False, "extractive")
    assert not body["answer"].startswith(NOTICE)


@pytest.mark.parametrize("question", [NEAR])
def test_a_near_question_that_the_book_does_not_answer_is_uncertain(
    client: httpx.Client, question: str
) -> None:
    assert asked(client, question)["confidence"] == "uncertain"


def test_an_uncertain_answer_shows_cited_passages_under_a_notice(strict: httpx.Client) -> None:
    body = asked(strict, QUESTION)
    assert (body["confidence"], body["refused"], body["mode"]) == ("uncertain", False, "extractive")
    assert body["answer"].startswith(NOTICE)
    assert body["passages"]
    assert body["coverage"] == 1
    for citation in body["citations"]:
        claim = body["answer"][citation["start"] : citation["end"]]
        assert claim in BOOK
        assert citation["quote"] in BOOK


def test_the_notice_is_in_the_readers_language_and_names_the_books(strict: httpx.Client) -> None:
    body = asked(strict, "¿Por qué las plumas de un owl no hacen ruido durante el flight?")
    assert body["confidence"] == "uncertain"
    assert body["answer"].startswith("Puede que el libro no lo diga.")
    assert "(English)" in body["answer"].split("\n\n")[0]


def test_what_is_out_of_the_books_domain_gets_sections_and_no_passages(
    client: httpx.Client,
) -> None:
    body = asked(client, FOREIGN)
    assert (body["confidence"], body["refused"]) == ("not_in_book", True)
    assert (body["passages"], body["citations"]) == ([], [])
    assert body["sources"]
    assert all(source["url"].startswith(ORIGIN) for source in body["sources"])


def test_events_tell_the_confidence_first_and_the_notice_before_the_passages(
    client: httpx.Client, strict: httpx.Client
) -> None:
    for one, question, confidence in (
        (client, QUESTION, "answered"),
        (strict, QUESTION, "uncertain"),
        (client, FOREIGN, "not_in_book"),
    ):
        events = events_of(one.post("/v1/chat", json={"question": question, "stream": True}))
        assert events[0][1]["confidence"] == events[-1][1]["confidence"] == confidence
        text = "".join(data["text"] for name, data in events if name == "delta")
        assert text == events[-1][1]["answer"]
        assert text.startswith(NOTICE) is (confidence == "uncertain")


@pytest.fixture
def asking(run: Run, home: Path) -> Run:
    """The command line over the owl book."""
    (home / "owls").mkdir()
    (home / "owls/owls.md").write_text(BOOK, "utf-8")
    assert run("ingest", home / "owls").code == 0
    return run


@pytest.mark.parametrize(
    ("question", "threshold", "confidence"),
    [
        (QUESTION, "0.8", "answered"),
        (QUESTION, "1", "uncertain"),
        (FOREIGN, "0.8", "not_in_book"),
    ],
)
def test_ask_prints_the_confidence(
    asking: Run, question: str, threshold: str, confidence: str
) -> None:
    printed = asking("ask", question, "--json", RAG_ANSWER_THRESHOLD=threshold).json()
    assert printed["confidence"] == confidence
    assert printed["refused"] is (confidence == "not_in_book")
    told = asking("ask", question, RAG_ANSWER_THRESHOLD=threshold).out
    assert told.startswith(NOTICE) is (confidence == "uncertain")
    assert ("Nearest sections:" in told) is (confidence == "not_in_book")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    settings = offline_settings(tmp_path_factory.mktemp("sample"))
    ingest(settings, sample_request())
    with serving(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


def test_a_section_about_the_subject_comes_before_a_listing_that_quotes_the_question(
    sample: httpx.Client,
) -> None:
    body = asked(sample, "what does k1 do and what happens if I set it to zero?")
    assert body["citations"][0]["heading_path"][-1] == "What k1 does"
    assert "only presence counts" in body["answer"]
