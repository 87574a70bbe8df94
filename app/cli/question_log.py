"""Commands on the question log: report, forget."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

from typer import Option

from app.bootstrap.storage import question_store, reports
from app.cli.command import IndexedBook, Json, OneBook, command
from app.cli.output import remark, show
from app.domain.characters import counted
from app.domain.errors import InputError
from app.domain.logged_answer import LoggedParagraph
from app.domain.owner_report import OwnerReport
from app.services.question_log import Selected
from app.settings import Settings

_MOST_DAYS = 36_500
"""A log is not a century old."""
_LISTED = 10
"""Maximum questions of each list of a report."""


def _ago(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


@command()
async def report(
    settings: Settings,
    book: IndexedBook,
    days: Annotated[int, Option(min=0, max=_MOST_DAYS, help="Of so many days until now.")] = 30,
    json: Json = False,
) -> None:
    """Print what readers ask a book, from the question log: what is not answered, what most ask."""
    async with reports(settings) as use_case:
        found = await use_case.run(book, _ago(days))
    if not found.questions and not settings.question_log_days:
        remark("the question log is off: set RAG_QUESTION_LOG_DAYS=90 for `serve`")
    show(asdict(found), _report_lines(found), as_json=json)


def _report_lines(found: OwnerReport) -> Iterator[str]:
    yield f"{found.book}: {counted(found.questions, 'questions')} since {found.since:%Y-%m-%d}"
    yield f"{found.up} helped, {found.down} did not; {found.usd:.4f} US dollars"
    for title, clusters in (("Gaps", found.gaps), ("Asked most", found.most_asked)):
        if clusters:
            yield f"\n{title}: times asked, refused or uncertain, rated down"
        for one in clusters[:_LISTED]:
            yield f"  {one.asked:4} {one.refused + one.uncertain:4} {one.down:4}  {one.question}"
            yield f"{'':19}nearest: {_place(one.nearest)}"
    if found.paragraphs:
        yield "\nParagraphs: times cited, opened, unhelpful, in answers rated down"
    for use in found.paragraphs[:_LISTED]:
        counts = f"{use.cited:4} {use.clicked:4} {use.unhelpful:4} {use.down:4}"
        yield f"  {counts}  {_place(use.paragraph)}"


def _place(paragraph: LoggedParagraph | None) -> str:
    return f"{paragraph.section} {paragraph.url}" if paragraph else "-"


@command()
async def forget(
    settings: Settings,
    book: OneBook = None,
    older_than: Annotated[
        int | None, Option(min=0, max=_MOST_DAYS, metavar="DAYS", help="0: all that are logged.")
    ] = None,
    containing: Annotated[str, Option(metavar="TEXT", help="In any case.")] = "",
    answer: Annotated[list[str] | None, Option(metavar="ID", help="Repeatable.")] = None,
) -> None:
    """Delete logged answers and their feedback: those that all given options choose."""
    if not (book or containing or answer) and older_than is None:
        message = "name what to forget: --book, --older-than (0: all), --containing or --answer"
        raise InputError(message)
    before = None if older_than is None else _ago(older_than)
    selected = Selected(book=book, before=before, containing=containing, ids=tuple(answer or ()))
    count = await question_store(settings).delete(selected)
    remark(f"deleted {counted(count, 'logged questions')}")
