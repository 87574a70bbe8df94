"""Relevance of paragraphs and their units to a question.

Passages are chosen by the score of their paragraph:

score = the retrieval score / the best one + PARAGRAPH_COVERAGE * coverage
    + PARAGRAPH_DEFINITION * definition
    + cosine of question and paragraph, by the local model

Coverage is the weighted share of the question's terms in the paragraph or in the headings above it.
The weights are a conditional logistic regression, gold paragraph against the others of its context,
on the students' development half and the dev sets, leaving out one book at a time
(`specs/decisions/0007-offline-answers.md`). The sentences to mark are chosen by the score of units:

score = coverage + HIT * (the passage's retrieval score / the best one) + DEFINITION * definition
    + SIMILARITY * cosine of question and unit, by the local model

Coverage is the weighted share of the question's terms. A term in the unit has factor 1, in the
previous unit PREVIOUS, in the headings above HEADING, elsewhere in the passage PASSAGE.
These weights were chosen on the dev sets by `scripts/bench/extraction.py`.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from app.domain.answering.definitions import (
    DEFINING_VERB,
    Name,
    defines,
    subject_match,
    term_match_score,
)
from app.domain.answering.extraction_input import ALL_RULES, Rule
from app.domain.answering.question_analysis import QuestionFeatures
from app.domain.answering.units import Unit, begins_entry
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage

PARAGRAPH_COVERAGE = 1.2
PARAGRAPH_DEFINITION = 1.7
HIT = 0.4
SIMILARITY = 0.5
DEFINITION = 1.0
PREVIOUS = 0.5
HEADING = 0.5
PASSAGE = 0.3


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores the units of one context for one question."""

    question: QuestionFeatures
    context: Sequence[ContextPassage]
    rules: Set[Rule] = ALL_RULES

    @property
    def similarity_weight(self) -> float:
        """Weight of a unit's cosine; lower for definition questions, where terms decide."""
        weight = SIMILARITY / 2 if self.question.definition else SIMILARITY
        return weight * (Rule.SIMILARITY in self.rules)

    def scores(
        self, units: Sequence[Unit], cosines: Sequence[float] = ()
    ) -> tuple[list[float], list[float]]:
        """Return the score of each unit, without similarity, and of each paragraph of the context.

        A unit without any term of the question has score 0. `cosines` are of the question and each
        paragraph, -1 to 1, or () if unknown.
        """
        terms = [self.question.terms(unit.text) for unit in units]
        headings = [self.question.terms(" ".join(one.passage.heading_path)) for one in self.context]
        in_paragraph: list[set[int]] = [set() for _ in self.context]
        for unit, own in zip(units, terms, strict=True):
            in_paragraph[unit.passage].update(own)
        defining = [0.0] * len(units)
        if Rule.DEFINITION in self.rules:
            name = self.question.definition_name
            defining = self.definitions(units, self.question.definition, name)
        surrounding = [*zip(headings, in_paragraph, strict=True)]
        scores = self._unit_scores(units, terms, surrounding, defining)
        paragraphs = self._paragraph_scores(units, surrounding, defining, cosines)
        return scores, paragraphs

    def _unit_scores(
        self,
        units: Sequence[Unit],
        terms: Sequence[frozenset[int]],
        surrounding: Sequence[tuple[Set[int], Set[int]]],
        defining: Sequence[float],
    ) -> list[float]:
        retrieval = self._retrieval_scores()
        scores: list[float] = []
        previous = -1
        before: frozenset[int] = frozenset()
        for unit, own, definition in zip(units, terms, defining, strict=True):
            if unit.passage != previous:
                before = frozenset()
            score = self._score(own, (before, *surrounding[unit.passage]), definition)
            scores.append(score + HIT * retrieval[unit.passage] if score else 0.0)
            previous, before = unit.passage, own
        return scores

    def _paragraph_scores(
        self,
        units: Sequence[Unit],
        surrounding: Sequence[tuple[Set[int], Set[int]]],
        defining: Sequence[float],
        cosines: Sequence[float],
    ) -> list[float]:
        best_definition = [0.0] * len(self.context)
        for unit, value in zip(units, defining, strict=True):
            best_definition[unit.passage] = max(best_definition[unit.passage], value)
        similarity = cosines or [0.0] * len(self.context)
        return [
            retrieval
            + PARAGRAPH_COVERAGE * self._weight(held | heading)
            + (Rule.SIMILARITY in self.rules) * cosine
            + PARAGRAPH_DEFINITION * definition
            for retrieval, (heading, held), cosine, definition in zip(
                self._retrieval_scores(), surrounding, similarity, best_definition, strict=True
            )
        ]

    def _retrieval_scores(self) -> list[float]:
        """Each paragraph's retrieval score, divided by the best."""
        best = max((one.score for one in self.context), default=0.0) or 1.0
        return [(Rule.RETRIEVAL in self.rules) * one.score / best for one in self.context]

    def _weight(self, terms: Set[int]) -> float:
        """Return the weighted share of the question's terms that are among these."""
        return sum(weight for term, weight in self.question.weights.items() if term in terms)

    def _score(self, own: frozenset[int], around: tuple[Set[int], ...], definition: float) -> float:
        if not definition and own.isdisjoint(self.question.weights):
            return 0.0
        covered = sum(
            weight * _share(term, own, around) for term, weight in self.question.weights.items()
        )
        return covered + DEFINITION * definition

    def definitions(self, units: Sequence[Unit], asked: frozenset[int], name: Name) -> list[float]:
        """Return for each unit how well it defines this term, 0 to 1.2.

        Only glossary entries with the best term match score count, because different terms may have
        the same stem: hybrid and hybridization.
        """
        if not asked:
            return [0.0] * len(units)
        marked = {at: self._marks(at, asked) for at in {unit.passage for unit in units}}
        found = [self._definition(unit, asked, marked=marked[unit.passage]) for unit in units]
        entries = {
            at: _best_match(self._passage(unit), name)
            for at, unit in enumerate(units)
            if found[at] and unit.kind is BlockKind.GLOSSARY_ENTRY
        }
        best = max(entries.values(), default=0)
        return [0.0 if entries.get(at, best) < best else value for at, value in enumerate(found)]

    def _passage(self, unit: Unit) -> Passage:
        return self.context[unit.passage].passage

    def _marks(self, at: int, asked: frozenset[int]) -> bool:
        """Whether the paragraph marks the term as defined there."""
        return defines(self.context[at].passage, asked, self.question.terms)

    def _definition(self, unit: Unit, asked: frozenset[int], *, marked: bool) -> float:
        terms = self.question.terms
        if marked and begins_entry(unit, self._passage(unit)):
            return 1.2
        if not asked <= terms(unit.text):
            return 0.0
        defining = subject_match(asked, unit.text, DEFINING_VERB, terms)
        return max(defining, 0.65) if marked else 0.75 * defining


def _best_match(entry: Passage, name: Name) -> int:
    return max((term_match_score(term, name) for term in entry.terms), default=0)


def _share(term: int, own: frozenset[int], around: tuple[Set[int], ...]) -> float:
    if term in own:
        return 1.0
    return max(
        (
            share
            for share, terms in zip((PREVIOUS, HEADING, PASSAGE), around, strict=True)
            if term in terms
        ),
        default=0.0,
    )
