"""Relevance of units to a question: one score of a few features, with learnt weights.

A unit is a sentence, list item, table row, listing or glossary entry. Its score is the sum of its
features, each times its weight; a paragraph has the score of its best unit. The weights are a
conditional logistic regression, gold paragraph against the others of its context, fitted by
`python scripts/bench/fit_passages.py` (`specs/decisions/0007-offline-answers.md`).
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from operator import mul
from typing import NamedTuple

from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.answering.units import (
    ASKS_OBJECTIVES,
    SplitSentences,
    Unit,
    announces,
    states_objectives,
    units_of,
)
from app.domain.chunking.chunk import Passage
from app.domain.definitions import defines, subject_match
from app.domain.document import BlockKind
from app.domain.fences_and_tables import table_rows
from app.domain.languages import compares
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
    """How well the unit defines the term that the question asks for, 0 to 1; for a row of a
    table, whether the question has its first cell."""
    form: float
    """1 if the question wants a block of this kind: "which types" a list or table."""
    caption: float
    """1 for the text of a figure, which describes what it shows."""


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

_LISTING = 0.5
"""Factor on the terms of a listing if the question does not ask for code."""
_LEAD_IN_CHARS = 200
"""Characters of a lead-in that are compared together with a unit."""
_GAP = 80
"""Maximum characters of mark-up between two paragraphs that follow each other."""


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    unit: Unit
    features: Features
    score: float
    answers: bool
    """Whether it or the heading above it has a term of the question, or it needs none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paragraph of the context, with what it is read with."""

    source: ContextPassage
    follows: bool
    """Whether it follows the one before it in the book, in the same section."""
    lead_in: str
    """Text that is read together with each of its units."""
    units: Sequence[Unit]
    """Empty if it may not be shown."""
    scored: Sequence[ScoredUnit] = ()
    """The same, once they are scored."""

    @property
    def score(self) -> float:
        """The score of the best unit; minus infinity without any."""
        return max((one.score for one in self.scored), default=float("-inf"))

    @property
    def answers(self) -> bool:
        return any(one.answers for one in self.scored)

    def compared(self, unit: Unit) -> str:
        """Return the text of a unit as it is compared with the question."""
        return f"{self.source.section} {self.lead_in[-_LEAD_IN_CHARS:]} {unit.text}"


def candidates(
    question: QuestionAnalysis, context: Sequence[ContextPassage], split_sentences: SplitSentences
) -> list[Candidate]:
    """Return the paragraphs of a context in reading order.

    Learning objectives are not shown unless the question asks for them.
    """
    asks = question.terms(ASKS_OBJECTIVES) & question.weights.keys()
    found: list[Candidate] = []
    for one in context:
        before = found[-1].source if found else None
        follows = before is not None and _continues_section(before, one)
        previous = before.passage if before and follows else None
        hidden = not asks and states_objectives(one.passage, previous)
        own = () if hidden else units_of(one, split_sentences, question.language)
        found.append(Candidate(one, follows, _lead_in(one.passage, previous), own))
    return _complete(found)


def _complete(paragraphs: list[Candidate]) -> list[Candidate]:
    """Leave out each last unit that announces a block which is missing."""
    followed = False
    for at, one in reversed([*enumerate(paragraphs)]):
        units = one.units if followed or not announces(one.source.passage) else one.units[:-1]
        paragraphs[at] = replace(one, units=units)
        followed = one.follows and bool(units)
    return paragraphs


def _continues_section(before: ContextPassage, one: ContextPassage) -> bool:
    gap = one.passage.start - before.passage.end
    adjacent = (before.book, before.file) == (one.book, one.file) and 0 <= gap <= _GAP
    return adjacent and before.passage.heading_path == one.passage.heading_path


def _lead_in(passage: Passage, before: Passage | None) -> str:
    if passage.kind is BlockKind.TABLE:
        return passage.text[: table_rows(passage.text)[0]]
    introduced = passage.kind is BlockKind.LIST and before is not None and announces(before)
    return before.text if before and (introduced or passage.kind is BlockKind.CODE) else ""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores paragraphs, and the units in them, for one question."""

    question: QuestionAnalysis
    cosines: Mapping[str, float] = field(default_factory=dict)
    """Of the question and each compared text; unknown ones are missing."""
    readings: Mapping[int, float] = field(default_factory=dict)
    """Position of a paragraph -> its relevance by a model that has read it."""
    translated: bool = False
    """Whether the question is in another language than the context, and a multilingual model
    compares them: then no word needs to match."""
    weights: Features = WEIGHTS

    def scored(self, paragraphs: Sequence[Candidate]) -> list[Candidate]:
        """Return all paragraphs of a context with scores."""
        best = max((one.source.score for one in paragraphs), default=0.0) or 1.0
        read = enumerate(paragraphs)
        return [replace(one, scored=[*self._units(one, at, best)]) for at, one in read]

    def _units(self, one: Candidate, at: int, best: float) -> Iterator[ScoredUnit]:
        passage, question = one.source.passage, self.question
        lead_in = question.terms(one.lead_in)
        around = question.terms(" ".join((*passage.heading_path, passage.text)))
        headed = self._weight(question.terms(" ".join(passage.heading_path[-1:])))
        is_listing = passage.kind is BlockKind.CODE
        evidence = _LISTING if is_listing and passage.kind not in question.asked_kinds else 1.0
        for unit in one.units:
            features = Features(
                retrieval=one.source.score / best,
                coverage=evidence * self._weight(question.terms(unit.text) | lead_in),
                context=evidence * self._weight(around | lead_in),
                similarity=self.cosines.get(one.compared(unit), 0.0),
                reading=self.readings.get(at, 0.0),
                definition=max(self._row(unit), self._definition(unit)),
                form=float(passage.kind in question.asked_kinds),
                caption=float(passage.kind is BlockKind.FIGURE),
            )
            score = sum(map(mul, features, self.weights), 0.0)
            answers = self.translated or bool(features.coverage or features.definition or headed)
            yield ScoredUnit(unit, features, score, answers)

    def _weight(self, terms: Set[int]) -> float:
        """Return the weighted share of the question's terms that are among these."""
        weights = self.question.weights
        return sum([weight for term, weight in weights.items() if term in terms], 0.0)

    def _row(self, unit: Unit) -> float:
        """Return 1 for a row of a table if the question has all terms of its first cell, else 0.

        A row does not answer a comparison: it is about one of the two things.
        """
        if unit.kind is not BlockKind.TABLE:
            return 0.0
        question = self.question
        cell = question.terms(unit.text.partition(" | ")[0])
        asked = bool(cell) and cell <= question.weights.keys()
        return float(asked and not compares(question.words, question.language))

    def _definition(self, unit: Unit) -> float:
        """Return how well the unit defines the term that is asked for, 0 to 1; 0 for no term."""
        asked, terms = self.question.definition, self.question.terms
        if not asked or not asked <= terms(unit.text):
            return 0.0
        marked = defines(unit.source.passage, asked, terms)
        return 1.0 if marked else subject_match(asked, unit.text, terms)
