"""How well a unit of the book answers a question.

score = coverage + HIT * (the passage's retrieval score / the best one) + DEFINITION * definition
    + LIKENESS * cosine of question and unit, by the local model

Coverage is the weighted share of the question's terms: a term in the unit counts whole, in the
unit before it or in the headings above it PREVIOUS or HEADING, elsewhere in the passage PASSAGE.
The weights were chosen on the dev sets by `scripts/bench/extraction.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from app.domain.answering.asked import Asked
from app.domain.answering.definitions import (
    EXPLAINED_ELSEWHERE,
    SAYS_SOMETHING,
    SAYS_WHAT_IT_IS,
    defines,
    is_called,
    is_named,
    says_what_it_does,
    speaks_of,
)
from app.domain.answering.listings import is_result
from app.domain.answering.names import Name, mentions, term_match_score
from app.domain.answering.rules import ALL_RULES, Rule
from app.domain.answering.units import Unit, adjoin, begins_entry
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import Terms

HIT = 0.4
LIKENESS = 0.5
"""Half of it where the question is for a term: its place is known better."""
DEFINITION = 1.0
PREVIOUS = 0.5
HEADING = 0.5
PASSAGE = 0.3
NAMED = 0.6
"""How far the first sentence under a heading that is just the term defines it without its name."""
NAMED_ABOVE = 0.5
"""Share of the question that the headings must have where no text has any of it."""
CALLED = 0.5
"""How far a sentence that says "this is called so" defines it, where none defines it better."""
DOES = 0.5
"""How far a sentence that says what a thing does defines it, where that is asked."""
OTHER_FORM = 0.5
"""Factor for a sentence that defines another word of the term's stem, where one does it itself."""
OPENING = 0.5
"""How far a paragraph's first sentence defines what is its subject and no more."""
WANTED_KIND = 0.3
"""Added to code and tables that are asked for, taken from those that are not."""
UNWANTED_CODE = 0.6
"""Taken from code that is not asked for, and from what a program prints."""

