"""Commands on the question log: report, forget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

from typer import Option

from app.api.page_templates import report_page
from app.bootstrap.local_state import question_store, reports
from app.cli.options import IndexedBook, Json, OneBook
from app.cli.output import remark, show
from app.cli.running import command
from app.domain.errors import InputError
from app.domain.owner_report import OwnerReport
from app.services.question_log import Selected
from app.settings import Settings

_SHOWN = 10
"""Maximum questions of each list."""


def moment(text: str) -> datetime:
    """Parse a time: `30d` ago, or ISO 8601, in UTC if it has no time zone."""
    try:
        if text.endswith("d") and text[:-1].isdecimal():
            return datetime.now(UTC) - timedelta(days=int(text[:-1]))
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        message = f"{text!r} is not a time: write 30d, or a date as 2026-01-31"
        raise InputError(message) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@command()
async def report(
    settings: Settings,
    book: IndexedBook,
    since: Annotated[str, Option(metavar="TIME", help="30d, or a date.")] = "30d",
    html: Annotated[bool, Option("--html", help="As a page.")] = False,
    json: Json = False,
) -> None:
    """Print what readers ask a book, from the question log: questions without an answer, and most.

    --html and --json also have the paragraphs.
    """
    async with reports(settings) as use_case:
        found = await use_case.run(book, moment(since))
    if not found.questions and not settings.question_log_days:
        remark("the question log is off: set RAG_QUESTION_LOG_DAYS=90 for `serve`")
    show(asdict(found), [report_page(found)] if html else _lines(found), as_json=json)


def _lines(found: OwnerReport) -> Iterator[str]:
    yield f"{found.book}: {found.questions} questions since {found.since:%Y-%m-%d}"
    yield f"{found.up} helped, {found.down} did not; {found.usd:.4f} US dollars"
    for title, clusters in (("Gaps", found.gaps), ("Asked most", found.most_asked)):
        if clusters:
            yield f"\n{title}: times asked, refused or uncertain, rated down"
        for one in clusters[:_SHOWN]:
            nearest = one.nearest.section if one.nearest else "-"
            yield f"  {one.asked:4} {one.refused + one.uncertain:4} {one.down:4}  {one.question}"
            yield f"{'':19}nearest: {nearest}"


@command()
async def forget(
    settings: Settings,
    book: OneBook = None,
    before: Annotated[str, Option(metavar="TIME", help="30d, a date, or 0d for all.")] = "",
    containing: Annotated[str, Option(metavar="TEXT", help="In any case.")] = "",
    answer: Annotated[list[str] | None, Option(metavar="ID", help="Repeatable.")] = None,
) -> None:
    """Delete logged answers and their feedback: those that all given options choose."""
    if not (book or before or containing or answer):
        message = "name what to forget: --book, --before (0d: all), --containing or --answer"
        raise InputError(message)
    cut = moment(before) if before else None
    selected = Selected(book=book, before=cut, containing=containing, ids=tuple(answer or ()))
    count = await question_store(settings).delete(selected)
    remark(f"{count} logged questions were deleted")
