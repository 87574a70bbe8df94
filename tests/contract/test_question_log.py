"""Answers are logged for the owner; what readers say of them, the report, and what is forgotten."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.bootstrap.storage import question_store
from app.domain.answer import AnswerMode, Confidence
from app.domain.logged_answer import LoggedAnswer, LoggedParagraph, Mark, MarkKind, Rating
from app.services.question_log import Selected
from app.settings import Settings
from tests.cohere_double import CohereDouble
from tests.command_line import Run
from tests.owl_server import ORIGIN, QUESTION, added, assert_problem, bearer, events_of
from tests.serving import connected, offline_settings


def found(settings: Settings) -> list[LoggedAnswer]:
    return asyncio.run(question_store(settings).find(Selected()))


@pytest.fixture
def settings(state: Path) -> Settings:
    """Settings of the command line's state folder, with an empty log."""
    return offline_settings(state, question_log_days=36_500)


@pytest.fixture
def reader(settings: Settings) -> Iterator[httpx.Client]:
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


def test_an_answer_is_logged_with_readers_words(settings: Settings, reader: httpx.Client) -> None:
    told = ask(reader, page_url=f"{ORIGIN}/owls?session=7#top")
    paragraph = told["citations"][0]["paragraph_id"]
    assert reader.get("/v1/books").json()["feedback"] is True
    for fields in (
        {"rating": "up"},
        {"rating": "down", "reason": "\0 too short, mail ann@example.org"},
        {"citation": {"paragraph_id": paragraph, "event": "clicked"}},
        {"citation": {"paragraph_id": paragraph, "event": "clicked"}},
        {"citation": {"paragraph_id": paragraph, "event": "unhelpful"}},
    ):
        assert say(reader, told["answer_id"], **fields).status_code == 204
    response = reader.post("/v1/chat", json={"question": "Hello", "stream": True})
    assert say(reader, events_of(response)[-1][1]["answer_id"], rating="up").is_success
    entry, _ = logged(settings, reader)
    assert (entry.id, entry.book, entry.question) == (told["answer_id"], "owls", QUESTION)
    assert entry.mode is AnswerMode.EXTRACTIVE
    assert paragraph in [one.paragraph_id for one in entry.citations]
    assert [one.paragraph_id for one in entry.sources] == [
        one["paragraph_id"] for one in told["sources"]
    ]
    assert entry.rating is Rating.DOWN
    assert entry.reason == "\N{REPLACEMENT CHARACTER} too short, mail <email>"
    assert set(entry.marks) == {Mark(paragraph, kind) for kind in MarkKind}


def test_no_personal_data_is_logged(settings: Settings, reader: httpx.Client) -> None:
    ask(reader, f"{QUESTION} I am ann@example.org, +49 170 1234567")
    assert ask(reader, "thank you")["mode"] == "small_talk"
    kept = logged(settings, reader)
    assert [one.question for one in kept] == [f"{QUESTION} I am <email>, <phone>", ""]
    assert all("127.0.0.1" not in str(one) for one in kept)


def test_feedback_needs_a_logged_answer_and_content(reader: httpx.Client) -> None:
    known = ask(reader)["answer_id"]
    assert_problem(say(reader, "0" * 16, rating="up"), 404, "answer_not_found")
    for fields in (
        {},
        {"rating": "maybe"},
        {"rating": "up", "user": "ann"},
        {"reason": "x" * 1001},
    ):
        assert_problem(say(reader, known, **fields), 422, "invalid_request")
    foreign = {"paragraph_id": "p-other", "event": "clicked"}
    assert_problem(say(reader, known, citation=foreign), 422, "invalid_input")


def test_a_page_that_is_left_sends_its_feedback_as_a_beacon(reader: httpx.Client, run: Run) -> None:
    told = ask(reader)
    mark = {"paragraph_id": told["citations"][0]["paragraph_id"], "event": "clicked"}
    body = json.dumps({"answer_id": told["answer_id"], "citation": mark})
    page = {"Origin": ORIGIN, "Content-Type": "text/plain;charset=UTF-8"}
    publishable, secret = added(run, "--origin", ORIGIN), added(run, "--secret")

    def beacon(key: str, content: str = body, path: str = "/v1/feedback") -> httpx.Response:
        return reader.post(path, params={"key": key}, content=content, headers=page)

    assert beacon(publishable).status_code == 204
    for broken in ("{", "[" * 60_000, '"text"'):
        assert_problem(beacon(publishable, broken), 422, "invalid_request")
    # A secret key in an address would be written to logs.
    assert_problem(beacon(secret), 401, "key_required")
    assert_problem(beacon(publishable, path="/v1/chat"), 401, "key_required")


def test_feedback_needs_a_key_for_the_answers_book(
    settings: Settings, reader: httpx.Client, run: Run
) -> None:
    known = ask(reader)["answer_id"]
    body = {"answer_id": known, "rating": "up"}
    for book, status in (("owls", 204), ("bats", 404)):
        headers = bearer(added(run, "--secret", "--book", book))
        response = reader.post("/v1/feedback", json=body, headers=headers)
        assert response.status_code == status
    assert_problem(reader.post("/v1/feedback", json=body), 401, "key_required")


def test_without_a_log_answers_have_no_id(client: httpx.Client) -> None:
    assert ask(client)["answer_id"] == ""
    assert client.get("/v1/books").json()["feedback"] is False
    assert_problem(say(client, "0" * 16, rating="up"), 404, "answer_not_found")


