"""How well a unit of the book answers a question.

score = coverage + HIT * (the passage's retrieval score / the best one) + DEFINITION * definition

Coverage is the weighted share of the question's terms: a term in the unit counts whole, in the
unit before it or in the headings above it PREVIOUS or HEADING, elsewhere in the passage PASSAGE.
The weights were chosen on the dev sets by `scripts/bench/extraction.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from app.domain.answering.definitions import (
    SAYS_SOMETHING,
    SAYS_WHAT_IT_IS,
    defined_terms,
    defines,
    speaks_of,
)
from app.domain.answering.terms import Terms, words
from app.domain.answering.units import Unit
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage

HIT = 0.4
DEFINITION = 1.0
PREVIOUS = 0.5
HEADING = 0.5
PASSAGE = 0.3
WANTED_KIND = 0.3
"""Added to code and tables that are asked for, taken from those that are not."""

_ASKS_CODE = re.compile(
    r"\b(?:code|snippet|listing|syntax|program|command|example)s?\b|```"
    r"|\bhow (?:do|can) (?:i|you|we) (?:write|declare|define|implement|create|call)\b",
    re.IGNORECASE,
)
_ASKS_TO_DO = re.compile(
    r"\bhow (?:to|(?:do|can|could|should|would) (?:i|you|we|one))\b", re.IGNORECASE
)
_LANGUAGE_NAMES = {"js": "javascript", "jsx": "javascript", "py": "python", "rs": "rust"}
_ASKS_TABLE = re.compile(r"\b(?:tables?|compare[ds]?|comparison|versus|vs)\b", re.IGNORECASE)
_ASKS_LIST = re.compile(
    r"\b(?:steps?|stages?|phases?|types?|kinds?|list|name|which|what are|how (?:do|does|can|to)"
    r"|rules?|principles?|advantages?|reasons?|parts?)\b",
    re.IGNORECASE,
)
_POINTS_ELSEWHERE = re.compile(
    r"\((?:see )?(?:figure|fig\.|table|chapter|section|listing)\b|\b(?:in this (?:chapter|section)|"
    r"by the end of this|you will learn|next (?:chapter|section)|previous (?:chapter|section))\b",
    re.IGNORECASE,
)
_KIND_FACTOR = {BlockKind.REFERENCE: 0.5, BlockKind.FIGURE: 0.8}


@dataclass(frozen=True, slots=True)
class Asked:
    """The question, taken apart."""

    weights: Mapping[int, float]
    """Term to its share of the question; the shares add up to 1."""
    defined: frozenset[int]
    """The terms of X in "what is X?", else empty."""
    code: bool
    code_languages: frozenset[str]
    """Words of a how-to question, among them the language that its code should be in."""
    table: bool
    list: bool

    @classmethod
    def of(cls, question: str, weights: Mapping[int, float], terms: Terms) -> Asked:
        """`weights` are of all its terms, in any unit."""
        total = sum(weights.values()) or 1.0
        return cls(
            weights={term: weight / total for term, weight in weights.items()},
            defined=defined_terms(question, terms),
            code=bool(_ASKS_CODE.search(question)),
            code_languages=frozenset(words(question) if _ASKS_TO_DO.search(question) else ()),
            table=bool(_ASKS_TABLE.search(question)),
            list=bool(_ASKS_LIST.search(question)),
        )


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores the units of one context for one question."""

    asked: Asked
    context: Sequence[ContextPassage]
    terms: Terms

    def scores(self, units: Sequence[Unit]) -> list[float]:
        """One score a unit, in order; 0 for those that have nothing of the question."""
        best = max((one.score for one in self.context), default=0.0) or 1.0
        headings = [self.terms(" ".join(one.passage.heading_path)) for one in self.context]
        owns = [self.terms(unit.text) for unit in units]
        held: dict[int, set[int]] = {}
        for unit, own in zip(units, owns, strict=True):
            held.setdefault(unit.passage, set()).update(own)
        scores: list[float] = []
        previous = -1
        before: frozenset[int] = frozenset()
        for unit, own in zip(units, owns, strict=True):
            if unit.passage != previous:
                before = frozenset()
            score = self._score(unit, own, (before, headings[unit.passage], held[unit.passage]))
            if score:
                score += HIT * self.context[unit.passage].score / best
            scores.append(score * _form(unit, own))
            previous, before = unit.passage, own
        return scores

    def _score(self, unit: Unit, own: frozenset[int], around: tuple[Set[int], ...]) -> float:
        definition = self._definition(unit, own)
        if not definition and own.isdisjoint(self.asked.weights):
            return 0.0
        covered = sum(
            weight * _share(term, own, around) for term, weight in self.asked.weights.items()
        )
        return covered + DEFINITION * definition + self._kind_bonus(unit)

    def _kind_bonus(self, unit: Unit) -> float:
        if unit.kind is BlockKind.CODE:
            written_in = self.context[unit.passage].passage.language.lower()
            named = _LANGUAGE_NAMES.get(written_in, written_in) in self.asked.code_languages
            return WANTED_KIND if self.asked.code or named else -WANTED_KIND
        if unit.kind is BlockKind.TABLE:
            return WANTED_KIND if self.asked.table else -WANTED_KIND
        return 0.0

    def _definition(self, unit: Unit, own: frozenset[int]) -> float:
        """How far the unit says what the term asked for is, from 0 to 1.2."""
        asked = self.asked.defined
        if not asked:
            return 0.0
        passage = self.context[unit.passage].passage
        marked = defines(passage, asked, self.terms)
        if marked and passage.kind is BlockKind.GLOSSARY_ENTRY:
            return 1.2
        return max(
            (1.0 if marked else 0.75) * speaks_of(asked, unit.text, SAYS_WHAT_IT_IS, self.terms),
            (0.75 if marked else 0.2) * speaks_of(asked, unit.text, SAYS_SOMETHING, self.terms),
            0.65 if marked and asked <= own else 0.0,
        )


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


def _form(unit: Unit, own: frozenset[int]) -> float:
    """Factor under 1 for units that tell little when they stand alone."""
    factor = _KIND_FACTOR.get(unit.kind, 1.0)
    if unit.text.rstrip().endswith("?"):
        factor *= 0.5
    if len(own) < 4 and unit.kind not in (BlockKind.CODE, BlockKind.TABLE):
        factor *= 0.7
    if _POINTS_ELSEWHERE.search(unit.text):
        factor *= 0.85
    return factor
