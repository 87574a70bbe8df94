"""What the owner learns: the report by command and at /admin, what is forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from markupsafe import escape

from app.api.report_formats import page_policy
from app.bootstrap.local_state import question_store
from app.domain.answer import AnswerMode, Confidence
from app.domain.logged_answer import LoggedAnswer, LoggedParagraph, Mark, MarkKind, Rating
from app.settings import Settings
from tests.command_line import Run
from tests.html_page import Page
from tests.logged_answers import found
from tests.owl_server import ORIGIN, added, assert_problem
from tests.serving import connected, offline_settings, serving

NOW = datetime.now(UTC)
NIGHT = LoggedParagraph("p-night", f"{ORIGIN}/owls#night", ("Owls", "Night vision"), 0.9)
SILENT = LoggedParagraph(
    "p-silent", f"{ORIGIN}/owls#silent", ("Owls", "Silent flight"), 0.8, "owls.md", ((10, 20),)
)
EAT = "What do owls eat?"
HOSTILE = "=HYPERLINK(1) <script>alert(1)</script> @owner `x` [a](javascript:x)"


def logged(number: int, question: str, **fields: object) -> LoggedAnswer:
    values: dict[str, object] = {
        "id": f"{number:016x}",
        "asked_at": NOW - timedelta(minutes=number),
        "book": "owls",
        "book_version": "v1",
        "question": question,
        "page": "",
        "reader": f"r{number % 3}",
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
    logged(1, "why is the flight of an owl silent?"),
    logged(2, "Why is an owl's flight silent?", rating=Rating.UP),
    logged(3, EAT, **REFUSED),
    logged(4, "What do  owls eat?", **REFUSED, degraded=("embedding",)),
    logged(5, HOSTILE, confidence=Confidence.UNCERTAIN, rating=Rating.DOWN, reason=HOSTILE),
    logged(6, "", mode=AnswerMode.SMALL_TALK, citations=(), sources=()),
    logged(7, "Who wrote this?", asked_at=NOW - timedelta(days=40)),
    logged(8, "a question to bats", book="bats"),
    logged(9, "How sharp is a talon?", marks=(Mark("p-night", MarkKind.UNHELPFUL),)),
]


@pytest.fixture
def settings(state: Path) -> Settings:
    """Settings of the command line's state folder, with a filled log."""
    settings = offline_settings(state, question_log_days=36_500)
    fill(settings, ENTRIES)
    return settings


def fill(settings: Settings, answers: Sequence[LoggedAnswer]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, question_store(settings).add(answers)).result()


@pytest.fixture
def owner(settings: Settings) -> Iterator[httpx.Client]:
    with connected(settings) as client:
        yield client


def secret(run: Run, *options: str) -> tuple[str, str]:
    return ("owner", added(run, "--secret", *options))


@pytest.mark.usefixtures("settings")
def test_the_report_counts_what_was_asked_and_not_answered(run: Run) -> None:
    report = run("report", "owls", "--json").json()
    assert report["questions"] == 6
    assert report["by_confidence"] == {"answered": 3, "not_in_book": 2, "uncertain": 1}
    assert (report["up"], report["down"], report["usd"]) == (1, 1, 1.75)
    most = report["most_asked"][0]
    assert most["asked"] == 2
    gap = next(one for one in report["gaps"] if one["question"] == EAT)
    assert (gap["asked"], gap["refused"], gap["gaps"]) == (2, 2, 2)
    assert gap["nearest"]["paragraph_id"] == "p-night"
    assert report["degraded"] == {"embedding": 1}
    cited = {one["paragraph"]["paragraph_id"]: one for one in report["most_cited"]}
    assert (cited["p-silent"]["cited"], cited["p-silent"]["down"]) == (4, 1)
    unhappy = {one["paragraph"]["paragraph_id"]: one for one in report["unhappy"]}
    assert (unhappy["p-night"]["unhelpful"], unhappy["p-silent"]["unhelpful"]) == (1, 0)


@pytest.mark.usefixtures("settings")
def test_since_selects_the_time(run: Run) -> None:
    assert run("report", "owls", "--since", "60d", "--json").json()["questions"] == 7
    assert run("report", "owls", "--since", "2020-01-01", "--json").json()["questions"] == 7
    assert run("report", "owls", "--since", "99999d", "--json").json()["questions"] == 7
    assert run("report", "owls", "--since", "soon").code == 2
    assert run("report", "wolves").code == 2


def test_readers_texts_are_harmless_in_every_form(run: Run, owner: httpx.Client) -> None:
    assert EAT in run("report", "owls").out
    page = owner.get("/admin", auth=secret(run))
    assert page.headers["content-security-policy"] == page_policy()
    html = Page(page.text)
    assert not html.all("script")
    assert escape(HOSTILE) in page.text
    assert all(link.attributes["href"].startswith((ORIGIN, "/")) for link in html.all("a"))


def test_forget_deletes_what_is_chosen(run: Run, settings: Settings) -> None:
    assert run("forget").code == 2
    for chosen, count in (
        (["--answer", f"{1:016x}"], 1),
        (["--containing", "OWLS EAT"], 2),
        (["--before", "30d"], 1),
        (["--book", "bats"], 1),
        (["--before", "0d"], 4),
    ):
        assert run("forget", *chosen).err == f"{count} logged questions were deleted\n"
    assert found(settings) == []


def test_old_answers_are_deleted_when_one_is_logged(settings: Settings) -> None:
    short = settings.model_copy(update={"question_log_days": 30})
    with connected(short) as client:
        client.post("/v1/chat", json={"question": "What is a talon?"})
    assert f"{7:016x}" not in [one.id for one in found(settings)]
    assert len(found(settings)) == len(ENTRIES)


def test_admin_shows_the_report_to_a_secret_key_only(owner: httpx.Client, run: Run) -> None:
    paths = ("/admin", "/admin/report.json")
    for path in paths:
        refused = owner.get(path)
        assert_problem(refused, 401, "key_required")
        assert refused.headers["www-authenticate"].startswith("Basic")
    auth = secret(run)
    public = added(run, "--origin", ORIGIN)
    assert_problem(owner.get("/admin", auth=("", public)), 403, "secret_key_required")
    assert_problem(owner.get("/admin", auth=("owner", auth[1][:-1])), 401, "key_unknown")
    for wrong in (("owner", ""), (auth[1], "")):
        assert_problem(owner.get("/admin", auth=wrong), 401, "key_required")
    for broken in ("Basic %%%", "Basic", "Basic gICA", "Digest"):
        response = owner.get("/admin", headers={"Authorization": broken})
        assert_problem(response, 401, "key_required")
    page = owner.get("/admin", auth=auth)
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    assert EAT in page.text
    assert owner.get("/admin/report.json", auth=auth).json()["questions"] == 6
    assert json.loads(owner.get("/admin/report.json?days=60", auth=auth).text)["questions"] == 7
    assert_problem(owner.get("/admin?days=0", auth=auth), 422, "invalid_request")
    assert_problem(owner.get("/admin?book=wolves", auth=auth), 404, "book_not_found")


def test_a_key_of_other_books_sees_no_report(owner: httpx.Client, run: Run) -> None:
    auth = secret(run, "--book", "bats")
    assert_problem(owner.get("/admin?book=owls", auth=auth), 403, "book_not_allowed")
    assert_problem(owner.get("/admin", auth=auth), 404, "book_not_found")


def test_without_a_log_there_is_no_report(state: Path, run: Run) -> None:
    auth = secret(run)
    with serving(offline_settings(state)) as address:
        assert_problem(httpx.get(f"{address}/admin", auth=auth), 404, "answer_not_found")
