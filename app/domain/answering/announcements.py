"""Sentences that announce what follows, "as follows:", "for three reasons.", and what that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from app.domain.answering.units import BLOCKS, WHOLE, Unit, adjoin
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage

_MOST = 50  # units
_END = 80  # characters: what announces stands at the end of its sentence
_CACHED_ENDS = 8_192
_HANGS = re.compile(
    r":$|\b(?:so|is|are|was|be|by|as|that|and|or|then|thus|hence|therefore|to|of|with|where"
    r"|gives?|get|have|equals?|es|son|por|como|que|ist|sind|durch|als|est|sont|par|comme)"
    r"[,\u2014]?$",
    re.IGNORECASE,
)
"""A sentence that is not whole without what comes next."""
_POINTS_ON = re.compile(
    r"\b(?:as follows|the following(?: \w+){0,3}|as shown (?:below|here)|like (?:this|so)"
    r"|in this (?:way|form)|como sigue|(?:el|la|los|las) siguientes?(?: \w+)?|wie folgt|comme suit"
    r"|da seguinte forma|come segue)\.$",
    re.IGNORECASE,
)
_NOUNS = (
    r"reason|way|step|kind|type|part|stage|phase|cause|purpose|advantage|disadvantage|benefit"
    r"|problem|method|form|case|principle|rule|thing|question|property|condition|categorie|group"
    r"|factor|point|option|possibilitie|razone|paso|tipo|forma|gründe?|schritte?|arten"
    r"|raison|étape|façon|motiv[io]|pass[io]|tip[io]"
)
_COUNTS = re.compile(
    r"\b(?P<count>two|three|four|five|six|[2-6]|dos|tres|cuatro|zwei|drei|vier|deux|trois|quatre"
    r"|due|tre|quattro|dois|três|quatro)(?: \w+)? "
    rf"(?:{_NOUNS})s?\.$",
    re.IGNORECASE,
)
# Most sentences announce nothing, which these tell sooner than the patterns above.
_STOPS = frozenset(".!?)]\"'")
"""`_HANGS` finds nothing that ends so."""
_NOUN = re.compile(rf" (?:{_NOUNS})s?\.$", re.IGNORECASE)
_LONGEST_NOUN = 20
"""Characters that `_NOUN` finds, at most."""
_POINTERS = "follow,shown,like ,in this ,sigue,siguiente,folgt,suit,forma,segue".split(",")
"""One of them is in every text that `_POINTS_ON` finds."""
_NUMBERS = {
    word: count
    for count, each in enumerate(
        (
            "two 2 dos zwei deux due dois",
            "three 3 tres drei trois tre três",
            "four 4 cuatro vier quatre quattro quatro",
            "five 5",
            "six 6",
        ),
        2,
    )
    for word in each.split()
}


@lru_cache(_CACHED_ENDS)
def _read(end: str) -> tuple[bool, int]:
    """Whether a sentence with this end is not whole without what follows, and how many of the
    things that follow it announces.
    """
    if end[-1:] not in _STOPS and _HANGS.search(end):
        return True, 1
    counted = _counted(end)
    if counted:
        return False, _NUMBERS.get(counted["count"].lower(), 1)
    return False, int(_points_on(end))


def _counted(end: str) -> re.Match[str] | None:
    return _COUNTS.search(end) if _NOUN.search(end[-_LONGEST_NOUN:]) else None


def _points_on(end: str) -> bool:
    if end[-1:] != ".":
        return False
    lower = end.lower()
    return any(one in lower for one in _POINTERS) and bool(_POINTS_ON.search(end))


@dataclass(frozen=True, slots=True)
class Announcements:
    """What the sentences of one context announce."""

    units: Sequence[Unit]
    context: Sequence[ContextPassage]

    def targets(self) -> list[list[int] | None]:
        """For each unit the positions of all that it announces, and what that announces in turn.

        None where that is not to be had, so that the unit would be left hanging.
        """
        every: list[list[int] | None] = [None] * len(self.units)
        for at in range(len(self.units) - 1, -1, -1):  # what is announced comes later
            every[at] = self._with_theirs(self._announced(at), every)
        return every

    def _with_theirs(
        self, announced: list[int] | None, every: Sequence[list[int] | None]
    ) -> list[int] | None:
        if announced is None:
            return None
        found = list(announced)
        for one in announced:
            more = [] if self.units[one].kind in BLOCKS else every[one]
            if more is None or len(found) + len(more) > _MOST:
                return None
            found += more
        return found

    def _announced(self, at: int) -> list[int] | None:
        unit = self.units[at]
        text = unit.text.rstrip()
        if unit.kind in WHOLE:
            return []
        if unit.kind is BlockKind.LIST:
            return (self._passage_after(unit) or None) if text.endswith(":") else []
        return self._announced_by_sentence(at, text[-_END:])

    def _announced_by_sentence(self, at: int, end: str) -> list[int] | None:
        hangs, count = _read(end)
        if not count:
            return []
        block = self._list_after(at) or self._passage_after(self.units[at])
        if hangs:
            return block or self._sentences_after(at, 1) or None
        if block and self.units[block[0]].kind in BLOCKS:
            return block
        return self._sentences_after(at, count)

    def _passage_after(self, unit: Unit) -> list[int]:
        """What stands next, when the unit ends its paragraph."""
        following = unit.passage + 1
        if not (self._ends_passage(unit) and adjoin(self.context, unit.passage, following)):
            return []
        return [at for at, one in enumerate(self.units) if one.passage == following]

    def _list_after(self, at: int) -> list[int]:
        """The items that stand next in the same passage."""
        passage = self.units[at].passage
        same = takewhile(
            lambda one: (
                self.units[one].passage == passage and self.units[one].kind is BlockKind.LIST
            ),
            range(at + 1, len(self.units)),
        )
        return list(same)

    def _sentences_after(self, at: int, count: int) -> list[int]:
        """The next units of the same paragraph, at most so many."""
        last = min(at + count, len(self.units) - 1)
        passage = self.units[at].passage
        return [one for one in range(at + 1, last + 1) if self.units[one].passage == passage]

    def _ends_passage(self, unit: Unit) -> bool:
        return not self.context[unit.passage].passage.text[unit.end :].strip()
