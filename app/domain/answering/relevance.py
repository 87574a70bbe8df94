"""Relevance of units to a question: one score of a few features, with learnt weights.

A unit is a sentence, list item, table row, listing or glossary entry. Its score is the sum of its
features, each times its weight; a paragraph has the score of its best unit. The weights are a
conditional logistic regression, gold paragraph against the others of its context, fitted by
`python scripts/bench/fit_passages.py` (`specs/decisions/0007-offline-answers.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from operator import mul
from typing import NamedTuple

from app.domain.answering.definitions import DEFINING_VERB, defines, subject_match
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.objectives import ASKS_OBJECTIVES, states_objectives
from app.domain.answering.units import (
    Unit,
    announces,
    begins_entry,
    continues_section,
    is_caption,
    is_quotable,
)
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.fences_and_tables import table_rows


class Features(NamedTuple):
    """Features of a unit, 0 to about 1; or their weights."""

    retrieval: float
    """Retrieval score of the paragraph, divided by the best one of the context."""
    coverage: float
    """Share of the question's terms, weighted by rarity, in the unit and the lead-in or table
    header that belongs to it."""
    context: float
    """The same in the paragraph, its headings and its lead-in."""
    similarity: float
    """Cosine of question and unit, read with its section's title and its lead-in, by the local
    model, -1 to 1; 0 if unknown."""
    reading: float
    """Relevance of the paragraph by a model that reads it with the question, 0 to 1; 0 without."""
    definition: float
    """How well the unit defines the term that the question asks for, 0 to 1.2; for a row of a
    table, whether the question has its first cell."""
    form: float
    """1 if the question wants a block of this kind: "which types" a list or table."""
    caption: float
    """1 for the text of a figure."""


WEIGHTS = Features(
    retrieval=5.89,
    coverage=0.73,
    context=3.10,
    similarity=2.36,
    reading=5.5,
    definition=3.08,
    form=1.23,
    caption=-1.75,
)
"""That of `reading`, about as much as `retrieval`, is not fitted."""

_ENTRY, MARKED = 1.2, 0.65
"""Definition scores of a glossary entry, and of a paragraph that marks the term."""
_SENTENCE = 0.75
"""Factor on the score of a sentence in a paragraph that does not mark the term."""
_ROW = 1.0
"""Score of a row whose first cell is in the question."""
_LEAST_CELL = 0.2
"""Least share of the question's weight in such a cell."""
_LISTING = 0.5
"""Factor on the terms of a listing if the question neither asks for code nor has an identifier of
the listing."""
_LEAD_IN_CHARS = 200
"""Characters of a lead-in that are compared together with a unit."""


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    unit: Unit
    features: Features
    score: float


