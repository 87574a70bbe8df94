"""The Jinja templates of the server's own pages and of the owner's report."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

from app.domain.characters import printable
from app.domain.owner_report import OwnerReport

FOLDER = Path(__file__).resolve().parent / "templates"


@cache
def template(name: str) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - 0.05 s

    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template(name)


def report_page(report: OwnerReport) -> str:
    """Return the owner's report as a page without scripts."""
    style = (FOLDER / "report.css").read_text("utf-8")
    return printable(template("report.html").render(report=report, style=style))
