"""The passages that an offline answer shows: whole blocks of the book.

A passage is a paragraph that answers, grown within its section: a list, listing, table or formula
has the paragraph before it, which leads in to it; a paragraph that ends with a colon has the block
that it announces, or is not shown; a short paragraph goes on with the next one if that answers,
too. A passage that mostly repeats the ones before it is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from app.domain.answering.units import BLOCKS, COLONS, WHOLE, Unit, adjoin, is_quotable
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import words

MAX_PASSAGES = 3
MAX_WORDS = 270
"""Of all passages together, unless a single block with its lead-in has more; 250 on average."""
SHORT_WORDS = 60
"""A passage with fewer goes on with the next paragraph of its section."""
CONTINUED_SHARE = 0.5
"""Of the score of the paragraph chosen, what the paragraph must have that a short passage goes on
with."""
REPEATED_SHARE = 0.5
"""Of a passage's runs of words, what the passages before it have if it is left out."""
_RUN = 5
"""Words of a run."""


@dataclass(frozen=True, slots=True)
class ChosenPassage:
    """`context[first:last + 1]`, adjoining paragraphs of one section, and its marked units."""

    first: int
    last: int
    marked: tuple[Unit, ...]


@dataclass(slots=True)
class PassageSelector:
    """Chooses paragraphs, best first, and grows each to a passage while there is room."""

    context: Sequence[ContextPassage]
    scores: Sequence[float]
    """How well each paragraph answers, 0 or more."""
    grows: bool = True
    """Whether blocks and their lead-ins stay together."""
    _sizes: list[int] = field(init=False)
    _ranges: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._sizes = [len(one.passage.text.split()) for one in self.context]

    def take(self, at: int) -> bool:
        """Show the paragraph at this index.

        False if there is no room for it, if what it announces is missing, or if it says again what
        is shown.
        """
        if any(first <= at <= last for first, last in self._ranges):
            return True
        first, last = self._whole(at)
        if (self.grows and self._announces(last)) or self._repeats(first, last):
            return False
        beside = [
            (one, other)
            for one, other in self._ranges
            if one <= last + 1 and first <= other + 1 and self._connected(one, first, other, last)
        ]
        first = min([first, *(one for one, _ in beside)])
        last = max([last, *(other for _, other in beside)])
        rest = [one for one in self._ranges if one not in beside]
        fits = self._size([*rest, (first, last)]) <= MAX_WORDS
        if self._ranges and (not fits or len(rest) >= MAX_PASSAGES):
            return False
        last = self._longer(first, last, rest, CONTINUED_SHARE * self.scores[at])
        self._ranges = (
            [*rest, (first, last)]
            if not beside
            else [
                (first, last) if one == beside[0] else one
                for one in self._ranges
                if one not in beside[1:]
            ]
        )
        return True

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """First and last position of each passage, in the order in which they were taken."""
        return self._ranges

    def _size(self, ranges: Collection[tuple[int, int]]) -> int:
        return sum(sum(self._sizes[first : last + 1]) for first, last in ranges)

    def _connected(self, one: int, first: int, other: int, last: int) -> bool:
        begin, end = min(one, first), max(other, last)
        return all(self._follows(at) for at in range(begin + 1, end + 1))

    def _follows(self, at: int) -> bool:
        """Whether both a paragraph and the one right before it are shown, in the same section."""
        if not 0 < at < len(self.context):
            return False
        one, other = self.context[at - 1].passage, self.context[at].passage
        if BlockKind.GLOSSARY_ENTRY in (one.kind, other.kind) or not (
            is_quotable(one) and is_quotable(other)
        ):
            return False
        return one.heading_path == other.heading_path and adjoin(self.context, at - 1, at)

    def _whole(self, at: int) -> tuple[int, int]:
        """The paragraph with what leads in to it and what it announces."""
        first = last = at
        if not self.grows:
            return first, last
        while self._kind(first) in BLOCKS and self._follows(first) and at - first < 2:
            first -= 1
        while self._announces(last) and self._follows(last + 1):
            last += 1
        return first, last

    def _longer(
        self, first: int, last: int, rest: Collection[tuple[int, int]], least: float
    ) -> int:
        """The last position when a short passage goes on as far as there is room.

        It stops before a paragraph with a score below `least`.
        """
        while self._size([(first, last)]) < SHORT_WORDS and self._follows(last + 1):
            _, further = self._whole(last + 1)
            taken = any(one <= further and last + 1 <= other for one, other in rest)
            answers = max(self.scores[last + 1 : further + 1]) >= least
            whole = not self._announces(further)
            if taken or not (answers and whole):
                break
            if self._size([*rest, (first, further)]) > MAX_WORDS:
                break
            last = further
        return last

    def _repeats(self, first: int, last: int) -> bool:
        """Whether the passages taken so far have most of these paragraphs' text."""
        own = self._runs(first, last)
        shown = {run for one, other in self._ranges for run in self._runs(one, other)}
        return len(own & shown) > REPEATED_SHARE * len(own)

    def _runs(self, first: int, last: int) -> set[tuple[str, ...]]:
        """The runs of `_RUN` words of these paragraphs; of a shorter one all its words."""
        found: set[tuple[str, ...]] = set()
        for one in self.context[first : last + 1]:
            said = tuple(words(one.passage.text))
            starts = range(max(1, len(said) - _RUN + 1))
            found.update(said[start : start + _RUN] for start in starts)
        return found

    def _kind(self, at: int) -> object:
        return self.context[at].passage.kind

    def _announces(self, at: int) -> bool:
        one = self.context[at].passage
        return one.kind not in WHOLE and one.text.rstrip().endswith(COLONS)
