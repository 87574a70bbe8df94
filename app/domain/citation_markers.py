"""Citations out of `[1]` markers in an answer that arrives in pieces.

The result does not depend on where the pieces are cut: the parser is a machine over characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_CLOSING = {"[": "]", "\u3010": "\u3011", "\uff3b": "\uff3d"}  # also lenticular and full-width
# Numbers with commas between, as a footnote (^1), or with what some models add (1†source).
_BEGUN = re.compile(r"\^?[\d,;\s]{0,40}(?:\u2020[^\n]{0,40})?")
_INSIDE = re.compile(r"\^?\s*(\d+(?:\s*[,;]\s*\d+)*)\s*(?:\u2020[^\n]*)?")
_SENTENCE_END = frozenset(".!?\u2026")
_SENTENCE_END_WITHOUT_BLANK = frozenset("\u3002\uff01\uff1f")
_NO_BLANK_BEFORE = frozenset(".,;:!?)\n")
_FENCE = 3


@dataclass(frozen=True, slots=True)
class AnswerText:
    text: str


@dataclass(frozen=True, slots=True)
class Marked:
    """`start:end` of the whole answer text, markers left out, rests on the sources numbered so."""

    start: int
    end: int
    numbers: tuple[int, ...]


Piece: TypeAlias = AnswerText | Marked


class MarkerParser:
    """Feed pieces of an answer, then close; yields text without markers, and what they mark.

    A marker counts for the words since the sentence began or since the marker before it. In code,
    fenced or between backticks, and where it names no known source, it is ordinary text; but right
    after a marker it is dropped, [9] of "[1][9]" where there are three.
    """

    def __init__(self, sources: int) -> None:
        """`sources` are numbered 1 to `sources`."""
        self._known = range(1, sources + 1)
        self._text = ""
        self._emitted = 0
        self._blanks = ""
        self._marker = ""
        self._numbers: dict[int, None] = {}
        self._claim_start = 0
        self._last_claim: tuple[int, int] | None = None
        self._code = _CodeTracker()

    def feed(self, piece: str) -> Iterator[Piece]:
        """Characters that may yet become a marker, and blanks before them, are held back."""
        found: list[Marked] = []
        for character in piece:
            self._take(character, found)
        yield from self._news(found)

    def close(self) -> Iterator[Piece]:
        """What is left at the end of the answer."""
        found: list[Marked] = []
        self._give_up_marker(found)
        if not self._numbers:
            self._text += self._blanks
        self._settle(found)
        yield from self._news(found)

    def _news(self, found: Sequence[Marked]) -> Iterator[Piece]:
        if len(self._text) > self._emitted:
            yield AnswerText(self._text[self._emitted :])
            self._emitted = len(self._text)
        yield from found

    def _take(self, character: str, found: list[Marked]) -> None:
        if self._marker:
            if self._continue_marker(character):
                return
            self._give_up_marker(found)
        if character in _CLOSING and not self._code.inside:
            self._marker = character
        elif character == " " and not self._code.inside:
            self._blanks += character
        else:
            self._write(character, found)

    def _continue_marker(self, character: str) -> bool:
        """Whether the character belongs to the marker begun, which may end with it."""
        if character == _CLOSING[self._marker[0]]:
            inside = _INSIDE.fullmatch(self._marker[1:])
            numbers = [int(number) for number in re.findall(r"\d+", inside[1])] if inside else []
            known = [number for number in numbers if number in self._known]
            if not known and not (numbers and self._numbers):
                return False
            self._numbers.update(dict.fromkeys(known))
            self._marker = ""
            return True
        if _BEGUN.fullmatch(self._marker[1:] + character) is None or character == "\n":
            return False
        self._marker += character
        return True

    def _give_up_marker(self, found: list[Marked]) -> None:
        marker, self._marker = self._marker, ""
        for character in marker:
            self._write(character, found)

    def _write(self, character: str, found: list[Marked]) -> None:
        """Add a character that is text for good."""
        marked = bool(self._numbers)
        self._settle(found)
        if marked:  # one blank where the marker stood between two, none before a stop
            self._blanks = "" if character in _NO_BLANK_BEFORE else self._blanks[:1]
        last = self._text[-1:]
        ended = last in _SENTENCE_END if self._blanks else last in _SENTENCE_END_WITHOUT_BLANK
        self._text += self._blanks
        self._blanks = ""
        if last and (ended or last == "\n"):
            self._claim_start = len(self._text)
        self._text += character
        self._code.take(character)

    def _settle(self, found: list[Marked]) -> None:
        """The markers before this place are complete: say what they mark."""
        if not self._numbers:
            return
        numbers, self._numbers = tuple(self._numbers), {}
        claim = self._claim()
        if claim is None:
            return
        self._last_claim = claim
        self._claim_start = len(self._text)
        found.append(Marked(*claim, numbers))

    def _claim(self) -> tuple[int, int] | None:
        """The words marked; when there are none since, those marked before, else all so far."""
        words = self._text[self._claim_start :]
        if not any(map(str.isalnum, words)):
            all_so_far = (
                (0, len(self._text.rstrip())) if any(map(str.isalnum, self._text)) else None
            )
            return self._last_claim or all_so_far
        start = len(self._text) - len(words.lstrip(" \n\t-*#>,;:.\u2022"))
        return start, len(self._text.rstrip())


class _CodeTracker:
    """Whether the next character stands in code, by CommonMark's fences and code spans.

    A code span that no backtick closes ends with its line, since what follows is not known yet.
    """

    def __init__(self) -> None:
        self._fence = ""
        self._span = 0
        self._run = ""
        self._line = ""

    @property
    def inside(self) -> bool:
        # A run of backticks may still grow, so whether it opens or closes shows only after it.
        if self._run:
            return self._after_run() != ("", 0)
        return bool(self._fence or self._span)

    def take(self, character: str) -> None:
        if self._run and character != self._run[0]:
            self._fence, self._span = self._after_run()
            self._run = ""
        if character == "\n":
            self._line, self._span = "", 0
            return
        if character in "`~":
            self._run += character
        else:
            self._line += character

    def _after_run(self) -> tuple[str, int]:
        at_line_start = not self._line.strip()
        if self._fence:
            closes = at_line_start and self._run.startswith(self._fence)
            return ("", 0) if closes else (self._fence, 0)
        if at_line_start and len(self._run) >= _FENCE:
            return self._run, 0
        if self._run[0] == "~":
            return "", self._span
        if self._span:
            return "", 0 if len(self._run) == self._span else self._span
        return "", len(self._run)
