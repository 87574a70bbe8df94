"""Fences of code and rules of tables: writes them in Markdown, and finds them in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FENCE = re.compile(
    r"(?P<before>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<run>`{3,})[^`\n]*(?:\n|\Z)"
)
"""The first line of a fence, which may begin a list item."""
_FENCE_LINE = re.compile(rf"^{_FENCE.pattern}", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line with its end. Form feeds and other separators end no line in Markdown."""
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
    if not rows:
        return ""
    width = max(map(len, rows))
    first = _header_row(rows)
    captions = [f"{row[0]}\n" for row in rows[:first]]
    header = _row([*rows[first], *[""] * (width - len(rows[first]))])
    rule = " | ".join(["---"] * width) if width > 1 else "| --- |"
    return "\n".join([*captions, header, rule, *map(_row, rows[first + 1 :])])


def table_rows(table: str) -> tuple[int, list[tuple[int, int]]]:
    """Return the end of the caption and header of a table, "a | b", and the spans of its rows."""
    lines = [(line.start(), line.end()) for line in re.finditer(r"[^\n]*\S[^\n]*", table)]
    first = _header_row([table[start:end].split(" | ") for start, end in lines])
    return (lines[first][1] if lines else 0), lines[first + 1 :]


def _header_row(rows: Sequence[Sequence[str]]) -> int:
    """Return the position of the first row with all columns; those before it are a caption."""
    width = max(map(len, rows), default=0)
    return next((at for at, row in enumerate(rows) if width == 1 or len(row) > 1), 0)


def table_row(line: str) -> str:
    """Return a line "a | b" as a row of a Markdown table."""
    return _row(line.split(" | "))


def _row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table.

    Outer pipes are needed for a single cell and for an empty cell at an edge.
    """
    line = " | ".join(cell.replace("|", "\\|") for cell in cells)
    return line if len(cells) > 1 and cells[0].strip() and cells[-1].strip() else f"| {line} |"


def whole_lines(text: str) -> Iterator[str]:
    """Yield the lines with their ends; a fence that is closed, or a table, is one line."""
    held: list[str] = []
    opening = ""
    for line in _LINE.findall(text):
        fence, opening = opening, open_fence(line, opening)
        if held and not fence and (opening or not _is_of_table(held, line)):
            yield "".join(held)
            held = []
        held.append(line)
    yield from held if opening or not held else ["".join(held)]


def _is_of_table(held: Sequence[str], line: str) -> bool:
    """Whether a line is the rule of the table that `held` begins, or a row below it."""
    return "|" in line and "|" in held[0] and (len(held) > 1 or bool(_RULE.fullmatch(line)))


def is_fence_or_table(line: str) -> bool:
    """Whether this one of `whole_lines` is a fence or a table."""
    return "\n" in line.rstrip("\n")


def open_fence(text: str, opening: str = "") -> str:
    """Return the first line of the fence that is open at the end of the text, "" if none is.

    `opening` is that of the fence that is open at its start. Blanks replace list markers.
    """
    for line in text.split("\n"):
        found = None if opening else _FENCE.fullmatch(line)
        if found:
            opening = " " * len(found["before"]) + line[found.start("run") :]
        elif opening and _closes(line, opening):
            opening = ""
    return opening


def _closes(line: str, opening: str) -> bool:
    """Whether a line has only back-ticks, at least as many as the fence's first line."""
    run = line.strip(" \t\n")
    return bool(run) and not run.strip("`") and not opening.startswith(f"{run}`", opening.find("`"))


def without_fences(text: str) -> str:
    """Return the text without the first and last lines of fences, which no page shows."""
    return _FENCE_LINE.sub(r"\g<before>", text) if "```" in text else text
