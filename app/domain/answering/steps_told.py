"""Steps that the book tells one by one in its prose: "The first step is ...", "In step 2, ..."."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.domain.answering.relevance import Relevance
from app.domain.answering.units import BLOCKS, Unit

FEWEST = 3
"""Steps that are told; two may be anything."""
LEAST = 0.8
"""Weighted share of what is asked for that the first step, its heading or most of them must say."""

_LAST = 99
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_NUMBERS = "one two three four five six seven eight nine ten".split()
_COUNT = {word: at for words in (_ORDINALS, _NUMBERS) for at, word in enumerate(words, 1)}
_STEP = re.compile(
    rf"\b(?P<which>{'|'.join(_ORDINALS)}|last|final)\s+(?:\w+\s+)?(?:step|stage|phase)\b"
    rf"|\b(?:step|stage|phase)\s+(?P<number>\d{{1,2}}|{'|'.join(_NUMBERS)})\b",
    re.IGNORECASE,
)
_PREDICATE = re.compile(r"\b(?:is|are|was|were|as)\s+(?:the\s+|an?\s+)?$", re.IGNORECASE)


def steps_told(units: Sequence[Unit], relevance: Relevance) -> list[int]:
    """Positions of the sentences that tell the steps asked for, in the book's order; else empty."""
    if not relevance.asked.steps:
        return []
    steps = _in_the_books_order(units, relevance)
    told = [run for run in _runs(steps) if _coverage(run, units, relevance) >= LEAST]
    longest = max(told, key=len, default=[])
    return longest if len(longest) >= FEWEST else []


def _in_the_books_order(
    units: Sequence[Unit], relevance: Relevance
) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Page, number of the step and position of each sentence that tells one."""
    found: dict[tuple[int, int], int] = {}
    for at, unit in enumerate(units):
        step = None if unit.kind in BLOCKS else _STEP.search(unit.text)
        if step and not _is_one_itself(unit.text[: step.start()], relevance):
            key = (unit.passage, _number(step))
            label = step.end() >= len(unit.text.rstrip(" .:"))  # "Step 2." and no more
            if label and _goes_on(at, units):
                found.setdefault(key, at + 1)
            elif key not in found or not _STEP.search(units[found[key]].text):
                found[key] = at
    places = []
    for (passage, number), at in found.items():
        one = relevance.context[passage]
        places.append(((one.book, one.file), one.passage.start, units[at].start, number, at))
    return ((page, number, at) for page, _, _, number, at in sorted(places))


def _is_one_itself(before: str, relevance: Relevance) -> bool:
    """Whether what is asked for is a step of something else: "Osmosis is the first step of ..."."""
    return (
        bool(_PREDICATE.search(before))
        and relevance.terms(before) >= relevance.asked.subject.keys()
    )


def _goes_on(at: int, units: Sequence[Unit]) -> bool:
    return at + 1 < len(units) and units[at + 1].passage == units[at].passage


def _number(step: re.Match[str]) -> int:
    word = (step["which"] or step["number"]).lower()
    return int(word) if word.isdigit() else _COUNT.get(word, _LAST)


def _runs(steps: Iterator[tuple[tuple[str, str], int, int]]) -> list[list[int]]:
    """Steps of one page that go up from the first; one may be missing.

    A page may tell them twice, as in a figure: each goes on where it goes on best.
    """
    runs: list[list[int]] = []
    ends: list[tuple[tuple[str, str], int]] = []
    for page, number, at in steps:
        if number == 1:
            runs.append([at])
            ends.append((page, 1))
            continue
        fits = [
            run
            for run, (where, reached) in enumerate(ends)
            if where == page and (reached < number <= reached + 2 or reached < number == _LAST)
        ]
        if fits:
            run = max(fits, key=lambda one: (ends[one][1], one))
            ends[run] = (page, number)
            if at not in runs[run]:
                runs[run].append(at)
    return runs


def _coverage(run: Sequence[int], units: Sequence[Unit], relevance: Relevance) -> float:
    terms, weights = relevance.terms, relevance.asked.subject
    first = units[run[0]]
    path = relevance.context[first.passage].passage.heading_path
    near = terms(" ".join((first.text, *path[-1:])))
    owns = [terms(units[at].text) for at in run]
    held = sum(
        weight
        for term, weight in weights.items()
        if term in near or 2 * sum(term in own for own in owns) > len(run)
    )
    return held / (sum(weights.values()) or 1.0)
