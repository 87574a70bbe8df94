"""Fences of code and rules of tables: writes them in Markdown, and finds them in a text."""

import re
from collections.abc import Iterator, Sequence

_FENCE = re.compile(
    r"(?P<before>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<run>`{3,})[^`\n]*(?:\n|\Z)"
)
"""The first line of a fence, which may begin a list item."""
_FENCE_LINE = re.compile(rf"^{_FENCE.pattern}", re.MULTILINE)
_BARE_PIPE = re.compile(r"(?<!\\)\|")
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
    line = " | ".join(_BARE_PIPE.sub(r"\\|", cell) for cell in cells)
    return line if len(cells) > 1 and cells[0].strip() and cells[-1].strip() else f"| {line} |"


def whole_lines(text: str) -> Iterator[str]:
    """Yield the lines with their ends; a fence that is closed, or a table, is one line."""
    held: list[str] = []
    run = ""  # of the fence that is open
    for line in _LINE.findall(text):
        inside, opening, said = run, _FENCE.fullmatch(line), line.strip(" \t\n")
        if not inside and opening:
            run = opening["run"]
        elif inside and said.startswith(run) and not said.strip("`"):
            run = ""
        is_rule = len(held) == 1 and _RULE.fullmatch(line) is not None
        of_table = "|" in line and "|" in "".join(held[:1]) and (len(held) > 1 or is_rule)
        if held and not inside and (run or not of_table):
            yield "".join(held)
            held = []
        held.append(line)
    yield from held if run or not held else ["".join(held)]


def is_fence_or_table(line: str) -> bool:
    """Whether this one of `whole_lines` is a fence or a table."""
    return "\n" in line.rstrip("\n")


def without_fences(text: str) -> str:
    """Return the text without the first and last lines of fences, which no page shows."""
    return _FENCE_LINE.sub(r"\g<before>", text) if "```" in text else text