_LANGUAGE_NAMES = {"js": "javascript", "jsx": "javascript", "py": "python", "rs": "rust"}
_POINTS_ELSEWHERE = re.compile(
    r"\[link\]|\((?:see )?(?:figure|fig\.|table|chapter|section|listing)\b"
    r"|\b(?:in this (?:chapter|section)|by the end of this|you will learn"
    r"|(?:next|previous|following)(?: \w+)? (?:chapter|section)s?)\b",
    re.IGNORECASE,
)
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|listing)\s+\d[\d.-]*:|.*\(credit\b"
    r"|(?:\w+ )?(?:photo|picture|diagram|illustration|screenshot|qr code)s? (?:shows?|represent)",
    re.IGNORECASE | re.DOTALL,
)
_SHOWS_ELSEWHERE = re.compile(
    r"(?:the code in |now )?(?:listing|figure|fig\.|table)\s+\d[\d.-]*\b", re.IGNORECASE
)
_SETS_OUT = re.compile(
    r"\W*(?:(?:now|first|next|here|so|finally),? )?(?:let(?:['\u2019]s| us)"
    r"|we(?:['\u2019]ll| will| shall) (?:now |first |next )?"
    r"(?:see|look|discuss|explore|cover|examine|compute|show|learn|consider))\b",
    re.IGNORECASE,
)
"""A sentence that says what comes, and not what is so."""
_PREVIEWS = re.compile(
    r"\b(?:by the end of this|you (?:will|should) (?:be able|learn)"
    r"|learning (?:objectives|outcomes)|(?:in|after) this (?:chapter|section|lesson|page)"
    r"|we.ll (?:cover|discuss|learn))\b.*:\s*$",
    re.IGNORECASE | re.DOTALL,
)
_TO_LEARN = re.compile(
    r"(?:describe|explain|list|identify|compare|discuss|name|define|summarize|distinguish|outline"
    r"|recognize|state|relate|differentiate|illustrate|understand|analyze|interpret|predict"
    r"|evaluate|demonstrate|classify|contrast|characterize)\b",
    re.IGNORECASE,
)
_WORKED_OUT = re.compile(r"=\s*-?\d[\d.,]*\s*(?:[\\&$]|$)")
"""A formula with its numbers put in."""
_ENUMERATES = re.compile(
    r"(?:\w[^,;.!?:]{0,60}, ){2,}(?:\w[^,;.!?:]{0,60} )?(?:and|or|y|o|und|oder|et|ou|e) \w"
)
_SAYS_WHAT_FOR = re.compile(
    r"\W*(?:first, |then, )?(?:in order to|to|para|um|pour|per)\s+(?P<what>(?:[\w'-]+\s*){1,4})",
    re.IGNORECASE,
)
_WEB_ADDRESS = re.compile(r"https?://")
_KIND_FACTOR = {BlockKind.REFERENCE: 0.5, BlockKind.FIGURE: 0.35}
_SHORT_BUT_WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.GLOSSARY_ENTRY})
_LOG_OF_CHANGES = re.compile(
    r"(?:\w+ )?(?:change ?log|release(?: notes?|s))|what['\u2019]?s new|unreleased"
    # a version and its date: "1.9.0 (October 18, 2026)", "v2.1 - 2026-10-18"
    r"|v?\d{1,6}(?:\.\d{1,6}){1,4}\w{0,9}\s*[-\u2013\u2014(|]"
    r"\s*(?=.*\b(?:19|20)\d\d\b)[\w ,./-]{4,24}\)?",
    re.IGNORECASE,
)
CHANGE = 0.5
"""Factor for an entry of a log of changes, where it is not asked what changed."""
PREVIEW = 0.4
"""Factor for a list that says what will be learnt, and not what is so."""
ENUMERATION = 0.12
"""Added where several things are asked for and a sentence names three or more."""
INSTRUCTION = 0.25
"""Added where it is asked how something is done to a sentence that begins with that: "To ..."."""
TYPE = 0.12
"""Added where a number or a time is asked for and the unit has one."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores the units of one context for one question."""

    asked: Asked
    context: Sequence[ContextPassage]
    terms: Terms
    rules: Set[Rule] = ALL_RULES

    def scores(self, units: Sequence[Unit], likeness: Sequence[float]) -> list[float]:
        """One score a unit, in order; 0 for those that have nothing of the question."""
        best = max((one.score for one in self.context), default=0.0) or 1.0
        headings = [self.terms(" ".join(one.passage.heading_path)) for one in self.context]
        owns = [self.terms(unit.text) for unit in units]
        held: dict[int, set[int]] = {}
        for unit, own in zip(units, owns, strict=True):
            held.setdefault(unit.passage, set()).update(own)
        rules = self.rules
        previews = self._previews(units) if Rule.PREVIEW in rules else set()
        changes = self._changes() if Rule.CHANGES in rules else set()
        likely = LIKENESS / 2 if self.asked.defined else LIKENESS
        likely *= Rule.SIMILARITY in rules
        found = HIT * (Rule.RETRIEVAL in rules)
        scores: list[float] = []
        previous = -1
        before: frozenset[int] = frozenset()
        results = self._results(units)
        defining, other = self.definitions(units, self.asked.defined, self.asked.name)
        if Rule.DEFINITION not in rules:
            defining, other = [0.0] * len(units), set()
        every = zip(units, owns, likeness, strict=True)
        for at, (unit, own, like) in enumerate(every):
            if unit.passage != previous:
                before = frozenset()
            around = (before, headings[unit.passage], held[unit.passage])
            # What a log of changes lists says of which release it is in the heading alone.
            logged = unit.passage in changes
            said = own | headings[unit.passage] if logged and self.asked.change else own
            score = self._score(unit, said, around, defining[at], at in results)
            if score:
                score += found * self.context[unit.passage].score / best + likely * like
            score *= PREVIEW if unit.passage in previews else 1.0
            score *= CHANGE if logged and not self.asked.change else 1.0
            score *= OTHER_FORM if at in other else 1.0
            score *= _form(unit, own) if Rule.FORM in rules else 1.0
            scores.append(max(0.0, score))
            previous, before = unit.passage, own
        return scores if any(scores) else self._under_headings(units, headings)

    def _under_headings(
        self, units: Sequence[Unit], headings: Sequence[frozenset[int]]
    ) -> list[float]:
        """One score a unit where none has a word of the question: that of how much the headings
        have, if it is enough, for what a paragraph begins with.
        """
        shares = [
            sum(weight for term, weight in self.asked.weights.items() if term in heading)
            for heading in headings
        ]
        return [
            shares[unit.passage] if unit.start == 0 and shares[unit.passage] >= NAMED_ABOVE else 0.0
            for unit in units
        ]

    def _changes(self) -> set[int]:
        """Positions of what stands in a log of changes."""
        return {
            at
            for at, one in enumerate(self.context)
            if any(
                _LOG_OF_CHANGES.fullmatch(name)
                for name in (_page_name(one.file), *one.passage.heading_path)
            )
        }

    def _previews(self, units: Sequence[Unit]) -> set[int]:
        """Positions of the lists that say what will be learnt."""
        items: dict[int, list[str]] = {}
        for unit in units:
            if unit.kind is BlockKind.LIST:
                items.setdefault(unit.passage, []).append(unit.text)
        return {
            at
            for at, texts in items.items()
            if (at and _PREVIEWS.search(self.context[at - 1].passage.text))
            or (len(texts) > 1 and all(map(_TO_LEARN.match, texts)))
        }

    def _results(self, units: Sequence[Unit]) -> set[int]:
        """Positions of the listings that show what comes of a program or a command."""
        found = set()
        for at, unit in enumerate(units):
            if unit.kind is BlockKind.CODE:
                led = at and adjoin(self.context, units[at - 1].passage, unit.passage)
                language = self.context[unit.passage].passage.language.lower()
                if is_result(unit.text, language, units[at - 1] if led else None):
                    found.add(at)
        return found

    def _score(
        self,
        unit: Unit,
        own: frozenset[int],
        around: tuple[Set[int], ...],
        definition: float,
        shows_result: bool,
    ) -> float:
        if not definition and own.isdisjoint(self.asked.weights):
            return 0.0
        covered = sum(
            weight * _share(term, own, around) for term, weight in self.asked.weights.items()
        )
        if Rule.SMALL not in self.rules:
            return covered + DEFINITION * definition + self._kind_bonus(unit, shows_result)
        typed = TYPE if self.asked.type and self.asked.type.search(unit.text) else 0.0
        if self.asked.several and enumerates(unit.text):
            typed += ENUMERATION
        if self.asked.to_do and self._instructs(unit):
            typed += INSTRUCTION
        return covered + DEFINITION * definition + self._kind_bonus(unit, shows_result) + typed

    def _instructs(self, unit: Unit) -> bool:
        begins = _SAYS_WHAT_FOR.match(unit.text)
        return bool(begins and self.terms(begins["what"]) & self.asked.weights.keys())

    def _kind_bonus(self, unit: Unit, shows_result: bool) -> float:
        if Rule.KIND not in self.rules:
            return 0.0
        if unit.kind is BlockKind.CODE:
            if shows_result and not self.asked.result:
                return -UNWANTED_CODE
            written_in = self.context[unit.passage].passage.language.lower()
            named = _LANGUAGE_NAMES.get(written_in, written_in) in self.asked.code_languages
            return WANTED_KIND if self.asked.code or named else -UNWANTED_CODE
        if unit.kind is BlockKind.TABLE:
            return WANTED_KIND if self.asked.table else -WANTED_KIND
        if unit.kind is BlockKind.MATH and self.asked.formula:
            return 0.0 if _WORKED_OUT.search(unit.text) else WANTED_KIND
        return 0.0

    def definitions(
        self, units: Sequence[Unit], asked: frozenset[int], name: Name
    ) -> tuple[list[float], set[int]]:
        """How far each unit says what this term is, from 0 to 1.2; positions of those that say it
        of another word of its stem, hybridization for hybrid, while one says it of the term itself.

        Of entries of the glossary only the nearest define it.
        """
        found = [self._definition(unit, self.terms(unit.text), asked) for unit in units]
        if asked and max(found, default=0.0) < CALLED:
            found = [
                max(value, CALLED * is_called(asked, unit.text, self.terms))
                for value, unit in zip(found, units, strict=True)
            ]
        named = {at: self._named(units[at], asked, name) for at, value in enumerate(found) if value}
        entries = {at for at in named if units[at].kind is BlockKind.GLOSSARY_ENTRY}
        nearest = max((named[at] for at in entries), default=0)
        for at in entries:
            found[at] *= named[at] == nearest
        other = {at for at, value in named.items() if not value} - entries
        return found, other if any(named.values()) else set()

    def _named(self, unit: Unit, asked: frozenset[int], name: Name) -> int:
        """How much it names the term as it was asked for, or not at all, from 0 to 2."""
        if unit.kind is BlockKind.GLOSSARY_ENTRY:
            marked = self.context[unit.passage].passage.terms
            return max((term_match_score(term, name) for term in marked), default=0)
        unnamed = not asked <= self.terms(unit.text)
        return int(unnamed or mentions(unit.text, name))

    def _definition(self, unit: Unit, own: frozenset[int], asked: frozenset[int]) -> float:
        if not asked:
            return 0.0
        passage = self.context[unit.passage].passage
        marked = defines(passage, asked, self.terms)
        if marked and begins_entry(unit, passage):
            return 1.2
        says = speaks_of(asked, unit.text, SAYS_SOMETHING, self.terms)
        unnamed = unit.start == 0 and not asked <= own
        opens = unnamed and self._opens_section_of(unit.passage, asked)
        return max(
            NAMED if opens else 0.0,
            (1.0 if marked else 0.75) * speaks_of(asked, unit.text, SAYS_WHAT_IT_IS, self.terms),
            (0.75 if marked else OPENING if says == 1.0 and unit.start == 0 else 0.2) * says,
            0.65 if marked and asked <= own else 0.0,
            DOES if self.asked.does and says_what_it_does(asked, unit.text, self.terms) else 0.0,
        )

    def _opens_section_of(self, at: int, asked: frozenset[int]) -> bool:
        """Whether it is the first prose of a section whose heading is just the term."""
        one = self.context[at]
        path = one.passage.heading_path
        if one.passage.kind is not BlockKind.PARAGRAPH or not is_named(path, asked, self.terms):
            return False
        told = (earlier for earlier in self.context[:at] if earlier.file == one.file)
        return not any(
            earlier.passage.heading_path == path and earlier.passage.kind is not BlockKind.HEADING
            for earlier in told
        )


def enumerates(text: str) -> bool:
    """Whether it names three things or more."""
    return _ENUMERATES.search(text) is not None


def _page_name(file: str) -> str:
    name = file.rpartition("/")[2].partition(".")[0]
    return name.replace("-", " ").replace("_", " ")


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
    if len(own) < 4 and unit.kind not in _SHORT_BUT_WHOLE:
        factor *= 0.7
    if _CAPTION.match(unit.text):
        factor *= 0.5
    if _SHOWS_ELSEWHERE.match(unit.text):
        factor *= 0.7
    if _SETS_OUT.match(unit.text):
        factor *= 0.75
    if EXPLAINED_ELSEWHERE.search(unit.text):
        factor *= 0.6
    elif _POINTS_ELSEWHERE.search(unit.text):
        factor *= 0.85
    if unit.kind is BlockKind.LIST:
        factor *= 0.6 if _WEB_ADDRESS.search(unit.text) else 1.0
        factor *= 0.8 if unit.text[:1].islower() else 1.0
    return factor
