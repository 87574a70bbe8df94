"""Quoted units and passages as Markdown, with the spans of the units in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from app.domain.answer import AnswerPassage
from app.domain.answering.passages import ChosenPassage
from app.domain.answering.units import Unit, marker_before
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import fence_lines, with_rule
from app.domain.retrieval.query import ContextPassage


def quoted_text(
    chosen: Sequence[Unit], context: Sequence[ContextPassage]
) -> tuple[str, tuple[tuple[Span, Unit], ...]]:
    """Join units: adjacent sentences by a blank, others by an empty line.

    Returns the text and the span of each unit in it. A unit's text is verbatim, except for the rule
    below a table's header.
    """
    text = ""
    claims: list[tuple[Span, Unit]] = []
    previous: Unit | None = None
    numbered = _in_sequence(chosen, context)
    for unit in chosen:
        text += _joint(previous, unit, context)
        before, quoted, after = _unit_markdown(unit, context, unit in numbered)
        text += before
        claims.append(((len(text), len(text) + len(quoted)), unit))
        text += quoted + after
        previous = unit
    return text, tuple(claims)


def passage_of(chosen: ChosenPassage, context: Sequence[ContextPassage]) -> AnswerPassage:
    """Return the passage as Markdown; its links lead to the first marked paragraph."""
    text = ""
    marks: list[Span] = []
    for at in range(chosen.first, chosen.last + 1):
        before, quoted, after = passage_markdown(context[at].passage)
        text += ("\n\n" if text else "") + before
        for unit in chosen.marked:
            if unit.passage == at:
                end = len(quoted) if unit.kind is BlockKind.TABLE else unit.end
                marks.append((len(text) + unit.start, len(text) + end))
        text += quoted + after
    linked = chosen.marked[0].passage if chosen.marked else chosen.first
    shown = context[chosen.first : chosen.last + 1]
    return shown_passage(text, shown, context[linked], marks)


def shown_passage(
    text: str, shown: Iterable[ContextPassage], linked: ContextPassage, marks: Sequence[Span] = ()
) -> AnswerPassage:
    """Return `text`, made of the paragraphs `shown`, as a passage that leads to one of them."""
    ids = dict.fromkeys(one.passage.paragraph_id for one in shown)
    return AnswerPassage(
        paragraph_ids=tuple(filter(None, ids)),
        text=text,
        heading_path=linked.passage.heading_path,
        url=linked.passage.url,
        paragraph_id=linked.passage.paragraph_id,
        book=linked.book,
        marks=tuple(marks),
    )


def _joint(previous: Unit | None, unit: Unit, context: Sequence[ContextPassage]) -> str:
    if previous is None:
        return ""
    lists = [one.kind is BlockKind.LIST for one in (previous, unit)]
    if previous.passage != unit.passage or lists[0] != lists[1]:
        return "\n\n"
    if all(lists):
        return "\n"
    between = context[unit.passage].passage.text[previous.end : unit.start]
    if between.strip() or "\n\n" in between:
        return "\n\n"
    return "\n" if "\n" in between else " "


def _in_sequence(chosen: Sequence[Unit], context: Sequence[ContextPassage]) -> set[Unit]:
    """Return the list items with an adjacent item among the chosen ones; they keep their numbers.

    Markdown would number a single fourth step as the first.
    """
    found: set[Unit] = set()
    for one, other in pairwise(chosen):
        between = context[one.passage].passage.text[one.end : other.start]
        if one.passage == other.passage and marker_before(between, len(between)) == between.strip():
            found |= {one, other}
    return found


def _unit_markdown(
    unit: Unit, context: Sequence[ContextPassage], numbered: bool
) -> tuple[str, str, str]:
    """Return the mark-up before the unit's text, the text, and the mark-up after it."""
    passage = context[unit.passage].passage
    if unit.kind is BlockKind.LIST:
        marker = marker_before(passage.text, unit.start) if numbered else "-"
        return f"{marker} ", unit.text, ""
    if unit.kind in (BlockKind.CODE, BlockKind.TABLE):
        return passage_markdown(passage)
    return "", unit.text, ""


def passage_markdown(passage: Passage) -> tuple[str, str, str]:
    """Return a whole paragraph as Markdown: mark-up before it, its text, mark-up after it."""
    if passage.kind is BlockKind.CODE:
        opening, closing = fence_lines(passage.text, passage.language)
        return f"{opening}\n", passage.text, f"\n{closing}"
    if passage.kind is BlockKind.TABLE:
        return "", with_rule(passage.text), ""
    return "", passage.text, ""