def test_deleted_answers_are_gone_with_their_feedback(
    settings: Settings, reader: httpx.Client, run: Run
) -> None:
    known = ask(reader)["answer_id"]
    say(reader, known, rating="up")
    ask(reader, "What is 100% of a_fringe at Quxhaven?")
    assert "Quxhaven" in logged(settings, reader)[1].question
    assert run("forget", "--containing", "0% OF A_f").err.startswith("deleted 1 ")
    assert run("forget", "--containing", "%").err.startswith("deleted 0 ")
    files = list(settings.home.glob("questions.sqlite*"))
    assert files
    assert not any(b"Quxhaven" in one.read_bytes() for one in files)
    assert [one.id for one in found(settings)] == [known]
    run("forget", "--book", "owls")
    assert_problem(say(reader, known, rating="up"), 404, "answer_not_found")


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


# --- the report

NOW = datetime.now(UTC)
NIGHT = LoggedParagraph("p-night", f"{ORIGIN}/owls#night", ("Owls", "Night vision"))
SILENT = LoggedParagraph("p-silent", f"{ORIGIN}/owls#silent", ("Owls", "Silent flight"))
EAT = "What do owls eat?"
HOSTILE = "=HYPERLINK(1) <script>alert(1)</script> @owner `x` [a](javascript:x)"


def entry(number: int, question: str, **fields: object) -> LoggedAnswer:
    values: dict[str, object] = {
        "id": f"{number:016x}",
        "asked_at": NOW - timedelta(minutes=number),
        "book": "owls",
        "question": question,
        "mode": AnswerMode.EXTRACTIVE,
        "confidence": Confidence.ANSWERED,
        "usd": 0.25,
        "citations": (SILENT,),
        "sources": (NIGHT,),
    }
    return LoggedAnswer(**{**values, **fields})  # type: ignore[arg-type]


REFUSED = {
    "mode": AnswerMode.REFUSED,
    "confidence": Confidence.NOT_IN_BOOK,
    "citations": (),
}
ENTRIES = [
    entry(1, "why is the flight of an owl silent?"),
    entry(2, "Why is an owl's flight silent?", rating=Rating.UP),
    entry(3, EAT, **REFUSED),
    entry(4, "What do  owls eat?", **REFUSED, degraded=("embedding",)),
    entry(5, HOSTILE, confidence=Confidence.UNCERTAIN, rating=Rating.DOWN, reason=HOSTILE),
    entry(6, "", mode=AnswerMode.SMALL_TALK, citations=(), sources=()),
    entry(7, "Who wrote this?", asked_at=NOW - timedelta(days=40)),
    entry(8, "a question to bats", book="bats"),
    entry(9, "How sharp is a talon?", marks=(Mark("p-night", MarkKind.UNHELPFUL),)),
]


@pytest.fixture
def filled(settings: Settings) -> Settings:
    asyncio.run(question_store(settings).add(ENTRIES))
    return settings


@pytest.mark.usefixtures("filled")
def test_the_report_counts_what_was_asked_and_not_answered(run: Run) -> None:
    report = run("report", "owls", "--json").json()
    assert (report["questions"], report["until"][10]) == (6, "T")
    assert report["by_confidence"] == {"answered": 3, "not_in_book": 2, "uncertain": 1}
    assert (report["up"], report["down"], report["usd"]) == (1, 1, 1.75)
    most = report["most_asked"][0]
    assert most["asked"] == 2
    gap = next(one for one in report["gaps"] if one["question"] == EAT)
    assert (gap["asked"], gap["refused"], gap["gaps"]) == (2, 2, 2)
    assert gap["nearest"]["paragraph_id"] == "p-night"
    assert report["degraded"] == {"embedding": 1}
    silent, night = report["paragraphs"]
    assert silent["paragraph"]["paragraph_id"] == "p-silent"
    assert (silent["cited"], silent["down"], silent["unhelpful"]) == (4, 1, 0)
    assert (night["paragraph"]["paragraph_id"], night["unhelpful"]) == ("p-night", 1)


@pytest.mark.usefixtures("filled")
def test_days_select_the_time(run: Run) -> None:
    for days in ("60", "36500"):
        assert run("report", "owls", "--days", days, "--json").json()["questions"] == 7
    assert run("report", "owls", "--days", "soon").code == 2
    assert run("report", "wolves").code == 2


@pytest.mark.usefixtures("filled")
def test_gaps_and_paragraphs_are_listed_with_their_addresses(run: Run) -> None:
    gaps, most, paragraphs = run("report", "owls").out.split("\n\n")[1:]
    assert EAT in gaps
    assert HOSTILE in gaps
    assert f"{ORIGIN}/" in gaps
    assert most.startswith("Asked most: ")
    assert f"{ORIGIN}/" in paragraphs.splitlines()[1]


def test_forget_deletes_what_is_chosen(run: Run, filled: Settings) -> None:
    assert run("forget").code == 2
    for chosen, count in (
        (["--answer", f"{1:016x}"], "1 logged question"),
        (["--containing", "OWLS EAT"], "2 logged questions"),
        (["--older-than", "30"], "1 logged question"),
        (["--book", "bats"], "1 logged question"),
        (["--older-than", "0"], "4 logged questions"),
    ):
        assert run("forget", *chosen).err == f"deleted {count}\n"
    assert found(filled) == []


def test_old_answers_are_deleted_when_one_is_logged(filled: Settings) -> None:
    short = filled.model_copy(update={"question_log_days": 30})
    with connected(short) as client:
        client.post("/v1/chat", json={"question": "What is a talon?"})
    assert f"{7:016x}" not in [one.id for one in found(filled)]
    assert len(found(filled)) == len(ENTRIES)
