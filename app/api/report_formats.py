"""The owner's report as HTML and JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256

from app.api.page_templates import FOLDER, template
from app.domain.characters import printable
from app.domain.owner_report import OwnerReport


def report_html(report: OwnerReport, *, books: Sequence[str] = (), days: int = 0) -> str:
    """Return the report as a page without scripts.

    With `books`, the page has the navigation of `/admin`; `days` is the selected period.
    """
    shown = template("report.html").render(report=report, style=style(), books=books, days=days)
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


def report_json(report: OwnerReport) -> str:
    """Return the report as one line of JSON."""
    return printable(json.dumps(asdict(report), ensure_ascii=False, default=str))
