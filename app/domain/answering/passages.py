"""The passages that an offline answer shows: blocks of the book, or parts of long ones.

A passage is a paragraph that answers the question, extended within its section. A list, listing,
table or formula gets the paragraph before it as lead-in. A paragraph that ends with a colon or a
question gets the block after it, or is not shown; so does a label, such as a caption or a file
name, above a block. A short paragraph gets the next one if its score is high enough. Of a long
block the run of units around the best one is shown. A passage that mostly repeats earlier passages
is left out. Passages that continue each other in the book are one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from app.domain.answering.relevance import ScoredParagraph, ScoredUnit
from app.domain.answering.units import (
    BLOCKS,
    Unit,
    adjoin,
    announces,
    continues_section,
    is_label,
    whole_unit,
)
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import table_rows
from app.domain.retrieval.query import ContextPassage
from app.domain.scripts import word_count
from app.domain.terms import words

MAX_PASSAGES = 5
MAX_ANSWER_WORDS = 260
"""Limit for all passages together; one block with its lead-in may exceed it."""
MAX_BLOCK_WORDS = 120
"""A longer text, list or table is shown in part."""
SHORT_WORDS = 60
"""A passage with fewer words is extended by the next paragraph of its section."""
CONTINUED_GAP = 3.8
"""How much lower the score of a paragraph that extends a short passage may be."""
REPEATED_SHARE = 0.5
"""Share of a passage's word n-grams in earlier passages above which it is left out."""
_NGRAM_WORDS = 5
_UNDIVIDED = frozenset({BlockKind.CODE, BlockKind.MATH})
_Ngram: TypeAlias = tuple[str, ...]
_Range: TypeAlias = tuple[int, int]
"""First and last position of adjacent paragraphs."""


@dataclass(frozen=True, slots=True)
class ChosenPassage:
    """Adjacent paragraphs of one section."""

    parts: tuple[Unit, ...]
    """What is shown of each paragraph: all of it, or a run of its units."""
    marked: tuple[Unit, ...] = ()
    """The units that answer."""


def shown_part(at: int, one: ContextPassage, scored: Sequence[ScoredUnit]) -> Unit:
    """Return the paragraph as one unit; of a long one the run of units around the best one."""
    whole = whole_unit(at, one)
    if whole.size <= MAX_BLOCK_WORDS or whole.kind in _UNDIVIDED or not scored:
        return whole
    text = one.passage.text
    header = table_rows(text)[0] if whole.kind is BlockKind.TABLE else 0
    start, end = _best_run(text, scored, MAX_BLOCK_WORDS - word_count(text[:header]))
    if one.passage.kind is BlockKind.LIST:
        start = text.rfind("\n", 0, start) + 1  # with the item's marker
    return Unit(at, start, end, whole.kind, text[start:end])


def _best_run(text: str, scored: Sequence[ScoredUnit], most: int) -> Span:
    """Return the span of the best unit with neighbours, the better one first, within `most` words.

    What stands between two units, such as the listing of a glossary entry, counts too.
    """
    first = last = max(range(len(scored)), key=lambda at: scored[at].score)
    while True:
        wider = [
            (scored[added].score, low, high)
            for added, low, high in ((first - 1, first - 1, last), (last + 1, first, last + 1))
            if 0 <= added < len(scored) and word_count(_between(text, scored, low, high)) <= most
        ]
        if not wider:
            return scored[first].unit.start, scored[last].unit.end
        _, first, last = max(wider)


def _between(text: str, scored: Sequence[ScoredUnit], first: int, last: int) -> str:
    return text[scored[first].unit.start : scored[last].unit.end]


