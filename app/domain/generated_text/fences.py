"""Fences of code in Markdown, moved to the margin: there every renderer takes them for code.

In a list item or a quote a fence also ends with these, by rules in which renderers differ.
CommonMark: https://spec.commonmark.org/0.31.2/#fenced-code-blocks
"""

from __future__ import annotations

import re

CODE_SPAN = r"(?P<run>`+)(?!`)[^\n]*?(?<!`)(?P=run)(?!`)"
LINE_MARK = re.compile(r"[ \t]*(?:(?:[-*+>\u2022]|#{1,6}|\d{1,3}[.)])[ \t]+)*")
_OPENING = re.compile(
    r"(?P<lead>(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*)(?P<run>(?:`{3,}|~{3,}))[^`|\n]*\n?"
)


def fence_run(line: str) -> str:
    """Return the backticks or tildes of the fence that the line opens; "" if it opens none."""
    found = _OPENING.fullmatch(line)
    return found["run"] if found else ""


def closes(run: str, line: str) -> bool:
    """Whether the line can end a fence of this run."""
    said = line.strip(" \t\r\n>")
    return said.startswith(run) and not said.strip(run[0])


def at_margin(text: str) -> str:
    """Return a whole fence with its lines at the margin, closed; "" if the text is no fence."""
    opening, *lines = text.removesuffix("\n").split("\n")
    found = _OPENING.fullmatch(opening)
    if not found:
        return ""
    quote = found["lead"] if ">" in found["lead"] else ""
    if not all(line.startswith(quote) or line.strip() in {quote.strip(), ""} for line in lines):
        return ""
    if lines and closes(found["run"], lines[-1]):
        lines.pop()
    width = 0 if quote else len(found["lead"].expandtabs(4))
    code = [_moved(line.removeprefix(quote), width) for line in lines]
    if any(closes(found["run"], line) for line in code):
        return ""
    ending = text[len(text.removesuffix("\n")) :]
    return "\n".join([opening[found.end("lead") :], *code, found["run"]]) + ending


def _moved(line: str, width: int) -> str:
    """Return the line without its first `width` columns of blanks."""
    blanks = len(line) - len(line.lstrip(" \t"))
    indent = len(line[:blanks].expandtabs(4))
    return " " * max(0, indent - width) + line[blanks:] if width else line
