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
from math import log1p
from operator import mul
from typing import NamedTuple

from app.domain.answering.definitions import (
    DEFINING_VERB,
    defines,
    in_other_form,
    subject_match,
    term_match_score,
)
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.forms import has_quantity
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
from app.domain.retrieval.definition_terms import heading_forms
from app.domain.word_count import word_count


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
    """Cosine of question and paragraph by the local model, -1 to 1, or the score of a model that
    reads both; 0 if unknown."""
    unit_similarity: float
    """Cosine of question and unit, read with its section's title and its lead-in, by the local
    model, -1 to 1; 0 if unknown."""
    definition: float
    """How well the unit defines the term that the question asks for, 0 to 1.2."""
    form: float
    """1 if the question wants a block of this kind: "which types" a list or table."""
    quantity: float
    """1 if the question asks how much or when and the unit has a number."""
    size: float
    """Logarithm of the paragraph's number of words, divided by `_LONG`'s."""
    caption: float
    """1 for the text of a figure."""


WEIGHTS = Features(
    retrieval=5.61,
    coverage=0.49,
    context=2.75,
    similarity=1.11,
    unit_similarity=2.07,
    definition=3.61,
    form=1.76,
    quantity=0.11,
    size=0.92,
    caption=-1.45,
)

_ENTRY, _MARKED, _BELOW_HEADING = 1.2, 0.65, 0.3
"""Definition scores of a glossary entry, of a paragraph that marks the term, and of the first
paragraph below a heading that is the term."""
_SENTENCE = 0.75
"""Factor on the score of a sentence in a paragraph that does not mark the term."""
_OTHER_FORM = 0.5
"""Factor if the sentence has only another word of the same stem: "tokenization" for
"tokenizer"."""


_LISTING = 0.5
"""Factor on the terms of a listing if the question asks for no code. Of the students' 113
development questions one more shows the key facts with it."""
_LONG = 120
"""Words of a paragraph of size 1."""
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
    similarities: Sequence[float] = ()
    """Of the question and each paragraph; () if unknown."""
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
        definitions = iter(self.definitions(units))
        for at, group in groupby(units, key=lambda unit: unit.passage):
            scored[at] = tuple(self._scored(at, [*group], definitions))
        return [
            ScoredParagraph(
                shown,
                any(map(self.answers, scored[at])) and not is_caption(one.passage),
                scored[at],
            )
            for at, (one, shown) in enumerate(zip(self.given.context, quotable, strict=True))
        ]

    def _scored(
        self, at: int, units: Sequence[Unit], definitions: Iterator[float]
    ) -> Iterator[ScoredUnit]:
        """Score the units of a paragraph."""
        passage, question = self.given.context[at].passage, self.given.question
        said_before = self._lead_in(at)
        lead_in = question.terms(said_before)
        around = question.terms(passage.text) | lead_in
        around |= question.terms(" ".join(passage.heading_path))
        unasked = passage.kind is BlockKind.CODE and BlockKind.CODE not in question.asked_kinds
        evidence = _LISTING if unasked else 1.0
        retrieval, context = self._retrieval(at), evidence * self._weight(around)
        for unit in units:
            features = Features(
                retrieval=retrieval,
                coverage=evidence * self._weight(question.terms(unit.text) | lead_in),
                context=context,
                similarity=self.similarities[at] if self.similarities else 0.0,
                unit_similarity=self.cosines.get(self._compared(unit, said_before), 0.0),
                definition=next(definitions),
                form=float(passage.kind in question.asked_kinds),
                quantity=float(question.asks_quantity and has_quantity(unit.text)),
                size=log1p(word_count(passage.text)) / log1p(_LONG),
                caption=float(passage.kind is BlockKind.FIGURE),
            )
            yield ScoredUnit(unit, features, self.score(features))

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

    def definitions(self, units: Sequence[Unit]) -> list[float]:
        """Return for each unit how well it defines the term of a definition question, 0 to 1.2.

        Only glossary entries with the best term match score count, because different terms may have
        the same stem: hybrid and hybridization.
        """
        if not self.given.question.definition:
            return [0.0] * len(units)
        marked = self._marking({unit.passage for unit in units})
        found = [self._definition(unit, marked=unit.passage in marked) for unit in units]
        scores = self._entry_scores(units, found)
        best = max(scores.values(), default=0)
        return [0.0 if scores.get(at, best) < best else value for at, value in enumerate(found)]

    def _entry_scores(self, units: Sequence[Unit], found: Sequence[float]) -> dict[int, int]:
        """Return the term match score of each unit that is a defining glossary entry."""
        return {
            at: self._best_match(self._passage(unit))
            for at, unit in enumerate(units)
            if found[at] and unit.kind is BlockKind.GLOSSARY_ENTRY
        }

    def _best_match(self, entry: Passage) -> int:
        name = self.given.question.definition_name
        return max((term_match_score(term, name) for term in entry.terms), default=0)

    def _passage(self, unit: Unit) -> Passage:
        return self.given.context[unit.passage].passage

    def _marking(self, places: Set[int]) -> Set[int]:
        """Return which paragraphs mark the term as defined there: of each file the first one.

        Authors who emphasise a term at each use define it at the first.
        """
        question, context = self.given.question, self.given.context
        marking = [
            at for at in places if defines(context[at].passage, question.definition, question.terms)
        ]
        first: dict[str, int] = {}
        for at in sorted(marking, key=lambda at: context[at].passage.start):
            first.setdefault(context[at].file, at)
        entries = (at for at in marking if context[at].passage.kind is BlockKind.GLOSSARY_ENTRY)
        return {*first.values(), *entries}

    def _definition(self, unit: Unit, *, marked: bool) -> float:
        question, passage = self.given.question, self._passage(unit)
        if marked and begins_entry(unit, passage):
            return _ENTRY
        opens = self._opens(unit.passage)
        below = _BELOW_HEADING * (opens and unit.start == 0)
        if not question.definition <= question.terms(unit.text):
            return below
        defining = subject_match(question.definition, unit.text, DEFINING_VERB, question.terms)
        english = question.language == "en"
        if english and in_other_form(question.definition_name, unit.text):
            defining *= _OTHER_FORM
        if marked:
            return max(defining, _MARKED)
        return max(below, defining if opens else _SENTENCE * defining)

    def _opens(self, at: int) -> bool:
        """Whether the paragraph is the first one found below a heading that is the term."""
        context, question = self.given.context, self.given.question
        path = context[at].passage.heading_path
        if at and context[at - 1].passage.heading_path == path:
            return False
        return any(
            question.terms(form) == question.definition
            for heading in path[-1:]
            for form in heading_forms(heading)
        )
