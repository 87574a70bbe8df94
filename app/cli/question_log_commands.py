"""Commands on the question log: report, forget."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import islice

from app.api.report_formats import gap_issues, report_csv, report_html, report_json
from app.bootstrap.question_logging import reports
from app.cli.output import print_json, require_writable, write_text
from app.cli.printing import remark
from app.domain.errors import AnswerNotFound, InputError
from app.domain.owner_report import OwnerReport, ParagraphUse
from app.services.question_log import Selected
from app.services.report_questions import ReportQuestions, evaluation_question
from app.settings import Settings

_AGO = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_SHOWN = 10
"""Maximum lines of each list."""


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


async def report(arguments: argparse.Namespace, settings: Settings) -> None:
    since = moment(arguments.since)
    files = (
        (arguments.html, report_html),
        (arguments.csv, report_csv),
        (arguments.gaps, gap_issues),
    )
    for path, _ in files:
        require_writable(path)
    async with reports(settings) as use_case:
        if arguments.to_eval:
            await _print_questions(arguments, use_case, since)
            return
        found = await use_case.run(arguments.book, since)
    if not found.questions and not settings.question_log_days:
        remark("the question log is off: set RAG_QUESTION_LOG_DAYS=90 for `serve`")
    for path, render in files:
        if path:
            write_text(path, render(found))
    if arguments.json:
        print(report_json(found))
    else:
        print("\n".join(_lines(found)))


async def _print_questions(
    arguments: argparse.Namespace, use_case: ReportQuestions, since: datetime
) -> None:
    wanted = set(arguments.answer)
    answers = [
        one
        for one in await use_case.answers(arguments.book, since)
        if one.question and (not wanted or one.id in wanted)
    ]
    if missing := wanted - {one.id for one in answers}:
        message = f"no answer {min(missing)!r} of book {arguments.book!r} is in the log"
        raise AnswerNotFound(message)
    language = await use_case.language(arguments.book)
    for one in answers:
        record = asdict(evaluation_question(one, language))
        record["lang"] = record.pop("language")
        json.dump(
            {name: value for name, value in record.items() if value not in ("", ())},
            sys.stdout,
            ensure_ascii=False,
        )
        print()


def _lines(found: OwnerReport) -> Iterator[str]:
    counts = ", ".join(f"{count} {name}" for name, count in found.by_confidence.items())
    confidence = f" ({counts})" if counts else ""
    yield f"{found.book}: {found.questions} questions since {found.since:%Y-%m-%d}{confidence}"
    yield f"{found.up} helped, {found.down} did not; {found.usd:.4f} US dollars"
    yield from _listed(
        "Gaps: times asked, not answered, rated down",
        (
            f"{one.asked:4} {one.not_answered:4} {one.down:4}  {one.question}\n"
            f"{'':19}nearest: {one.nearest.section if one.nearest else '-'}"
            for one in found.gaps
        ),
    )
    yield from _listed("Asked most", (f"{one.asked:4}  {one.question}" for one in found.most_asked))
    for title, uses in (("Cited most", found.most_cited), ("Unhappy readers", found.unhappy)):
        counts = "times cited, opened, unhelpful, rated down"
        yield from _listed(f"{title}: {counts}", map(_use_line, uses))
    yield from _listed(
        "Chapters: questions per reader, questions",
        (f"{one.per_reader:6.1f} {one.questions:4}  {one.chapter}" for one in found.chapters),
    )
    days = (
        f"{one.day} {one.questions:5} {one.median_ms:8.0f} {one.p95_ms:8.0f} {one.usd:9.4f}"
        for one in reversed(found.days)
        if one.questions
    )
    yield from _listed("Last days: questions, median and p95 milliseconds, US dollars", days)


def _listed(title: str, lines: Iterable[str]) -> Iterator[str]:
    shown = list(islice(lines, _SHOWN))
    if shown:
        yield f"\n{title}"
        yield from (f"  {line}" for line in shown)


async def forget(arguments: argparse.Namespace, settings: Settings) -> None:
    """Delete logged answers and their feedback."""
    chosen = (arguments.book, arguments.before, arguments.containing, arguments.answer)
    if not arguments.all and not any(chosen):
        message = "name what to forget: --book, --before, --containing, --answer, or --all"
        raise InputError(message)
    selected = Selected(
        book=arguments.book or None,
        before=moment(arguments.before) if arguments.before else None,
        containing=arguments.containing,
        ids=tuple(arguments.answer),
    )
    async with reports(settings) as use_case:
        count = await use_case.store.delete(selected)
    if arguments.json:
        print_json({"deleted": count})
    else:
        remark(f"{count} logged questions were deleted")


def _use_line(use: ParagraphUse) -> str:
    return (
        f"{use.cited:4} {use.clicked:4} {use.unhelpful:4} {use.down:4}  "
        f"{use.paragraph.section} ({use.paragraph.paragraph_id})"
    )
