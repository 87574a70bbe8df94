"""Extractive answers: the best passages for a question, with the answering units marked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.domain.answer import AnswerPassage
from app.domain.answering.passage_text import passage_of, passages_text
from app.domain.answering.passages import ChosenPassage, PassageSelector
from app.domain.answering.relevance import Relevance, ScoredParagraph, ScoredUnit
from app.domain.answering.units import Unit, whole_unit
from app.domain.document import Span
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import joined_words

LEAST_GAP = 4.0
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
    context, paragraphs = relevance.context, relevance.paragraphs()
    ranked = _ranked(paragraphs)
    chosen = _chosen(context, paragraphs, ranked, read) or _chosen(context, paragraphs, ranked)
    if not chosen:
        return ExtractiveAnswer("", ())
    scored = [
        _unread([one for part in parts for one in paragraphs[part.passage].units], read)
        for parts in chosen
    ]
    least = max(one.score for one in scored[0]) - MARKED_GAP
    marked = [
        tuple(one.unit for one in found if one.score >= least and relevance.answers(one))
        for found in scored
    ]
    return answer_of([*map(ChosenPassage, chosen, marked)], context)


def _unread(scored: Sequence[ScoredUnit], read: str) -> Sequence[ScoredUnit]:
    """Return the units that `read` does not contain; all if it contains each."""
    if not read:
        return scored
    told = joined_words(read)
    return [one for one in scored if joined_words(one.unit.text) not in told] or scored


def _chosen(
    context: Sequence[ContextPassage],
    paragraphs: Sequence[ScoredParagraph],
    ranked: Sequence[int],
    read: str = "",
) -> list[tuple[Unit, ...]]:
    selector = PassageSelector(context, paragraphs, read)
    for at in ranked:
        if paragraphs[at].score >= paragraphs[ranked[0]].score - LEAST_GAP:
            selector.take(at)
    return selector.passages()


def _ranked(paragraphs: Sequence[ScoredParagraph]) -> list[int]:
    """Return the positions of the paragraphs that answer, best first."""
    answering = [at for at, one in enumerate(paragraphs) if one.answers]
    return sorted(answering, key=lambda at: (-paragraphs[at].score, at))


def whole(context: Sequence[ContextPassage], paragraph_ids: Collection[str]) -> ExtractiveAnswer:
    """Return these paragraphs as passages, with all of their text marked."""
    parts = [
        whole_unit(at, one)
        for at, one in enumerate(context)
        if one.passage.paragraph_id in paragraph_ids
    ]
    return answer_of([ChosenPassage((part,), (part,)) for part in parts], context)


def answer_of(
    chosen: Sequence[ChosenPassage], context: Sequence[ContextPassage], *, titled: bool = False
) -> ExtractiveAnswer:
    """Return these passages as an answer, in whose text each may have its heading above it."""
    text, claims = passages_text(chosen, context, titled=titled)
    return ExtractiveAnswer(text, claims, tuple(passage_of(one, context) for one in chosen))
