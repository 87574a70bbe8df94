"""Abbreviations and their long forms.

"Reciprocal rank fusion (RRF)" and "RRF (reciprocal rank fusion)" introduce an abbreviation. The
long form is found by matching the letters of the abbreviation, as in Schwartz and Hearst, "A simple
algorithm for identifying abbreviation definitions in biomedical text", PSB 2003.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from app.domain.terms import Terms

LONGEST = 10
"""Maximum characters of an abbreviation."""

_WORD = re.compile(r"\w[\w'\u2019-]*")
_BRACKETED = re.compile(r"\(([^()\n]{2,120})\)")
_WORD_BEFORE = re.compile(r"(\w[\w-]*)\s*$")


def written_out(question: str, near: Iterable[str], terms: Terms) -> str:
    """Expand the question's abbreviations: "reciprocal rank fusion (RRF)".

    The long forms come from the texts in `near`. A word is unchanged if none of them introduces it,
    if it is a stop word, or if the question already has the long form.
    """
    known: dict[str, str] = {}
    for short, long in chain.from_iterable(map(introduced, near)):
        if long.casefold() not in question.casefold():
            known.setdefault(short.casefold(), long)

    def write(match: re.Match[str]) -> str:
        word = match.group()
        long = known.get(_singular(word).casefold())
        return f"{long} ({word})" if long and terms(word) else word

    return _WORD.sub(write, question)


def introduced(text: str) -> list[tuple[str, str]]:
    """The abbreviations that the text introduces, each with its long form."""
    found: list[tuple[str, str]] = []
    for match in _BRACKETED.finditer(text):
        inside = match[1].strip()
        before = text[max(0, match.start() - 160) : match.start()]
        if _may_be_short(inside):
            long = long_form(inside, before)
            if long:
                found.append((inside, long))
        elif word := _WORD_BEFORE.search(before):
            long = long_form(word[1], inside)
            if _may_be_short(word[1]) and long == inside:
                found.append((word[1], long))
    return found


def long_form(short: str, before: str) -> str:
    """The words at the end of `before` that `short` abbreviates, or "".

    They contain its letters in order, the first one at the start of a word.
    """
    words = [match.start() for match in _WORD.finditer(before)]
    most = min(len(short) + 5, 2 * len(short))
    first = words[-most] if len(words) > most else 0
    letters = [letter for letter in short.casefold() if letter.isalnum()]
    lower = before.casefold()
    if not letters or len(lower) != len(before):
        return ""  # case folding changed the length
    at = _find_backwards(letters, lower, first)
    long = before[at:].strip(" \t\n,;:*_\"'") if at >= 0 else ""
    return long if len(long) > len(short) and short not in _WORD.findall(long) else ""


def _find_backwards(letters: Sequence[str], text: str, first: int) -> int:
    """Match the letters backwards from the end of `text[first:]`.

    The first letter must begin a word. Return its offset; -1 if there is no match.
    """
    at = len(text)
    for letter in reversed(letters):
        at = text.rfind(letter, first, at)
        if at < 0:
            return at
    while at > 0 and text[at - 1].isalnum():
        at = text.rfind(letters[0], first, at)
    return at


def _singular(word: str) -> str:
    """Return the abbreviation without a plural s: ANN for "ANNs"; "SaaS" stays."""
    plural = re.fullmatch(r"(.*[A-Z])(?:['\u2019]?s)", word)
    return plural[1] if plural else word


def _may_be_short(word: str) -> bool:
    return 2 <= len(word) <= LONGEST and word[0].isalnum() and " " not in word
