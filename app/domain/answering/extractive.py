"""Extractive answers: the best passages for a question, with the answering units marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.domain.answer import AnswerPassage
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.passage_text import passage_of, passages_text
from app.domain.answering.passages import ChosenPassage, PassageSelector
from app.domain.answering.relevance import MARKED, Relevance, ScoredParagraph
from app.domain.answering.units import Unit, whole_unit
from app.domain.document import BlockKind, Span
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import words

T = TypeVar("T")

COMPARING = 3
"""Paragraphs among which a comparison is looked for."""
LEAST_GAP = 5.0
"""How much lower than the best paragraph's score that of a further passage may be."""
MARKED_GAP = 0.4
"""How much lower than the best unit's score that of a marked unit may be."""


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    """`passages` are shown to the reader; `text` is made of them, or of parts of them.

    `text[start:end]` of each claim, which is cited, is its unit, verbatim except for the mark-up of
    a table. What is beside it is from the same paragraph.
    """

    text: str
    claims: tuple[tuple[Span, Unit], ...]
    passages: tuple[AnswerPassage, ...] = ()


def extract(relevance: Relevance, read: str = "") -> ExtractiveAnswer:
    """Quote the best passages, best first; none if no paragraph answers.

    Text contained in `read`, the text that the reader asks about, is left out unless there is no
    other.
    """
    given, paragraphs = relevance.given, relevance.paragraphs()
    selector = PassageSelector(given.context, paragraphs)
    ranked = _unread(_ranked(paragraphs), lambda at: given.context[at].passage.text, read)
    least = paragraphs[ranked[0]].score - LEAST_GAP if ranked else 0.0
    ranked = _with_definitions(ranked, paragraphs, relevance)
    for at in ranked:
        if paragraphs[at].score >= least:
            selector.take(at)
    if not selector.ranges:
        return ExtractiveAnswer("", ())
    first, last = selector.ranges[0]
    least = max(one.score for one in paragraphs[first : last + 1]) - MARKED_GAP
    chosen = []
    for first, last in selector.ranges:
        units = [one for paragraph in paragraphs[first : last + 1] for one in paragraph.units]
        marked = _unread(units, lambda one: one.unit.text, read)
        chosen.append(
            ChosenPassage(
                tuple(map(selector.part_of, range(first, last + 1))),
                tuple(one.unit for one in marked if one.score >= least and relevance.answers(one)),
            )
        )
    return _answer(chosen, given.context)


def paragraphs_to_read(given: ExtractionInput) -> list[ContextPassage]:
    """Return the paragraphs that answer, best first, without exercises and solutions."""
    return [given.context[at] for at in _ranked(Relevance(given).paragraphs())]


def _ranked(paragraphs: Sequence[ScoredParagraph]) -> list[int]:
    """Return the positions of the paragraphs that answer, best first."""
    answering = [at for at, one in enumerate(paragraphs) if one.answers]
    return sorted(answering, key=lambda at: (-paragraphs[at].score, at))


def _with_definitions(
    ranked: Sequence[int], paragraphs: Sequence[ScoredParagraph], relevance: Relevance
) -> list[int]:
    """Return the ranking; for a comparison that the book does not make, with a definition of each
    of the compared things behind the best paragraph.

    The book makes it if a unit of one of the best `COMPARING` paragraphs has all of them, and is no
    glossary entry: that of one thing may name another.
    """
    question = relevance.given.question
    every = frozenset[int]().union(*question.compared)
    best = [
        one.unit
        for at in ranked[:COMPARING]
        if relevance.given.context[at].passage.kind is not BlockKind.GLOSSARY_ENTRY
        for one in paragraphs[at].units
    ]
    if not ranked or not every or any(every <= question.terms(unit.text) for unit in best):
        return [*ranked]

    def definition(at: int, asked: frozenset[int]) -> float:
        return max(relevance.definition(one.unit, asked) for one in paragraphs[at].units)

    found = [max(ranked, key=lambda at: definition(at, asked)) for asked in question.compared]
    defining = [
        at
        for at, asked in zip(found, question.compared, strict=True)
        if definition(at, asked) >= MARKED
    ]
    return [*dict.fromkeys((*ranked[:1], *defining, *ranked))]


def _unread(items: Sequence[T], text_of: Callable[[T], str], read: str) -> list[T]:
    """Return the items whose text is not part of `read`; all items if there are none."""
    if not read:
        return list(items)
    known = _same(read)
    return [item for item in items if _same(text_of(item)) not in known] or list(items)


def whole(context: Sequence[ContextPassage], paragraph_ids: Collection[str]) -> ExtractiveAnswer:
    """Return these paragraphs as passages, with all of their text marked."""
    parts = [
        whole_unit(at, one)
        for at, one in enumerate(context)
        if one.passage.paragraph_id in paragraph_ids
    ]
    return _answer([ChosenPassage((part,), (part,)) for part in parts], context)


def _answer(chosen: Sequence[ChosenPassage], context: Sequence[ContextPassage]) -> ExtractiveAnswer:
    text, claims = passages_text(chosen, context)
    return ExtractiveAnswer(text, claims, tuple(passage_of(one, context) for one in chosen))


def _same(text: str) -> str:
    return " ".join(words(text))
