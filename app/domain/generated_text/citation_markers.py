r"""Citation markers in a unit of an answer: `[1]`, `[2, 3]`, `[2-3]`, `[Source 2]`, `【1†source】`.

Also `[^1]`, `[[1]]` and `\[1\]`. A number in parentheses may belong to the text, so it stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.domain.generated_text.fences import CODE_SPAN, LINE_MARK

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


@dataclass(frozen=True, slots=True)
class Marked:
    """The sources `numbers` are cited for `text[start:end]`; if it is empty, for what precedes."""

    start: int
    end: int
    numbers: tuple[int, ...]


def without_markers(text: str, sources: int) -> tuple[str, list[Marked]]:
    """Return the text without markers, and what they mark in it.

    A marker cites its sources, numbered from 1 to `sources`, for the words since the previous
    marker. Brackets in code, or without a known number, are text.
    """
    mark = LINE_MARK.match(text)
    rest, start = "", mark.end() if mark else 0
    marked: list[Marked] = []
    at = 0
    for found in _MARKERS.finditer(text):
        numbers = _numbers(found["markers"] or "", sources)
        if not numbers:
            continue
        rest += text[at : found.start()]
        words = rest[start:]
        if any(map(str.isalnum, words)):
            begin = len(rest) - len(words.lstrip(" \t-*#>,;:.\u2022"))
            marked.append(Marked(begin, len(rest.rstrip()), numbers))
        else:
            last = marked[-1] if marked else Marked(0, 0, ())
            marked.append(Marked(last.start, last.end, numbers))
        at, start = found.end(), len(rest)
        rest += " " if found["before"] and _SPACED.match(text, at) else ""
    return rest + text[at:], marked


def _numbers(written: str, sources: int) -> tuple[int, ...]:
    ranges = [range(int(a), int(b or a) + 1) for a, b in _RANGE.findall(written)]
    return tuple(dict.fromkeys(one for each in ranges for one in each if 1 <= one <= sources))
