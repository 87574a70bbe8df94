"""Relevance of paragraphs and their units to a question.

Passages are chosen by the score of their paragraph:

score = the retrieval score / the best one + PARAGRAPH_COVERAGE * coverage
    + PARAGRAPH_DEFINITION * definition
    + cosine of question and paragraph, by the local model

If the question asks for code, a listing has the score of its lead-in if that is higher, and CODE
more.

Coverage is the weighted share of the question's terms in the paragraph or in the headings above it.
The weights are a conditional logistic regression, gold paragraph against the others of its context,
on the students' development half and the dev sets, leaving out one book at a time
(`specs/decisions/0007-offline-answers.md`). The sentences to mark are chosen by the score of units:

score = coverage + HIT * (the passage's retrieval score / the best one) + DEFINITION * definition

Coverage is the weighted share of the question's terms. A term in the unit has factor 1, in the
previous unit PREVIOUS, in the headings above HEADING, elsewhere in the passage PASSAGE.
These weights were chosen on the dev sets by `scripts/bench/extraction.py` of commit b0315f19.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from app.domain.answering.definitions import (
    DEFINING_VERB,
    Name,
    defines,
    subject_match,
    term_match_score,
)
from app.domain.answering.extraction_input import ALL_RULES, ExtractionInput, Rule
from app.domain.answering.objectives import ASKS_OBJECTIVES, states_objectives
from app.domain.answering.units import (
    Unit,
    begins_entry,
    continues_section,
    is_caption,
    is_quotable,
)
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind

PARAGRAPH_COVERAGE = 1.2
PARAGRAPH_DEFINITION = 1.7
CODE = 0.3
HIT = 0.4
DEFINITION = 1.0
PREVIOUS = 0.5
HEADING = 0.5
PASSAGE = 0.3


@dataclass(frozen=True, slots=True)
class ScoredParagraph:
    quotable: bool
    """Whether it may be shown."""
    terms: frozenset[int]
    """Terms of its text; empty if it may not be shown."""
    headings: frozenset[int]
    """Terms of the headings above it."""
    retrieval: float
    """Retrieval score, divided by the best one of the context."""
    definition: float
    """How well it defines the term of a definition question, 0 to 1.2."""
    score: float
    """Relevance, by which passages are chosen."""
    answers: bool
    """Whether it may be shown and has a term of the question or defines it."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores the paragraphs of one context, and the units in them, for one question."""

    given: ExtractionInput
    rules: Set[Rule] = ALL_RULES

    def paragraphs(self, cosines: Sequence[float] = ()) -> list[ScoredParagraph]:
        """Score each paragraph of the context.

        `cosines` are of the question and each paragraph, -1 to 1, or () if unknown.
        """
        context, question = self.given.context, self.given.question
        passages = [one.passage for one in context]
        quotable = self._quotable()
        terms = [
            question.terms(passage.text) if shown else frozenset()
            for passage, shown in zip(passages, quotable, strict=True)
        ]
        headings = [question.terms(" ".join(one.heading_path)) for one in passages]
        retrieval = self._retrieval_scores()
        definitions = self._paragraph_definitions(terms)
        scored = [
            ScoredParagraph(
                shown,
                own,
                heading,
                found,
                definition,
                score=found
                + PARAGRAPH_COVERAGE * self._weight(own | heading)
                + (Rule.SIMILARITY in self.rules) * cosine
                + PARAGRAPH_DEFINITION * definition,
                answers=shown
                and not is_caption(passage)
                and (bool(definition) or self._matches(own)),
            )
            for passage, shown, own, heading, found, definition, cosine in zip(
                passages,
                quotable,
                terms,
                headings,
                retrieval,
                definitions,
                cosines or [0.0] * len(context),
                strict=True,
            )
        ]
        asks_for_code = question.asks_for_code and Rule.CODE in self.rules
        return self._with_code(scored) if asks_for_code else scored

    def _with_code(self, scored: list[ScoredParagraph]) -> list[ScoredParagraph]:
        """Score the listings as what the question asks for, each with its lead-in."""
        found = list(scored)
        for at, one in enumerate(scored):
            if one.quotable and self.given.context[at].passage.kind is BlockKind.CODE:
                lead_in = scored[at - 1] if continues_section(self.given.context, at) else one
                score = max(one.score, lead_in.score) + CODE
                found[at] = replace(one, score=score, answers=one.answers or lead_in.answers)
        return found

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

    def units(self, units: Sequence[Unit], paragraphs: Sequence[ScoredParagraph]) -> list[float]:
        """Return the score of each unit; 0 without any term of the question.

        `paragraphs` are those of the whole context.
        """
        scores: list[float] = []
        previous = -1
        before: frozenset[int] = frozenset()
        definitions = self.definitions(units)
        for unit, definition in zip(units, definitions, strict=True):
            own, paragraph = self.given.question.terms(unit.text), paragraphs[unit.passage]
            if unit.passage != previous:
                before = frozenset()
            around = (before, paragraph.headings, paragraph.terms)
            counts = bool(definition) or self._matches(own)
            score = self._unit_score(own, around, definition) + HIT * paragraph.retrieval
            scores.append(score if counts else 0.0)
            previous, before = unit.passage, own
        return scores

    def _retrieval_scores(self) -> list[float]:
        context = self.given.context
        best = max((one.score for one in context), default=0.0) or 1.0
        return [(Rule.RETRIEVAL in self.rules) * one.score / best for one in context]

    def _weight(self, terms: Set[int]) -> float:
        """Return the weighted share of the question's terms that are among these."""
        weights = self.given.question.weights
        return sum([weight for term, weight in weights.items() if term in terms])

    def _matches(self, terms: Set[int]) -> bool:
        """Whether a text with these terms has one of the question's, or needs none."""
        return self.given.translated or not terms.isdisjoint(self.given.question.weights)

    def _unit_score(
        self, own: frozenset[int], around: tuple[Set[int], ...], definition: float
    ) -> float:
        weights = self.given.question.weights
        covered = sum(weight * _share(term, own, around) for term, weight in weights.items())
        return covered + DEFINITION * definition

    def _paragraph_definitions(self, terms: Sequence[frozenset[int]]) -> list[float]:
        """Return for each paragraph how well its best unit defines the term."""
        best = [0.0] * len(terms)
        asked = self.given.question.definition
        if asked and Rule.DEFINITION in self.rules:
            places = [at for at, own in enumerate(terms) if asked <= own or self._marks(at)]
            units = self.given.units(places)
            for unit, value in zip(units, self.definitions(units), strict=True):
                best[unit.passage] = max(best[unit.passage], value)
        return best

    def definitions(self, units: Sequence[Unit]) -> list[float]:
        """Return for each unit how well it defines the term of a definition question, 0 to 1.2.

        Only glossary entries with the best term match score count, because different terms may have
        the same stem: hybrid and hybridization.
        """
        if not self.given.question.definition or Rule.DEFINITION not in self.rules:
            return [0.0] * len(units)
        marked = {at: self._marks(at) for at in {unit.passage for unit in units}}
        found = [self._definition(unit, marked=marked[unit.passage]) for unit in units]
        scores = self._entry_scores(units, found)
        best = max(scores.values(), default=0)
        return [0.0 if scores.get(at, best) < best else value for at, value in enumerate(found)]

    def _entry_scores(self, units: Sequence[Unit], found: Sequence[float]) -> dict[int, int]:
        """Return the term match score of each unit that is a defining glossary entry."""
        name = self.given.question.definition_name
        return {
            at: _best_match(self._passage(unit), name)
            for at, unit in enumerate(units)
            if found[at] and unit.kind is BlockKind.GLOSSARY_ENTRY
        }

    def _passage(self, unit: Unit) -> Passage:
        return self.given.context[unit.passage].passage

    def _marks(self, at: int) -> bool:
        """Whether the paragraph marks the term as defined there."""
        question = self.given.question
        return defines(self.given.context[at].passage, question.definition, question.terms)

    def _definition(self, unit: Unit, *, marked: bool) -> float:
        asked, terms = self.given.question.definition, self.given.question.terms
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
    shares = zip((PREVIOUS, HEADING, PASSAGE), around, strict=True)
    return max([share for share, terms in shares if term in terms], default=0.0)
