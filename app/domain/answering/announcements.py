"""Units that announce what follows: they end with a colon or ask a question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from app.domain.answering.units import BLOCKS, Unit, adjoin, announces
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage

_MOST = 50
"""Maximum number of units that a unit may announce, directly or indirectly."""


def announced_units(
    units: Sequence[Unit], context: Sequence[ContextPassage]
) -> list[list[int] | None]:
    """Return for each unit the positions of the units it announces, directly or indirectly.

    None if the announced text is missing: the announcement alone would be incomplete.
    """
    every: list[list[int] | None] = [None] * len(units)
    for at in range(len(units) - 1, -1, -1):  # backwards: announced units come later
        every[at] = _with_indirect(_announced(at, units, context), units, every)
    return every


def _with_indirect(
    announced: list[int] | None, units: Sequence[Unit], every: Sequence[list[int] | None]
) -> list[int] | None:
    if announced is None:
        return None
    found = list(announced)
    for one in announced:
        more = [] if units[one].kind in BLOCKS else every[one]
        if more is None or len(found) + len(more) > _MOST:
            return None
        found += more
    return found


def _announced(
    at: int, units: Sequence[Unit], context: Sequence[ContextPassage]
) -> list[int] | None:
    """Return the list items after the sentence, else the next paragraph, else the next sentence.

    Empty if the unit announces nothing; None if the announced text is missing.
    """
    unit = units[at]
    if not announces(unit):
        return []
    following = _next_paragraph(unit, units, context)
    if unit.kind is BlockKind.LIST:
        return following or None
    same = list(
        takewhile(lambda one: units[one].passage == unit.passage, range(at + 1, len(units)))
    )
    items = list(takewhile(lambda one: units[one].kind is BlockKind.LIST, same))
    return items or following or same[:1] or None


def _next_paragraph(
    unit: Unit, units: Sequence[Unit], context: Sequence[ContextPassage]
) -> list[int]:
    """Return the units of the next paragraph if the unit is the last one of its paragraph."""
    following = unit.passage + 1
    ends = not context[unit.passage].passage.text[unit.end :].strip()
    if not (ends and adjoin(context, unit.passage, following)):
        return []
    return [at for at, one in enumerate(units) if one.passage == following]
