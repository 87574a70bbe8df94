"""What the owner learns: the report, and what is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.domain.answer import AnswerMode, Confidence
from app.domain.logged_answer import LoggedAnswer, LoggedParagraph, Mark, MarkKind, Rating
from app.settings import Settings
from tests.command_line import Run
from tests.logged_answers import fill, found
from tests.owl_server import ORIGIN
from tests.serving import connected, offline_settings

NOW = datetime.now(UTC)
NIGHT = LoggedParagraph("p-night", f"{ORIGIN}/owls#night", ("Owls", "Night vision"))
SILENT = LoggedParagraph("p-silent", f"{ORIGIN}/owls#silent", ("Owls", "Silent flight"))
EAT = "What do owls eat?"
HOSTILE = "=HYPERLINK(1) <script>alert(1)</script> @owner `x` [a](javascript:x)"


def logged(number: int, question: str, **fields: object) -> LoggedAnswer:
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
    silent, night = report["paragraphs"]
    assert silent["paragraph"]["paragraph_id"] == "p-silent"
    assert (silent["cited"], silent["down"], silent["unhelpful"]) == (4, 1, 0)
    assert (night["paragraph"]["paragraph_id"], night["unhelpful"]) == ("p-night", 1)


@pytest.mark.usefixtures("settings")
def test_days_select_the_time(run: Run) -> None:
    for days in ("60", "36500"):
        assert run("report", "owls", "--days", days, "--json").json()["questions"] == 7
    assert run("report", "owls", "--days", "soon").code == 2
    assert run("report", "wolves").code == 2


@pytest.mark.usefixtures("settings")
def test_gaps_and_paragraphs_are_listed_with_their_addresses(run: Run) -> None:
    gaps, most, paragraphs = run("report", "owls").out.split("\n\n")[1:]
    assert EAT in gaps
    assert HOSTILE in gaps
    assert f"{ORIGIN}/" in gaps
    assert most.startswith("Asked most: ")
    assert f"{ORIGIN}/" in paragraphs.splitlines()[1]


def test_forget_deletes_what_is_chosen(run: Run, settings: Settings) -> None:
    assert run("forget").code == 2
    for chosen, count in (
        (["--answer", f"{1:016x}"], 1),
        (["--containing", "OWLS EAT"], 2),
        (["--older-than", "30"], 1),
        (["--book", "bats"], 1),
        (["--older-than", "0"], 4),
    ):
        assert run("forget", *chosen).err == f"{count} logged questions were deleted\n"
    assert found(settings) == []


def test_old_answers_are_deleted_when_one_is_logged(settings: Settings) -> None:
    short = settings.model_copy(update={"question_log_days": 30})
    with connected(short) as client:
        client.post("/v1/chat", json={"question": "What is a talon?"})
    assert f"{7:016x}" not in [one.id for one in found(settings)]
    assert len(found(settings)) == len(ENTRIES)
