"""Parses citations from `[1]` markers in a streamed answer.

The parser works character by character, so the result does not depend on how the stream is split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

_CLOSING = {"[": "]", "\u3010": "\u3011", "\uff3b": "\uff3d"}  # ASCII, lenticular and full-width
# Numbers separated by commas, a footnote (^1), or a suffix that some models add (1†source).
_MARKER_PREFIX = re.compile(r"\^?[\d,;\s]{0,40}(?:\u2020[^\n]{0,40})?")
_MARKER_BODY = re.compile(r"\^?\s*(\d+(?:\s*[,;]\s*\d+)*)\s*(?:\u2020[^\n]*)?")
_SENTENCE_END = frozenset(".!?\u2026")
_SENTENCE_END_WITHOUT_BLANK = frozenset("\u3002\uff01\uff1f")
_NO_BLANK_BEFORE = frozenset(".,;:!?)\n")
_FENCE = 3


@dataclass(frozen=True, slots=True)
class AnswerText:
    text: str


@dataclass(frozen=True, slots=True)
class MarkedClaim:
    """`start:end` of the answer without markers is supported by the sources `numbers`."""

    start: int
    end: int
    numbers: tuple[int, ...]


ParsedText: TypeAlias = AnswerText | MarkedClaim


class MarkerParser:
    """Feed parts of an answer, then close; yields text without markers, and the marked claims.

    A marker cites its sources for the words since the start of the sentence or the previous marker.
    Brackets in code, or without a known source number, are ordinary text. A marker with unknown
    numbers is dropped directly after another marker: [9] of "[1][9]" if there are three sources.
    """

    def __init__(self, sources: int) -> None:
        """`sources` is their number; they are numbered from 1."""
        self._known = range(1, sources + 1)
        self._text = ""
        self._emitted = 0
        self._blanks = ""
        self._marker = ""
        self._numbers: dict[int, None] = {}
        self._claims: list[MarkedClaim] = []
        """Found since the last output."""
        self._claim_start = 0
        self._last_claim: tuple[int, int] | None = None
        self._code = _CodeTracker()

    def feed(self, part: str) -> Iterator[ParsedText]:
        """Read a part; a possible marker and the blanks before it are held back."""
        for character in part:
            self._read(character)
        yield from self._new_output()

    def close(self) -> Iterator[ParsedText]:
        """Yield what is left at the end of the answer."""
        self._write_marker_as_text()
        if not self._numbers:
            self._text += self._blanks
        self._end_claim()
        yield from self._new_output()

    def _new_output(self) -> Iterator[ParsedText]:
        if len(self._text) > self._emitted:
            yield AnswerText(self._text[self._emitted :])
            self._emitted = len(self._text)
        claims, self._claims = self._claims, []
        yield from claims

    def _read(self, character: str) -> None:
        if self._marker:
            if self._continue_marker(character):
                return
            self._write_marker_as_text()
        if character in _CLOSING and not self._code.inside:
            self._marker = character
        elif character == " " and not self._code.inside:
            self._blanks += character
        else:
            self._write(character)

    def _continue_marker(self, character: str) -> bool:
        """Add the character to the current marker; False if it does not belong to one."""
        if character == _CLOSING[self._marker[0]]:
            return self._close_marker()
        if _MARKER_PREFIX.fullmatch(self._marker[1:] + character) is None or character == "\n":
            return False
        self._marker += character
        return True

    def _close_marker(self) -> bool:
        body = _MARKER_BODY.fullmatch(self._marker[1:])
        numbers = [int(number) for number in re.findall(r"\d+", body[1])] if body else []
        known = [number for number in numbers if number in self._known]
        if not known and not (numbers and self._numbers):
            return False
        self._numbers.update(dict.fromkeys(known))
        self._marker = ""
        return True

    def _write_marker_as_text(self) -> None:
        marker, self._marker = self._marker, ""
        for character in marker:
            self._write(character)

    def _write(self, character: str) -> None:
        """Add a character of text."""
        marked = bool(self._numbers)
        self._end_claim()
        if marked:  # keep one blank around a removed marker, none before punctuation
            self._blanks = "" if character in _NO_BLANK_BEFORE else self._blanks[:1]
        last = self._text[-1:]
        ended = last in _SENTENCE_END if self._blanks else last in _SENTENCE_END_WITHOUT_BLANK
        self._text += self._blanks
        self._blanks = ""
        if last and (ended or last == "\n"):
            self._claim_start = len(self._text)
        self._text += character
        self._code.take(character)

    def _end_claim(self) -> None:
        """Keep the claim of the markers just read, if there are any, for the next output."""
        if not self._numbers:
            return
        numbers, self._numbers = tuple(self._numbers), {}
        claim = self._claim()
        if claim is None:
            return
        self._last_claim = claim
        self._claim_start = len(self._text)
        self._claims.append(MarkedClaim(*claim, numbers))

    def _claim(self) -> tuple[int, int] | None:
        """Return the span of the words since the last marker, without list markers.

        If there are no words, it is the last claim, else all text; None if the text has no words.
        """
        words = self._text[self._claim_start :]
        end = len(self._text.rstrip())
        if any(map(str.isalnum, words)):
            return len(self._text) - len(words.lstrip(" \n\t-*#>,;:.\u2022")), end
        all_so_far = (0, end) if any(map(str.isalnum, self._text)) else None
        return self._last_claim or all_so_far


class _CodeTracker:
    """Tracks whether the next character is in code, by CommonMark's fences and code spans.

    An unclosed code span ends with its line, since the rest of the stream is unknown.
    """

    def __init__(self) -> None:
        self._fence = ""
        self._span = 0
        self._run = ""
        self._line = ""

    @property
    def inside(self) -> bool:
        # A run of backticks may still grow; it opens or closes code only at its end.
        if self._run:
            return self._state_after_run() != ("", 0)
        return bool(self._fence or self._span)

    def take(self, character: str) -> None:
        if self._run and character != self._run[0]:
            self._fence, self._span = self._state_after_run()
            self._run = ""
        if character == "\n":
            self._line, self._span = "", 0
            return
        if character in "`~":
            self._run += character
        else:
            self._line += character

    def _state_after_run(self) -> tuple[str, int]:
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
