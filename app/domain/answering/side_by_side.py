"""What the book says of things that are compared: what each is, and a sentence that names all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.domain.answering.comparison import Subject
from app.domain.answering.relevance import Relevance
from app.domain.answering.units import Unit
from app.domain.document import BlockKind

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


def side_by_side(
    units: Sequence[Unit], scores: Sequence[float], relevance: Relevance
) -> tuple[list[int], list[int]]:
    """Positions of what defines each of the compared things, and of at most one that names all.

    Both are empty unless each of the things is defined.
    """
    defining: list[int] = []
    named: frozenset[int] = frozenset()
    sections: set[tuple[str, ...]] = set()
    for subject in relevance.asked.compared:
        found = _defined(subject, units, scores, relevance)
        if found is None:
            return [], []
        places, reading = found
        defining.append(places[0])
        named |= reading
        sections |= {relevance.context[units[at].passage].passage.heading_path for at in places}
    together = {
        at: scores[at]
        + (CONTRAST if _CONTRASTS.search(unit.text) else 0.0)
        + (SAME_SECTION if _section(unit, relevance) in sections else 0.0)
        for at, unit in enumerate(units)
        if scores[at] > 0 and at not in defining and _names(unit, named, relevance)
    }
    best = max(together, key=lambda at: together[at], default=None)
    return list(dict.fromkeys(defining)), [] if best is None else [best]


def _defined(
    subject: Subject, units: Sequence[Unit], scores: Sequence[float], relevance: Relevance
) -> tuple[list[int], frozenset[int]] | None:
    """The units that say what it is, best first, and the terms that they say it of."""
    for reading in subject.readings:
        values = relevance.definitions(units, reading)
        places = [at for at, value in enumerate(values) if value >= LEAST and scores[at] > 0]
        if places:
            return sorted(places, key=lambda at: -values[at]), reading
    return None


def _names(unit: Unit, named: frozenset[int], relevance: Relevance) -> bool:
    told = unit.kind is not BlockKind.GLOSSARY_ENTRY and not unit.text.rstrip().endswith("?")
    return told and named <= relevance.terms(unit.text)


def _section(unit: Unit, relevance: Relevance) -> tuple[str, ...]:
    return relevance.context[unit.passage].passage.heading_path
