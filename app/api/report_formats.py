"""The owner's report as HTML, CSV, JSON and issue texts, for the command line and `/admin`."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.domain.owner_report import DayUse, OwnerReport, QuestionCluster
from app.domain.printable import printable

if TYPE_CHECKING:
    from jinja2 import Template

_FOLDER = Path(__file__).resolve().parent / "templates"
_FORMULA = re.compile(r"(^|[;\n])(?=[\s\"']*[=+\-@]|\t)")
_COLUMNS = (
    "question",
    "asked",
    "readers",
    "not_answered",
    "refused",
    "uncertain",
    "rated_down",
    "nearest_section",
    "nearest_url",
    "why",
    "other_wordings",
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of a chart; lengths are in units of the SVG viewBox."""

    x: float
    width: float
    height: float
    inner: float
    """Height of the darker part."""
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    most: str
    """The highest bar's value."""
    bars: tuple[Bar, ...]
    first: str
    last: str


WIDTH, HEIGHT = 300.0, 80.0


def report_html(report: OwnerReport, *, books: Sequence[str] = (), days: int = 0) -> str:
    """Return the report as a page without scripts.

    With `books`, the page has the navigation of `/admin`; `days` is the selected period.
    """
    shown = _template().render(
        report=report,
        charts=_charts(report.days),
        style=style(),
        books=books,
        days=days,
        width=WIDTH,
        height=HEIGHT,
    )
    return printable(shown)


@cache
def style() -> str:
    return (_FOLDER / "report.css").read_text("utf-8")


@cache
def page_policy() -> str:
    """Return the Content-Security-Policy of the page: it allows only the page's inline style."""
    digest = b64encode(sha256(style().encode()).digest()).decode()
    rest = "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return f"default-src 'none'; style-src 'sha256-{digest}'; {rest}"


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - 0.05 s

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["web_address"] = _is_web_address
    return environment.get_template("report.html")


def _is_web_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return False


def _charts(days: Sequence[DayUse]) -> tuple[Chart, ...]:
    asked = [(float(day.questions), float(day.not_answered)) for day in days]
    times = [(day.p95_ms, day.median_ms) for day in days]
    usd = [(day.usd, 0.0) for day in days]
    return (
        _chart("Questions; darker: not answered", "{:,.0f}", days, asked),
        _chart("Milliseconds: 95th percentile; darker: median", "{:,.0f}", days, times),
        _chart("Providers, US dollars", "{:,.4f}", days, usd),
    )


def _chart(
    title: str, form: str, days: Sequence[DayUse], values: Sequence[tuple[float, float]]
) -> Chart:
    most = max((value for value, _ in values), default=0.0)
    step = WIDTH / max(1, len(values))
    bars = tuple(
        Bar(
            x=round(number * step, 2),
            width=round(step * 0.8, 2),
            height=round(value / most * HEIGHT, 2) if most else 0.0,
            inner=round(inner / most * HEIGHT, 2) if most else 0.0,
            label=f"{day.day}: {form.format(value)}",
        )
        for number, (day, (value, inner)) in enumerate(zip(days, values, strict=True))
    )
    ends = (str(days[0].day), str(days[-1].day)) if days else ("", "")
    return Chart(title, form.format(most), bars, *ends)


def report_json(report: OwnerReport) -> str:
    """Return the report as one line of JSON."""
    return printable(json.dumps(asdict(report), ensure_ascii=False, default=str))


def report_csv(report: OwnerReport) -> str:
    """Return a row for each cluster of questions with one meaning, most frequent first."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for one in report.most_asked:
        near = one.nearest
        writer.writerow(
            _cell(value)
            for value in (
                one.question,
                one.asked,
                one.readers,
                one.not_answered,
                one.refused,
                one.uncertain,
                one.down,
                near.section if near else "",
                near.url if near else "",
                "; ".join(one.why),
                " | ".join(one.others),
            )
        )
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
