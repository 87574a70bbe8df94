"""Answers are logged for the owner, and readers say whether they helped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.answer import AnswerMode
from app.domain.logged_answer import LoggedAnswer, Mark, MarkKind, Rating
from app.services.question_log import Selected
from app.settings import Settings
from tests.cohere_double import CohereDouble
from tests.command_line import Run
from tests.logged_answers import deleted, found
from tests.owl_server import ORIGIN, QUESTION, added, assert_problem, bearer, events_of
from tests.serving import connected, offline_settings


@pytest.fixture
def settings(state: Path) -> Settings:
    """Settings with a new, empty log."""
    return offline_settings(state, question_log_days=36_500)


@pytest.fixture
def logging_client(settings: Settings) -> Iterator[httpx.Client]:
    with connected(settings) as client:
        yield client


def ask(client: httpx.Client, question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/v1/chat", json={"question": question, **fields}).json()
    return answer


def say(client: httpx.Client, answer_id: str, **fields: object) -> httpx.Response:
    return client.post("/v1/feedback", json={"answer_id": answer_id, **fields})


def logged(settings: Settings, client: httpx.Client) -> list[LoggedAnswer]:
    # Feedback is taken after the answers so far are stored.
    assert_problem(say(client, "0" * 16, rating="up"), 404, "answer_not_found")
    return found(settings)


def only(settings: Settings, client: httpx.Client) -> LoggedAnswer:
    (answer,) = logged(settings, client)
    return answer


def test_an_answer_is_logged_with_what_readers_say(
    settings: Settings, logging_client: httpx.Client
) -> None:
    told = ask(logging_client, page_url=f"{ORIGIN}/owls?session=7#top")
    paragraph = told["citations"][0]["paragraph_id"]
    assert logging_client.get("/v1/books").json()["feedback"] is True
    for fields in (
        {"rating": "up"},
        {"rating": "down", "reason": "\0 too short, mail ann@example.org"},
        {"citation": {"paragraph_id": paragraph, "event": "clicked"}},
        {"citation": {"paragraph_id": paragraph, "event": "clicked"}},
        {"citation": {"paragraph_id": paragraph, "event": "unhelpful"}},
    ):
        assert say(logging_client, told["answer_id"], **fields).status_code == 204
    response = logging_client.post("/v1/chat", json={"question": "Hello", "stream": True})
    assert say(logging_client, events_of(response)[-1][1]["answer_id"], rating="up").is_success
    entry, _ = logged(settings, logging_client)
    assert (entry.id, entry.book, entry.question) == (told["answer_id"], "owls", QUESTION)
    assert entry.mode is AnswerMode.EXTRACTIVE
    assert paragraph in [one.paragraph_id for one in entry.citations]
    assert [one.paragraph_id for one in entry.sources] == [
        one["paragraph_id"] for one in told["sources"]
    ]
    assert entry.rating is Rating.DOWN
    assert entry.reason == "\N{REPLACEMENT CHARACTER} too short, mail <email>"
    assert set(entry.marks) == {Mark(paragraph, kind) for kind in MarkKind}


def test_no_personal_data_is_logged(settings: Settings, logging_client: httpx.Client) -> None:
    ask(logging_client, f"{QUESTION} I am ann@example.org, +49 170 1234567")
    assert ask(logging_client, "thank you")["mode"] == "small_talk"
    kept = logged(settings, logging_client)
    assert [one.question for one in kept] == [f"{QUESTION} I am <email>, <phone>", ""]
    assert all("127.0.0.1" not in str(one) for one in kept)


def test_feedback_needs_a_logged_answer_and_content(logging_client: httpx.Client) -> None:
    known = ask(logging_client)["answer_id"]
    assert_problem(say(logging_client, "0" * 16, rating="up"), 404, "answer_not_found")
    for fields in (
        {},
        {"rating": "maybe"},
        {"rating": "up", "user": "ann"},
        {"reason": "x" * 1001},
    ):
        assert_problem(say(logging_client, known, **fields), 422, "invalid_request")
    foreign = {"paragraph_id": "p-other", "event": "clicked"}
    assert_problem(say(logging_client, known, citation=foreign), 422, "invalid_input")


def test_a_page_that_is_left_sends_its_feedback_as_a_beacon(
    logging_client: httpx.Client, run: Run
) -> None:
    told = ask(logging_client)
    mark = {"paragraph_id": told["citations"][0]["paragraph_id"], "event": "clicked"}
    body = json.dumps({"answer_id": told["answer_id"], "citation": mark})
    page = {"Origin": ORIGIN, "Content-Type": "text/plain;charset=UTF-8"}
    publishable, secret = added(run, "--origin", ORIGIN), added(run, "--secret")

    def beacon(key: str, content: str = body, path: str = "/v1/feedback") -> httpx.Response:
        return logging_client.post(path, params={"key": key}, content=content, headers=page)

    assert beacon(publishable).status_code == 204
    for broken in ("{", "[" * 60_000, '"text"'):
        assert_problem(beacon(publishable, broken), 422, "invalid_request")
    # A secret key in an address would be written to logs.
    assert_problem(beacon(secret), 401, "key_required")
    assert_problem(beacon(publishable, path="/v1/chat"), 401, "key_required")


def test_feedback_needs_a_key_for_the_answers_book(
    settings: Settings, logging_client: httpx.Client, run: Run
) -> None:
    known = ask(logging_client)["answer_id"]
    body = {"answer_id": known, "rating": "up"}
    for book, status in (("owls", 204), ("bats", 404)):
        headers = bearer(added(run, "--secret", "--book", book))
        response = logging_client.post("/v1/feedback", json=body, headers=headers)
        assert response.status_code == status
    assert_problem(logging_client.post("/v1/feedback", json=body), 401, "key_required")


def test_without_a_log_answers_have_no_id(client: httpx.Client) -> None:
    assert ask(client)["answer_id"] == ""
    assert client.get("/v1/books").json()["feedback"] is False
    assert_problem(say(client, "0" * 16, rating="up"), 404, "answer_not_found")


def test_deleted_answers_are_gone_with_their_feedback(
    settings: Settings, logging_client: httpx.Client
) -> None:
    known = ask(logging_client)["answer_id"]
    say(logging_client, known, rating="up")
    ask(logging_client, "What is 100% of a_fringe at Quxhaven?")
    assert "Quxhaven" in logged(settings, logging_client)[1].question
    assert deleted(settings, Selected(containing="0% OF A_f")) == 1
    assert deleted(settings, Selected(containing="%")) == 0
    files = list(settings.home.glob("questions.sqlite*"))
    assert files
    assert not any(b"Quxhaven" in one.read_bytes() for one in files)
    assert only(settings, logging_client).id == known
    assert deleted(settings, Selected(book="owls")) == 1
    assert_problem(say(logging_client, known, rating="up"), 404, "answer_not_found")


def test_a_log_that_cannot_be_written_delays_no_answer(settings: Settings) -> None:
    (settings.home / "questions.sqlite").write_bytes(b"no database" * 100)
    with connected(settings) as client:
        told = ask(client)
        assert told["citations"]
        assert_problem(say(client, told["answer_id"], rating="up"), 503, "storage_failed")


def test_the_money_that_a_model_costs_is_logged(state: Path) -> None:
    with CohereDouble() as double:
        provider = {"cohere_api_key": double.key, "cohere_base_url": double.url}
        settings = offline_settings(state, question_log_days=90, generator="cohere", **provider)
        with connected(settings) as client:
            ask(client)
    (entry,) = found(settings)
    assert entry.mode is AnswerMode.GENERATED
    assert entry.usd > 0
