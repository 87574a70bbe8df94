"""Extractive answers: the best passages for a question, with the answering sentences marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from app.domain.answer import AnswerPassage
from app.domain.answering.announcements import announced_units
from app.domain.answering.extraction_input import ALL_RULES, ExtractionInput, Rule
from app.domain.answering.passage_text import passage_of, quoted_text
from app.domain.answering.passages import ChosenPassage, PassageSelector
from app.domain.answering.relevance import Relevance, ScoredParagraph
from app.domain.answering.units import BLOCKS, WHOLE, Unit
from app.domain.document import BlockKind, Span
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import words

T = TypeVar("T")

LEAST_SHARE = 0.5
"""Minimum score of a further passage's paragraph, as a share of the best paragraph's score."""
MARKED_SHARE = 0.82
"""Minimum score of a marked unit, as a share of the score of the first passage's best unit."""
MARKED_RUN = 3
"""Maximum number of adjacent sentences marked in a paragraph."""
MARKED_WORDS = 120
"""Maximum number of words of a list that is marked whole."""

_SOLUTION_TITLE = re.compile(r"(?:solution|answer|lösung|solución)s?\W*\n+(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    """`passages` are shown to the reader; `text` is made of their marked sentences.

    `text[start:end]` of each claim is its unit, verbatim except for the rule below a table header.
    """

    text: str
    claims: tuple[tuple[Span, Unit], ...]
    passages: tuple[AnswerPassage, ...] = ()


def extract(
    given: ExtractionInput,
    similarities: Sequence[float] = (),
    rules: Set[Rule] = ALL_RULES,
    read: str = "",
) -> ExtractiveAnswer:
    """Quote at most three passages, best first; none if no paragraph answers.

    `similarities` are the cosines of the question and each paragraph of the context, -1 to 1, or ()
    if they are not known. Text contained in `read`, the text that the reader asks about, is left
    out unless there is no other.
    """
    relevance = Relevance(given, rules)
    paragraphs = relevance.paragraphs(similarities)
    selector = PassageSelector(given.context, paragraphs, grows=Rule.ANNOUNCEMENT in rules)
    ranked = _unread(_ranked(paragraphs), lambda at: given.context[at].passage.text, read)
    for at in ranked:
        if paragraphs[at].score >= LEAST_SHARE * paragraphs[ranked[0]].score:
            selector.take(at)
    if not selector.ranges:
        return ExtractiveAnswer("", ())
    marking = _marking(relevance, paragraphs, selector.ranges, read)
    least = MARKED_SHARE * marking.best(*selector.ranges[0])
    chosen = [
        ChosenPassage(first, last, marking.units(first, last, least))
        for first, last in selector.ranges
    ]
    return _answer(chosen, given.context)


def _marking(
    relevance: Relevance,
    paragraphs: Sequence[ScoredParagraph],
    ranges: Sequence[tuple[int, int]],
    read: str,
) -> _Marking:
    """Score the units of the paragraphs in these ranges.

    A paragraph in another language than the question has no terms of it, and is one unit.
    """
    given = relevance.given
    shown = sorted(at for first, last in ranges for at in range(first, last + 1))
    if given.translated:
        units = [whole_unit(at, given.context[at]) for at in shown]
    else:
        units = given.units(shown)
    units = _unread(units, lambda unit: unit.text, read)
    announced: Sequence[Sequence[int] | None] = [[]] * len(units)
    if Rule.ANNOUNCEMENT in relevance.rules and not given.translated:
        announced = announced_units(units, given.context)
    scores = [
        0.0 if follows is None else score
        for score, follows in zip(relevance.units(units, paragraphs), announced, strict=True)
    ]
    return _Marking(units, scores, announced)


def paragraphs_to_read(given: ExtractionInput) -> list[ContextPassage]:
    """Return the paragraphs that answer, best first, without exercises and solutions."""
    return [given.context[at] for at in _ranked(Relevance(given).paragraphs())]


def _ranked(paragraphs: Sequence[ScoredParagraph]) -> list[int]:
    """Return the positions of the paragraphs that answer, best first."""
    answering = [at for at, one in enumerate(paragraphs) if one.answers]
    return sorted(answering, key=lambda at: (-paragraphs[at].score, at))


def _unread(items: Sequence[T], text_of: Callable[[T], str], read: str) -> list[T]:
    """Return the items whose text is not part of `read`; all items if there are none."""
    if not read:
        return list(items)
    known = _same(read)
    return [item for item in items if _same(text_of(item)) not in known] or list(items)


def whole(context: Sequence[ContextPassage], paragraph_ids: Collection[str]) -> ExtractiveAnswer:
    """Return these paragraphs as passages, with all of their text marked."""
    chosen = [
        ChosenPassage(at, at, (whole_unit(at, one),))
        for at, one in enumerate(context)
        if one.passage.paragraph_id in paragraph_ids
    ]
    return _answer(chosen, context)


def _answer(chosen: Sequence[ChosenPassage], context: Sequence[ContextPassage]) -> ExtractiveAnswer:
    marked = {_same(unit.text): unit for one in reversed(chosen) for unit in reversed(one.marked)}
    text, claims = quoted_text([*reversed(marked.values())], context)
    return ExtractiveAnswer(text, claims, tuple(passage_of(one, context) for one in chosen))


def whole_unit(at: int, one: ContextPassage) -> Unit:
    """Return the paragraph as one unit, without a title such as "Solution"."""
    text = one.passage.text
    title = _SOLUTION_TITLE.match(text)
    start = title.end() if title else 0
    kind = one.passage.kind
    shown_as = BlockKind.PARAGRAPH if kind is BlockKind.LIST else kind
    return Unit(at, start, len(text), shown_as, text[start:])


@dataclass(frozen=True, slots=True)
class _Marking:
    """Chooses the sentences of a passage to mark."""

    found: Sequence[Unit]
    scores: Sequence[float]
    announced: Sequence[Sequence[int] | None]
    """The units that each unit announces; None if they are missing."""

    def best(self, first: int, last: int) -> float:
        """Return the highest score of a unit in `context[first:last + 1]`."""
        return max((self.scores[at] for at in self._within(first, last)), default=0.0)

    def units(self, first: int, last: int, least: float) -> tuple[Unit, ...]:
        """Return the marked units of `context[first:last + 1]`, in reading order.

        Empty if none has at least the score `least`.
        """
        within = self._within(first, last)
        marked: set[int] = set()
        for _, paragraph in groupby(within, key=lambda at: self.found[at].passage):
            marked |= self._run([*paragraph], least)
        for at in sorted(marked):
            marked.update(self.announced[at] or ())
        return tuple(self.found[at] for at in sorted(marked.intersection(within)))

    def _within(self, first: int, last: int) -> list[int]:
        """Return the positions of the units of these paragraphs."""
        return [at for at, unit in enumerate(self.found) if first <= unit.passage <= last]

    def _run(self, within: Sequence[int], least: float) -> set[int]:
        """Return the paragraph's best unit with adjacent units above `least`; lists whole."""
        best = max(within, key=lambda at: self.scores[at], default=None)
        if best is None or not self.scores[best] >= least > 0:
            return set()
        unit = self.found[best]
        if unit.kind is BlockKind.LIST:
            items = [at for at in within if self.found[at].kind is BlockKind.LIST]
            return self._with_lead_in(best, items, least)
        run = self._adjacent(best, within, least)
        return self._with_lead_in(best, run, least) if unit.kind in WHOLE else set(run)

    def _adjacent(self, best: int, within: Sequence[int], least: float) -> list[int]:
        """Return the best unit with the units after and before it that answer too."""
        run = [best]
        for step in (1, -1):
            at = best + step
            while at in within and len(run) < MARKED_RUN and self._answers(at, least):
                run.append(at)
                at += step
        return run

    def _answers(self, at: int, least: float) -> bool:
        return self.found[at].kind not in BLOCKS and self.scores[at] >= least

    def _with_lead_in(self, best: int, block: Sequence[int], least: float) -> set[int]:
        """Return the block with its lead-in; of a long list only the items that answer."""
        long = sum(self.found[at].size for at in block) > MARKED_WORDS
        marked = {*block}
        if long and self.found[best].kind is BlockKind.LIST:
            marked = {at for at in block if self.scores[at] >= least}
        lead = min(block) - 1
        if lead >= 0 and min(block) in (self.announced[lead] or ()):
            marked.add(lead)
        return marked


def _same(text: str) -> str:
    return " ".join(words(text))
