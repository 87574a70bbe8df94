r"""Mark-up of a model's text: fences of code, and citation markers.

Fences are moved to the margin: there every renderer takes them for code. In a list item or a quote
a fence also ends with these, by rules in which renderers differ. Markers are `[1]`, `[2, 3]`,
`[2-3]`, `[Source 2]`, `【1†source】`, `[^1]`, `[[1]]`, `\[1\]`. A number in parentheses may be
part of the text.

CommonMark: https://spec.commonmark.org/0.31.2/#fenced-code-blocks
"""

import re

from app.domain.document import Span

CODE_SPAN = r"(?P<run>`+)(?!`)[^\n]*?(?<!`)(?P=run)(?!`)"
LINE_MARK = re.compile(r"[ \t]*(?:(?:[-*+>\u2022]|#{1,6}|\d{1,3}[.)])[ \t]+)*")
_OPENING = re.compile(
    r"(?P<lead>(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*)(?P<run>(?:`{3,}|~{3,}))[^`|\n]*\n?"
)
_NUMBERS = r"\d{1,3}(?:[ ]*[-\u2013,;][ ]*\d{1,3}){0,20}"
_NAMED = r"(?:(?:sources?|documents?|docs?|passages?|refs?)[ .:#]{1,2})?"
MARKER = (
    rf"\\?[\[\u3010\uff3b]{{1,2}}\^?[ ]*{_NAMED}{_NUMBERS}[ ]*"
    r"(?:\u2020[^\n\]\u3011]{0,40})?\\?[\]\u3011\uff3d]{1,2}"
)
MAYBE_MARKER = re.compile(r"\\|\\?[\[\u3010\uff3b][^\n\]\u3011\uff3d]{0,60}")
"""Matches the whole of a text that more text may complete to a marker."""
_MARKERS = re.compile(
    rf"(?P<code>{CODE_SPAN})|(?P<before>[ ]*)(?P<markers>{MARKER}(?:[ ]*{MARKER})*)", re.IGNORECASE
)
_RANGE = re.compile(r"(\d+)(?:[ ]*[-\u2013][ ]*(\d+))?")
_SPACED = re.compile(r"[^\s.,;:!?)]")
"""What has a blank before it where a marker was removed."""


def fence_run(line: str) -> str:
    """Return the backticks or tildes of the fence that the line opens; "" if it opens none."""
    found = _OPENING.fullmatch(line)
    return found["run"] if found else ""


def closes(run: str, line: str) -> bool:
    """Whether the line can end a fence of this run."""
    said = line.strip(" \t\r\n>")
    return said.startswith(run) and not said.strip(run[0])


def open_fence(text: str) -> str:
    """Return the run of the fence in which the text ends; "" if it ends in none."""
    run = ""
    for line in text.split("\n"):
        if not run:
            run = fence_run(line)
        elif closes(run, line):
            run = ""
    return run


def at_margin(text: str) -> str:
    """Return a whole fence with its lines at the margin, closed; "" if the text is no fence."""
    opening, *lines = text.removesuffix("\n").split("\n")
    found = _OPENING.fullmatch(opening)
    if not found:
        return ""
    lead, run = found["lead"], found["run"]
    if lines and closes(run, lines[-1]):
        lines.pop()
    quotes = lead.count(">")
    margin = rf"(?:[ \t]*>){{0,{quotes}}} ?" if quotes else rf"[ \t]{{0,{len(lead)}}}"
    code = [re.sub(margin, "", line, count=1) for line in lines]
    ending = text[len(text.removesuffix("\n")) :]
    return "\n".join([opening[len(lead) :], *code, run]) + ending


def without_markers(text: str, sources: int) -> tuple[str, list[tuple[Span, tuple[int, ...]]]]:
    """Return the text without markers, and for each the span that it marks and its numbers.

    A marker cites its sources, numbered from 1 to `sources`, for the words since the previous
    marker; if there are none, the span is empty. Brackets in code, or without a known number, are
    text.
    """
    rest, start = "", len(text) - len(LINE_MARK.sub("", text, count=1))
    marked: list[tuple[Span, tuple[int, ...]]] = []
    at = 0
    for found in _MARKERS.finditer(text):
        numbers = _numbers(found["markers"] or "", sources)
        if not numbers:
            continue
        rest += text[at : found.start()]
        words = rest[start:]
        if any(map(str.isalnum, words)):
            begin = len(rest) - len(words.lstrip(" \t-*#>,;:.\u2022"))
            marked.append(((begin, len(rest.rstrip())), numbers))
        else:
            marked.append((marked[-1][0] if marked else (0, 0), numbers))
        at, start = found.end(), len(rest)
        rest += " " if found["before"] and _SPACED.match(text, at) else ""
    return rest + text[at:], marked


def _numbers(written: str, sources: int) -> tuple[int, ...]:
    ranges = [range(int(a), int(b or a) + 1) for a, b in _RANGE.findall(written)]
    return tuple(dict.fromkeys(one for each in ranges for one in each if 1 <= one <= sources))