@dataclass(slots=True)
class PassageSelector:
    """Chooses paragraphs, best first, and extends each to a passage within the word limit."""

    context: Sequence[ContextPassage]
    paragraphs: Sequence[ScoredParagraph]
    """Those of the context."""
    ranges: list[_Range] = field(default_factory=list, init=False)
    """First and last position of each passage, in the order of addition."""
    part_of: Callable[[int], Unit] = field(init=False)
    """What is shown of a paragraph of the context."""
    _size_of: Callable[[int], int] = field(init=False)
    """Number of words of that part."""
    _ngrams_of: Callable[[int], set[_Ngram]] = field(init=False)
    """Word n-grams of that part."""
    _shown: set[_Ngram] = field(default_factory=set, init=False)
    """The word n-grams of the passages."""

    def __post_init__(self) -> None:
        self.part_of = cache(lambda at: shown_part(at, self.context[at], self.paragraphs[at].units))
        self._size_of = cache(self._words)
        self._ngrams_of = cache(lambda at: _ngrams(self.part_of(at).text))

    def _words(self, at: int) -> int:
        part, text = self.part_of(at), self.context[at].passage.text
        rows = part.kind is BlockKind.TABLE and part.start > 0
        return part.size + (word_count(text[: table_rows(text)[0]]) if rows else 0)

    def take(self, at: int) -> None:
        """Add the paragraph at this index to the passages.

        Not if there is no room, if the block it announces is missing, or if it repeats a passage.
        """
        if any(first <= at <= last for first, last in self.ranges):
            return
        if self.ranges and self._size([*self.ranges, (at, at)]) > MAX_ANSWER_WORDS:
            return
        begin, end = self._whole(at)
        if self._announces(end):
            return
        (first, last), rest, _ = self._joined(begin, end)
        fits = self._size([*rest, (first, last)]) <= MAX_ANSWER_WORDS
        if self.ranges and (not fits or len(rest) >= MAX_PASSAGES):
            return
        if self._repeats(begin, end):
            return
        last = self._longer(first, last, rest, self.paragraphs[at].score - CONTINUED_GAP)
        whole, rest, place = self._joined(first, last)
        self.ranges = [*rest[:place], whole, *rest[place:]]
        self._shown |= self._ngrams(*whole)

    def _joined(self, first: int, last: int) -> tuple[_Range, list[_Range], int]:
        """Return these paragraphs with the passages that they continue, and the other passages.

        Last, the place of the whole among the others: that of the first passage that it joins.
        """
        beside = [one for one in self.ranges if self._touch(one, (first, last))]
        rest = [one for one in self.ranges if one not in beside]
        place = self.ranges.index(beside[0]) if beside else len(rest)
        parts = [(first, last), *beside]
        return (min(parts)[0], max(end for _, end in parts)), rest, place

    def _touch(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether one of two runs of paragraphs overlaps or continues the other in the book."""
        first, last = min(one[0], other[0]), max(one[1], other[1])
        apart = one[0] > other[1] + 1 or other[0] > one[1] + 1
        return not apart and all(map(self._follows, range(first + 1, last + 1)))

    def _size(self, ranges: Collection[tuple[int, int]]) -> int:
        return sum(self._size_of(at) for first, last in ranges for at in range(first, last + 1))

    def _follows(self, at: int) -> bool:
        """Whether a passage may hold the paragraph and the one before it.

        They follow each other in one section, may be shown, and are no glossary entries.
        """
        if not continues_section(self.context, at):
            return False
        kinds = (self.context[at - 1].passage.kind, self.context[at].passage.kind)
        quotable = self.paragraphs[at - 1].quotable and self.paragraphs[at].quotable
        return quotable and BlockKind.GLOSSARY_ENTRY not in kinds

    def _whole(self, at: int) -> tuple[int, int]:
        """Return the range of the paragraph with its lead-in and the block it announces."""
        first = last = at
        while self._is_block(first) and self._follows(first) and at - first < 2:
            first -= 1
        if first < at and self._is_label(first) and self._follows(first):
            first -= 1
        while self._announces(last) and self._follows(last + 1):
            last += 1
        return first, last

    def _longer(
        self, first: int, last: int, rest: Collection[tuple[int, int]], least: float
    ) -> int:
        """Return the last position after a short passage is extended, within the word limit.

        Paragraphs with a score below `least` are not added.
        """
        while self._size([(first, last)]) < SHORT_WORDS and self._follows(last + 1):
            _, further = self._whole(last + 1)
            taken = any(one <= further and last + 1 <= other for one, other in rest)
            following = self.paragraphs[last + 1 : further + 1]
            answers = any(one.answers and one.score >= least for one in following)
            complete = not self._announces(further)
            repeats = self._repeats(last + 1, further, self._ngrams(first, last))
            if taken or repeats or not (answers and complete):
                break
            if self._size([*rest, (first, further)]) > MAX_ANSWER_WORDS:
                break
            last = further
        return last

    def _repeats(self, first: int, last: int, beside: Set[_Ngram] = frozenset()) -> bool:
        """Whether earlier passages, or text `beside`, contain most of these paragraphs' text."""
        own = self._ngrams(first, last)
        return len(own & (self._shown | beside)) > REPEATED_SHARE * len(own)

    def _ngrams(self, first: int, last: int) -> set[_Ngram]:
        """Return the word n-grams of these paragraphs."""
        return set().union(*map(self._ngrams_of, range(first, last + 1)))

    def _is_block(self, at: int) -> bool:
        return self.context[at].passage.kind in BLOCKS

    def _is_label(self, at: int) -> bool:
        return is_label(self.context[at].passage)

    def _announces(self, at: int) -> bool:
        """Whether the paragraph introduces the next one or is the label of the block below it."""
        if announces(self.context[at].passage):
            return True
        return self._is_label(at) and adjoin(self.context, at, at + 1) and self._is_block(at + 1)


def _ngrams(text: str) -> set[_Ngram]:
    """Return the word n-grams of a text; a shorter one is a single n-gram."""
    said = tuple(words(text))
    if len(said) < _NGRAM_WORDS:
        return {said}
    return set(zip(*(said[start:] for start in range(_NGRAM_WORDS)), strict=False))
