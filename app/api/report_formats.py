"""The owner's report as HTML, CSV, JSON and issue texts, for the command line and `/admin`."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from operator import attrgetter
from typing import TypeAlias

from app.api.page_templates import FOLDER, template
from app.domain.owner_report import DayUse, OwnerReport, QuestionCluster
from app.domain.printable import printable

_FORMULA = re.compile(r"(^|[;\n])(?=[\s\"']*[=+\-@]|\t)")
_COLUMNS: Mapping[str, Callable[[QuestionCluster], object]] = {
    "question": attrgetter("question"),
    "asked": attrgetter("asked"),
    "readers": attrgetter("readers"),
    "not_answered": attrgetter("not_answered"),
    "refused": attrgetter("refused"),
    "uncertain": attrgetter("uncertain"),
    "rated_down": attrgetter("down"),
    "nearest_section": lambda one: one.nearest.section if one.nearest else "",
    "nearest_url": lambda one: one.nearest.url if one.nearest else "",
    "why": lambda one: "; ".join(one.why),
    "other_wordings": lambda one: " | ".join(one.others),
}
Values: TypeAlias = Sequence[tuple[float, float]]
"""Of each day, the height of its bar and that of the darker part."""


def report_html(report: OwnerReport, *, books: Sequence[str] = (), days: int = 0) -> str:
    """Return the report as a page without scripts.

    With `books`, the page has the navigation of `/admin`; `days` is the selected period.
    """
    shown = template("report.html").render(
        report=report,
        charts=_charts(report.days),
        style=style(),
        books=books,
        days=days,
    )
    return printable(shown)


@cache
def style() -> str:
    return (FOLDER / "report.css").read_text("utf-8")


@cache
def page_policy() -> str:
    """Return the Content-Security-Policy of the page: it allows only the page's inline style."""
    digest = b64encode(sha256(style().encode()).digest()).decode()
    rest = "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return f"default-src 'none'; style-src 'sha256-{digest}'; {rest}"


def _charts(days: Sequence[DayUse]) -> Iterator[tuple[str, str, Values]]:
    """Yield title, format of values, and values of each chart."""
    asked = [(day.questions, day.not_answered) for day in days]
    times = [(day.p95_ms, day.median_ms) for day in days]
    yield "Questions; darker: not answered", "{:,.0f}", asked
    yield "Milliseconds: 95th percentile; darker: median", "{:,.0f}", times
    yield "Providers, US dollars", "{:,.4f}", [(day.usd, 0.0) for day in days]


def report_json(report: OwnerReport) -> str:
    """Return the report as one line of JSON."""
    return printable(json.dumps(asdict(report), ensure_ascii=False, default=str))


def report_csv(report: OwnerReport) -> str:
    """Return a row for each cluster of questions with one meaning, most frequent first."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for one in report.most_asked:
        writer.writerow(_cell(column(one)) for column in _COLUMNS.values())
    return out.getvalue()


def _cell(value: object) -> object:
    """Escape a text that a spreadsheet would evaluate as a formula.

    Where the comma is the decimal sign, spreadsheets begin a cell after each semicolon too.
    """
    return _FORMULA.sub(r"\1'", printable(value)) if isinstance(value, str) else value


def gap_issues(report: OwnerReport) -> str:
    """Return issue texts in Markdown for the book's authors, separated by `---`."""
    return printable("\n---\n\n".join("".join(_issue(gap)) for gap in report.gaps))


def _issue(gap: QuestionCluster) -> Iterator[str]:
    yield f"## Readers ask: {_plain(gap.question)}\n\n"
    yield f"Asked: {gap.asked} (readers: {gap.readers}). Not answered: {gap.not_answered}. "
    yield f"Rated down: {gap.down}.\n\n"
    yield "".join(f"- {why}\n" for why in gap.why) + "\n"
    if gap.nearest:
        near = gap.nearest
        yield f"Nearest paragraph: {_plain(near.section)} (`{near.paragraph_id}`)\n<{near.url}>\n\n"
    if gap.others:
        yield "Also asked:\n\n" + "".join(f"- {_plain(text)}\n" for text in gap.others[:10]) + "\n"
    if gap.reasons:
        yield "Readers say:\n\n" + "".join(f"- {_plain(text)}\n" for text in gap.reasons[:10])


def _plain(text: str) -> str:
    """Return readers' text as code, so that it contains no mention, link, image or HTML."""
    line = " ".join(text.split()).replace("`", "'")
    return f"`{line}`" if line else ""
