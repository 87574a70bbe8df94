"""Commands on the question log: report, forget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from typer import Option

from app.api.page_templates import report_page
from app.bootstrap.local_state import reports
from app.cli.options import IndexedBook, Json, OneBook
from app.cli.output import print_json, remark
from app.cli.running import command
from app.domain.errors import InputError
from app.domain.owner_report import OwnerReport
from app.services.question_log import Selected
from app.settings import Settings

_AGO = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_SHOWN = 10
"""Maximum questions of each list."""


class Form(StrEnum):
    TEXT = "text"
    HTML = "html"


def moment(text: str) -> datetime:
    """Parse a time: `30d`, `12h` or `4w` ago, or ISO 8601, in UTC if it has no time zone."""
    if ago := _AGO.fullmatch(text.strip()):
        try:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        except OverflowError:
            return datetime.fromtimestamp(0, UTC)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"{text!r} is not a time: write 30d, 12h, 4w or 2026-01-31"
        raise InputError(message) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@command()
async def report(
    settings: Settings,
    book: IndexedBook,
    since: Annotated[str, Option(metavar="TIME", help="30d, 12h, 4w or a date.")] = "30d",
    form: Annotated[
        Form,
        Option("--as", help="html: a page."),
    ] = Form.TEXT,
    json: Json = False,
) -> None:
    """Print what readers ask a book, from the question log: questions without an answer, and most.

    --as html and --json also have the paragraphs.
    """
    start = moment(since)
    async with reports(settings) as use_case:
        found = await use_case.run(book, start)
    if not found.questions and not settings.question_log_days:
        remark("the question log is off: set RAG_QUESTION_LOG_DAYS=90 for `serve`")
    if json:
        print_json({**asdict(found), "since": str(found.since), "until": str(found.until)})
    elif form is Form.HTML:
        print(report_page(found), end="")
    else:
        print("\n".join(_lines(found)))


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
    selected = Selected(
        book=book,
        before=moment(before) if before else None,
        containing=containing,
        ids=tuple(answer or ()),
    )
    async with reports(settings) as use_case:
        count = await use_case.store.delete(selected)
    remark(f"{count} logged questions were deleted")
