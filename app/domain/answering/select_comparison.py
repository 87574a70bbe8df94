"""What the book says of things that are compared: what each is, and what names all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from app.domain.answering.comparison import Subject
from app.domain.answering.relevance import Relevance
from app.domain.answering.units import Unit
from app.domain.document import BlockKind
from app.domain.terms import words

LEAST = 0.5
"""How far a unit must say what a thing is."""
CONTRAST = 0.2
"""Added to a sentence that sets one thing against another."""
SAME_SECTION = 0.2
"""Added to a sentence of a section that says what one of the things is."""

_CONTRASTS = re.compile(
    r"\b(?:while|whereas|unlike|than|rather|instead|opposite|contrast|differ\w*|both|but|mientras"
    r"|während|anders|tandis|enquanto|mentre)\b",
    re.IGNORECASE,
)


def contrasted(units: Sequence[Unit], scores: Sequence[float], relevance: Relevance) -> list[float]:
    """The scores, raised for what sets all the compared things against each other."""
    subjects = relevance.question.compared
    if not subjects:
        return list(scores)
    named = frozenset[int]().union(*(one.readings[0] for one in subjects))
    return [
        score + CONTRAST if score > 0 and _sets_apart(unit, named, relevance) else score
        for unit, score in zip(units, scores, strict=True)
    ]


def table_of_both(units: Sequence[Unit], relevance: Relevance) -> list[int]:
    """The position of the first table with a column, or row, for each of the compared things."""
    if not relevance.question.compared:
        return []
    for at, unit in enumerate(units):
        if unit.kind is BlockKind.TABLE and _compares(unit.text, relevance):
            return [at]
    return []


def _compares(table: str, relevance: Relevance) -> bool:
    rows = [row.split(" | ") for row in table.split("\n")]
    for cells in (rows[0], [row[0] for row in rows]):
        held = {relevance.question.terms(cell) for cell in cells}
        if all(not held.isdisjoint(subject.readings) for subject in relevance.question.compared):
            return True
    return False


def select_comparison(
    units: Sequence[Unit], scores: Sequence[float], relevance: Relevance
) -> tuple[list[int], list[int]]:
    """Positions of what defines each compared thing, and of at most one that sets them apart.

    Both are empty unless each of the things is defined.
    """
    found = [_defined(one, units, scores, relevance) for one in relevance.question.compared]
    if not all(one.places for one in found):
        return [], []
    named = frozenset[int]().union(*(one.reading for one in found))
    defining = _of_one_sense(found, units, named, relevance)
    sections = {_section(units[at], relevance) for one in found for at in one.places}
    contrasting = [
        at
        for at, unit in enumerate(units)
        if scores[at] > 0 and at not in defining and _sets_apart(unit, named, relevance)
    ]

    def score(at: int) -> float:
        return scores[at] + SAME_SECTION * (_section(units[at], relevance) in sections)

    best = [max(contrasting, key=score)] if contrasting else []
    return list(dict.fromkeys(defining)), best


@dataclass(frozen=True, slots=True)
class _Defined:
    reading: frozenset[int] = frozenset()
    """The terms of the thing."""
    places: tuple[int, ...] = ()
    """Positions of the units that say what it is, best first."""
    best: tuple[int, ...] = ()
    """Those of them that say it as well as the first."""


def _defined(
    subject: Subject, units: Sequence[Unit], scores: Sequence[float], relevance: Relevance
) -> _Defined:
    name = tuple(words(subject.name))
    for reading in subject.readings:
        values = relevance.definitions(units, reading, name)
        places = [at for at, value in enumerate(values) if value >= LEAST and scores[at] > 0]
        if places:
            places.sort(key=lambda at: -values[at])
            best = tuple(at for at in places if values[at] == values[places[0]])
            return _Defined(reading, tuple(places), best)
    return _Defined()


def _of_one_sense(
    found: Sequence[_Defined], units: Sequence[Unit], named: frozenset[int], relevance: Relevance
) -> list[int]:
    """One place for each thing: where there are several, as for the vein of a leaf and of a body,
    the one that says most that one of the other things' places says too.
    """

    def shared(at: int, others: Iterable[int]) -> int:
        own = relevance.question.terms(units[at].text) - named
        return max(
            (len(own & relevance.question.terms(units[other].text)) for other in others), default=0
        )

    every = {at for one in found for at in one.best}
    return [max(one.best, key=partial(shared, others=every.difference(one.best))) for one in found]


def _sets_apart(unit: Unit, named: frozenset[int], relevance: Relevance) -> bool:
    """Whether it tells of all of them, and in what they differ or are alike."""
    told = unit.kind is not BlockKind.GLOSSARY_ENTRY and not unit.text.rstrip().endswith("?")
    return (
        told and bool(_CONTRASTS.search(unit.text)) and named <= relevance.question.terms(unit.text)
    )


def _section(unit: Unit, relevance: Relevance) -> tuple[str, ...]:
    return relevance.context[unit.passage].passage.heading_path
