"""Relevance of units to a question: one score of a few features, with learnt weights.

A unit is a sentence, list item, table row, listing or glossary entry. Its score is the sum of its
features, each times its weight; a paragraph has the score of its best unit. The weights are a
conditional logistic regression, gold paragraph against the others of its context, fitted by
`python scripts/bench/fit_passages.py` (`specs/decisions/0007-offline-answers.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from operator import mul
from typing import NamedTuple

from app.domain.answering.definitions import defines, subject_match
from app.domain.answering.objectives import ASKS_OBJECTIVES, states_objectives
from app.domain.answering.question_analysis import QuestionFeatures
from app.domain.answering.units import (
    SplitSentences,
    Unit,
    announces,
    continues_section,
    is_caption,
    units,
)
from app.domain.document import BlockKind
from app.domain.fences_and_tables import table_rows
from app.domain.retrieval.query import ContextPassage


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
"""Factor on the terms of a listing if the question does not ask for code."""
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


@dataclass(frozen=True)
class Relevance:
    """Scores the paragraphs of one context, and the units in them, for one question."""

    question: QuestionFeatures
    context: Sequence[ContextPassage]
    """The paragraphs in reading order."""
    split_sentences: SplitSentences
    translated: bool = False
    """Whether the question is in another language than the context, and a multilingual model
    compares them: then no word needs to match."""
    readings: Mapping[int, float] = field(default_factory=dict)
    """Position of a paragraph -> its relevance by a model that has read it."""
    cosines: Mapping[str, float] = field(default_factory=dict)
    """Of the question and each of the `compared_texts`; unknown ones are missing."""
    weights: Features = WEIGHTS

    def compared_texts(self) -> list[str]:
        """Return the texts of all units as they are compared with the question."""
        return [self._compared(unit) for found in self._units for unit in found]

    def paragraphs(self) -> list[ScoredParagraph]:
        """Score each paragraph of the context."""
        found = []
        for at, own in enumerate(self._units):
            scored = tuple(self._scored(at, own))
            answers = not is_caption(self.context[at].passage) and any(map(self.answers, scored))
            found.append(ScoredParagraph(bool(own), answers, scored))
        return found

    def answers(self, scored: ScoredUnit) -> bool:
        """Whether the unit has a term of the question, defines it, or needs neither."""
        features = scored.features
        return self.translated or bool(features.coverage or features.definition)

    @cached_property
    def _units(self) -> Sequence[Sequence[Unit]]:
        """The units of each paragraph; none of one that may not be shown."""
        asks = self.question.terms(ASKS_OBJECTIVES) & self.question.weights.keys()
        found: list[Sequence[Unit]] = []
        for at, one in enumerate(self.context):
            before = self.context[at - 1].passage if continues_section(self.context, at) else None
            hidden = not asks and states_objectives(one.passage, before)
            given = (self.context, self.split_sentences, self.question.language)
            found.append(() if hidden else [*units(*given, [at])])
        return found

    def _scored(self, at: int, units: Sequence[Unit]) -> Iterator[ScoredUnit]:
        """Score the units of a paragraph."""
        passage, question = self.context[at].passage, self.question
        best = max(one.score for one in self.context) or 1.0
        lead_in = question.terms(self._lead_in(at))
        around = question.terms(" ".join((*passage.heading_path, passage.text)))
        is_listing = passage.kind is BlockKind.CODE
        evidence = _LISTING if is_listing and passage.kind not in question.asked_kinds else 1.0
        for unit in units:
            features = Features(
                retrieval=self.context[at].score / best,
                coverage=evidence * self._weight(question.terms(unit.text) | lead_in),
                context=evidence * self._weight(around | lead_in),
                similarity=self.cosines.get(self._compared(unit), 0.0),
                reading=self.readings.get(at, 0.0),
                definition=max(self._row(unit), self._definition(unit, first=unit is units[0])),
                form=float(passage.kind in question.asked_kinds),
                caption=float(passage.kind is BlockKind.FIGURE),
            )
            yield ScoredUnit(unit, features, sum(map(mul, features, self.weights), 0.0))

    def _compared(self, unit: Unit) -> str:
        lead_in = self._lead_in(unit.passage)[-_LEAD_IN_CHARS:]
        return f"{self.context[unit.passage].section} {lead_in} {unit.text}"

    def _lead_in(self, at: int) -> str:
        """Return the text that is read together with each unit of the paragraph."""
        passage = self.context[at].passage
        if passage.kind is BlockKind.TABLE:
            return passage.text[: table_rows(passage.text)[0]]
        if not continues_section(self.context, at):
            return ""
        before = self.context[at - 1].passage
        introduced = passage.kind is BlockKind.LIST and announces(before)
        return before.text if introduced or passage.kind is BlockKind.CODE else ""

    def _weight(self, terms: Set[int]) -> float:
        """Return the weighted share of the question's terms that are among these."""
        weights = self.question.weights
        return sum([weight for term, weight in weights.items() if term in terms], 0.0)

    def _row(self, unit: Unit) -> float:
        """Return `_ROW` for a row of a table if the question has all terms of its first cell."""
        if unit.kind is not BlockKind.TABLE:
            return 0.0
        cell = self.question.terms(unit.text.partition(" | ")[0])
        named = cell <= self.question.weights.keys() and self._weight(cell) > _LEAST_CELL
        return _ROW * named

    def _definition(self, unit: Unit, *, first: bool) -> float:
        """Return how well the unit defines the term that is asked for, 0 to 1; 0 for no term."""
        asked, terms = self.question.definition, self.question.terms
        if not asked:
            return 0.0
        passage = self.context[unit.passage].passage
        marked = defines(passage, asked, terms)
        if marked and first and passage.kind is BlockKind.GLOSSARY_ENTRY:
            return _ENTRY
        if not asked <= terms(unit.text):
            return 0.0
        defining = subject_match(asked, unit.text, terms)
        return max(defining, MARKED) if marked else _SENTENCE * defining
