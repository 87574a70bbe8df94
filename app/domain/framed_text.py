"""Code and tables as Markdown, alone or inside a larger text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MARKERS = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(rf"{_MARKERS}(?P<run>`{{3,}})[^`\n]*\n?")
"""The first line of a fence, which may begin a list item."""
_RULE = re.compile(r"[ \t]*(?:\| --- \||---(?: \| ---)+)\n?")


def fence_lines(code: str, language: str) -> tuple[str, str]:
    """Return the lines before and after the code; they are longer than any back-ticks in it."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return fence + language.replace("`", ""), fence


def fenced(code: str, language: str) -> str:
    opening, closing = fence_lines(code, language)
    return f"{opening}\n{code}\n{closing}"


def with_rule(table: str) -> str:
    """Return a table, "a | b", with the rule that Markdown needs below its header.

    Lines before the first one with all columns, such as a caption, become paragraphs above it.
    """
    rows = [line.split(" | ") for line in table.split("\n") if line.strip()]
    width = max(map(len, rows), default=0)
    first = next((at for at, row in enumerate(rows) if width == 1 or len(row) > 1), 0)
    captions = [f"{row[0]}\n" for row in rows[:first]]
    return "\n".join([*captions, *_rows(rows[first:], width)])


def _rows(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number:
            yield _row(row)
        else:
            yield _row([*row, *[""] * (width - len(row))])
            yield " | ".join(["---"] * width) if width > 1 else "| --- |"


def _row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table.

    Outer pipes are needed for a single cell and for an empty cell at an edge.
    """
    line = " | ".join(cell.replace("|", "\\|") for cell in cells)
    return line if len(cells) > 1 and cells[0].strip() and cells[-1].strip() else f"| {line} |"
