"""The passages that an offline answer shows: paragraphs of the book, or parts of long ones.

Paragraphs are taken from the best one down, within a limit of words. With a list, listing, table or
formula comes the paragraph before it as lead-in, with a text that ends with a colon or a question,
and with a label, such as a caption or a file name, the block after it. Of a long block the run of
units around the best one is shown. Paragraphs that follow each other in a section are one passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.answering.relevance import ScoredParagraph, ScoredUnit
from app.domain.answering.units import (
    BLOCKS,
    Unit,
    announces,
    continues_section,
    is_label,
    whole_unit,
)
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import table_rows
from app.domain.retrieval.query import ContextPassage
from app.domain.scripts import word_count
from app.domain.terms import joined_words

MAX_PASSAGES = 5
MAX_ANSWER_WORDS = 260
"""Limit for all passages together; one block with its lead-in may exceed it."""
MAX_BLOCK_WORDS = 120
"""A longer text, list or table is shown in part."""
_UNDIVIDED = frozenset({BlockKind.CODE, BlockKind.MATH})


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
    if whole.kind is BlockKind.LIST:
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
            if 0 <= added < len(scored)
            and word_count(text[scored[low].unit.start : scored[high].unit.end]) <= most
        ]
        if not wider:
            return scored[first].unit.start, scored[last].unit.end
        _, first, last = max(wider)


@dataclass
class PassageSelector:
    """Takes paragraphs, each with what belongs to it, as long as they fit."""

    context: Sequence[ContextPassage]
    paragraphs: Sequence[ScoredParagraph]
    """Those of the context."""
    read: str = ""
    """Text that the reader has: what it contains is not taken."""
    _taken: list[int] = field(default_factory=list, init=False)

    @cached_property
    def _parts(self) -> Sequence[Unit]:
        """What is shown of each paragraph."""
        given = zip(self.context, self.paragraphs, strict=True)
        return [shown_part(at, one, scored.units) for at, (one, scored) in enumerate(given)]

    def take(self, at: int) -> None:
        """Take the paragraph at this position, if there is room and it says something new."""
        added = [one for one in self._whole(at) if one not in self._taken]
        if not added or self._repeats(at):
            return
        if self._taken and self._size([*self._taken, *added]) > MAX_ANSWER_WORDS:
            return
        self._taken += added

    def passages(self) -> list[tuple[Unit, ...]]:
        """Return the passages, best first."""
        runs: list[list[int]] = []
        for at in sorted(self._taken):
            if runs and runs[-1][-1] == at - 1 and self._follows(at):
                runs[-1].append(at)
            else:
                runs.append([at])
        runs.sort(key=lambda run: min(map(self._taken.index, run)))
        return [tuple(self._parts[at] for at in run) for run in runs[:MAX_PASSAGES]]

    def _size(self, taken: Sequence[int]) -> int:
        return sum(self._parts[at].size for at in taken)

    def _repeats(self, at: int) -> bool:
        said = joined_words(self._parts[at].text)
        shown = (self.read, *(self._parts[one].text for one in self._taken))
        return any(said in joined_words(text) for text in shown)

    def _whole(self, at: int) -> range:
        """Return the paragraph with its lead-in and the block it announces.

        Empty if that block is missing: the lead-in alone would be incomplete.
        """
        first = last = at
        while self._is_block(first) and self._follows(first) and at - first < 2:
            first -= 1
        while self._introduces(last):
            if not self._follows(last + 1):
                return range(0)
            last += 1
        return range(first, last + 1)

    def _introduces(self, at: int) -> bool:
        """Whether the paragraph introduces the next one or is the label of the block below it."""
        passage = self.context[at].passage
        return announces(passage) or (is_label(passage) and self._is_block(at + 1))

    def _follows(self, at: int) -> bool:
        """Whether a passage may hold the paragraph and the one before it.

        They follow each other in one section, may be shown, and are no glossary entries.
        """
        if not continues_section(self.context, at):
            return False
        kinds = (self.context[at - 1].passage.kind, self.context[at].passage.kind)
        quotable = self.paragraphs[at - 1].quotable and self.paragraphs[at].quotable
        return quotable and BlockKind.GLOSSARY_ENTRY not in kinds

    def _is_block(self, at: int) -> bool:
        return at < len(self.context) and self.context[at].passage.kind in BLOCKS