@dataclass(frozen=True, slots=True)
class ScoredParagraph:
    quotable: bool
    """Whether it may be shown."""
    answers: bool
    """Whether it may be shown and has a term of the question or defines it."""
    units: tuple[ScoredUnit, ...] = ()
    """Empty if it may not be shown."""

    @property
    def score(self) -> float:
        """The score of the best unit; minus infinity without any."""
        return max((one.score for one in self.units), default=float("-inf"))


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores the paragraphs of one context, and the units in them, for one question."""

    given: ExtractionInput
    readings: Mapping[int, float] = field(default_factory=dict)
    """Position of a paragraph -> its relevance by a model that has read it."""
    cosines: Mapping[str, float] = field(default_factory=dict)
    """Of the question and each of the `compared_texts`; unknown ones are missing."""
    weights: Features = WEIGHTS

    def compared_texts(self) -> list[str]:
        """Return the texts of all units as they are compared with the question."""
        units = self.given.units()
        leads = {at: self._lead_in(at) for at in {unit.passage for unit in units}}
        return [self._compared(unit, leads[unit.passage]) for unit in units]

    def _compared(self, unit: Unit, lead_in: str) -> str:
        section = self.given.context[unit.passage].section
        return f"{section} {lead_in[-_LEAD_IN_CHARS:]} {unit.text}"

    def paragraphs(self) -> list[ScoredParagraph]:
        """Score each paragraph of the context."""
        quotable = self._quotable()
        units = self.given.units([at for at, shown in enumerate(quotable) if shown])
        scored = dict.fromkeys(range(len(quotable)), tuple[ScoredUnit, ...]())
        for at, group in groupby(units, key=lambda unit: unit.passage):
            scored[at] = tuple(self._scored(at, [*group]))
        return [
            ScoredParagraph(
                shown,
                any(map(self.answers, scored[at])) and not is_caption(one.passage),
                scored[at],
            )
            for at, (one, shown) in enumerate(zip(self.given.context, quotable, strict=True))
        ]

    def _scored(self, at: int, units: Sequence[Unit]) -> Iterator[ScoredUnit]:
        """Score the units of a paragraph."""
        passage, question = self.given.context[at].passage, self.given.question
        said_before = self._lead_in(at)
        lead_in = question.terms(said_before)
        around = question.terms(passage.text) | lead_in
        around |= question.terms(" ".join(passage.heading_path))
        evidence = _LISTING if self._is_unasked_listing(passage) else 1.0
        retrieval, context = self._retrieval(at), evidence * self._weight(around)
        for unit in units:
            features = Features(
                retrieval=retrieval,
                coverage=evidence * self._weight(question.terms(unit.text) | lead_in),
                context=context,
                similarity=self.cosines.get(self._compared(unit, said_before), 0.0),
                reading=self.readings.get(at, 0.0),
                definition=max(self._row(unit), self.definition(unit, question.definition)),
                form=float(passage.kind in question.asked_kinds),
                caption=float(passage.kind is BlockKind.FIGURE),
            )
            yield ScoredUnit(unit, features, self.score(features))

    def _is_unasked_listing(self, passage: Passage) -> bool:
        question = self.given.question
        if passage.kind is not BlockKind.CODE or BlockKind.CODE in question.asked_kinds:
            return False
        return question.identifiers.isdisjoint(question.terms(passage.text))

    def score(self, features: Features) -> float:
        return sum(map(mul, features, self.weights), 0.0)

    def _lead_in(self, at: int) -> str:
        """Return the text that is read together with each unit of the paragraph."""
        context = self.given.context
        passage = context[at].passage
        if passage.kind is BlockKind.TABLE:
            return passage.text[: table_rows(passage.text)[0]]
        if not continues_section(context, at):
            return ""
        before = context[at - 1].passage
        introduced = passage.kind is BlockKind.LIST and announces(before)
        return before.text if introduced or passage.kind is BlockKind.CODE else ""

    def answers(self, scored: ScoredUnit) -> bool:
        """Whether the unit has a term of the question, defines it, or needs neither."""
        features = scored.features
        return self.given.translated or bool(features.coverage or features.definition)

    def _quotable(self) -> list[bool]:
        """Return for each paragraph whether it may be shown."""
        return [
            is_quotable(one.passage) and not objective
            for one, objective in zip(self.given.context, self._are_objectives(), strict=True)
        ]

    def _are_objectives(self) -> list[bool]:
        """Return for each paragraph whether it only states what the reader will learn.

        False for all if the question may be about that.
        """
        question = self.given.question
        if not question.terms(ASKS_OBJECTIVES).isdisjoint(question.weights):
            return [False] * len(self.given.context)
        before: Passage | None = None
        found = []
        for one in self.given.context:
            beside = before if before and before.heading_path == one.passage.heading_path else None
            found.append(states_objectives(one.passage, beside))
            before = one.passage
        return found

    def _retrieval(self, at: int) -> float:
        context = self.given.context
        return context[at].score / (max(one.score for one in context) or 1.0)

    def _weight(self, terms: Set[int]) -> float:
        """Return the weighted share of the question's terms that are among these."""
        weights = self.given.question.weights
        return sum([weight for term, weight in weights.items() if term in terms], 0.0)

    def _row(self, unit: Unit) -> float:
        """Return `_ROW` for a row of a table if the question has all terms of its first cell."""
        if unit.kind is not BlockKind.TABLE:
            return 0.0
        question = self.given.question
        cell = question.terms(unit.text.partition(" | ")[0])
        named = bool(cell) and cell <= question.weights.keys() and self._weight(cell) > _LEAST_CELL
        return _ROW * named

    def definition(self, unit: Unit, asked: frozenset[int]) -> float:
        """Return how well the unit defines the term, 0 to 1.2; 0 for no term."""
        if not asked:
            return 0.0
        terms, passage = self.given.question.terms, self.given.context[unit.passage].passage
        marked = defines(passage, asked, terms)
        if marked and begins_entry(unit, passage):
            return _ENTRY
        if not asked <= terms(unit.text):
            return 0.0
        defining = subject_match(asked, unit.text, DEFINING_VERB, terms)
        return max(defining, MARKED) if marked else _SENTENCE * defining
