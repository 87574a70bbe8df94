"""Divides a block's text, as a reader sees it, among consecutive pieces of the block's source."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from app.domain.chunking.inline_markup import matching_texts
from app.domain.document import Span

# Characters of the reader's text, from the end of the last match, in which the next one is sought.
_LOOK_AHEAD = 2_000
# Lines of the reader's text in which a source line is sought.
_LINES_AHEAD = 8
_WORD = re.compile(r"\S+")


class Share(NamedTuple):
    """The reader's text of one piece of source; "" if the piece is only mark-up."""

    text: str
    joiner: str
    """What separates it from the previous text."""


def divide_lines(text: str, sources: Sequence[str]) -> list[Share]:
    """Divide code: fences, options and hidden lines are in the source alone."""
    lines = text.split("\n")
    bounds = array("Q", [0])
    at = 0
    for source in sources:
        for line in source.split("\n"):
            at += _lines_until(lines, at, _bare(line))
        bounds.append(at)
    bounds[-1] = len(lines)
    return list(_shares_of_lines(lines, bounds))


def _lines_until(lines: Sequence[str], at: int, wanted: str) -> int:
    """Return the number of lines from `at` up to the wanted one, included; 0 if it is not near."""
    if not wanted:
        return 0
    for index in range(at, min(at + _LINES_AHEAD, len(lines))):
        if _bare(lines[index]) == wanted:
            return index + 1 - at
    return 0


def _bare(line: str) -> str:
    """Drop the indentation, and the marker of a quote around the code."""
    return line.strip("> \t\r")


def _shares_of_lines(lines: Sequence[str], bounds: Sequence[int]) -> Iterator[Share]:
    blank = 0
    for first, last in pairwise(bounds):
        start, end = first, last
        while start < end and not lines[start].strip():
            start += 1
        while end > start and not lines[end - 1].strip():
            end -= 1
        if start == end:
            blank += last - first
            yield Share("", "\n")
            continue
        yield Share("\n".join(lines[start:end]), "\n" * (1 + blank + start - first))
        blank = last - end


def divide_prose(text: str, sources: Sequence[str]) -> list[Share]:
    """Divide text with inline mark-up: each piece's text ends where the next one's begins."""
    flat = _Flat.of(text)
    starts = _starts(flat.text, sources, list(_matches(flat.text, sources)))
    shares: list[Share] = []
    before = 0
    for first, last in pairwise([*starts, len(flat.text)]):
        start, end = first + flat.text.startswith(" ", first, last), last
        end -= end > start and flat.text[end - 1] == " "
        if start == end:
            shares.append(Share("", " "))
            continue
        begin, stop = flat.origins[start], flat.origins[end - 1] + 1
        shares.append(Share(text[begin:stop], text[before:begin]))
        before = stop
    return shares


@dataclass(frozen=True, slots=True)
class _Flat:
    """A text with each run of blanks replaced by one space, without blanks at its ends."""

    text: str
    origins: Sequence[int]
    """Offset in the original text of each character."""

    @classmethod
    def of(cls, text: str) -> _Flat:
        origins = array("Q")
        for word in _WORD.finditer(text):
            if origins:
                origins.append(word.start() - 1)
            origins.extend(range(*word.span()))
        return cls(" ".join(text.split()), origins)


def _matches(text: str, sources: Sequence[str]) -> Iterator[Span | None]:
    """Yield where each piece of source is in the text, in order; None if it is not found."""
    at, missed = 0, 0
    for source in sources:
        found = -1
        for piece in matching_texts(source):
            reach = at + missed + _LOOK_AHEAD + len(piece)
            found = text.find(piece, at, reach) if piece else -1
            if found >= 0:
                at, missed = found + len(piece), 0
                yield found, at
                break
        if found < 0:
            missed += len(source)
            yield None


def _starts(text: str, sources: Sequence[str], matches: Sequence[Span | None]) -> list[int]:
    """Return where each piece's text begins; pieces that are not found share what is between their
    neighbours.
    """
    starts: list[int] = []
    before, run = 0, 0
    for index, match in enumerate([*matches, (len(text), len(text))]):
        if match is None:
            run += 1
            continue
        weights = [len(source) for source in sources[index - run : index]]
        starts += _proportional(text, before, match[0], weights)
        starts.append(match[0])
        before, run = match[1], 0
    return [0, *starts[1:-1]]


def _proportional(text: str, start: int, end: int, weights: Sequence[int]) -> Iterator[int]:
    """Yield the starts of shares of `text[start:end]`, between words and about proportional."""
    total, passed, at = sum(weights), 0, start
    for weight in weights:
        yield at
        passed += weight
        at = max(text.rfind(" ", at, start + (end - start) * passed // total + 1), at)
