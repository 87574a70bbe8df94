"""Quoted units and passages as Markdown, with the spans of the units in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from app.domain.answer import AnswerPassage
from app.domain.answering.passages import ChosenPassage
from app.domain.answering.units import Unit, marker_before, title_end
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import fence_lines, table_row, table_rows, with_rule
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


def passages_text(
    chosen: Sequence[ChosenPassage], context: Sequence[ContextPassage]
) -> tuple[str, tuple[tuple[Span, Unit], ...]]:
    """Join passages by empty lines; return the text and the spans of the claims in it.

    The claims of a paragraph are its marked units, or all that is shown of it.
    """
    text = ""
    claims: list[tuple[Span, Unit]] = []
    for one in chosen:
        for part in one.parts:
            before, quoted, after = part_markdown(part, context[part.passage].passage)
            text += ("\n\n" if text else "") + before
            start = len(text)
            marks = [*_marks(one.marked, part, quoted, start)]
            claims += marks or [((start, start + len(quoted)), part)]
            text += quoted + after
    return text, tuple(claims)


def passage_of(chosen: ChosenPassage, context: Sequence[ContextPassage]) -> AnswerPassage:
    """Return the passage as Markdown; its links lead to the first marked paragraph."""
    text, claims = passages_text([chosen], context)
    marks = [span for span, unit in claims if unit in chosen.marked]
    linked = (*chosen.marked, *chosen.parts)[0].passage
    shown = [context[part.passage] for part in chosen.parts]
    return shown_passage(text, shown, context[linked], marks)


def _marks(
    marked: Iterable[Unit], part: Unit, quoted: str, start: int
) -> Iterator[tuple[Span, Unit]]:
    """Yield the marked units within the part, with their spans in the text that quotes it."""
    for unit in marked:
        if unit.passage == part.passage and part.start <= unit.start < unit.end <= part.end:
            at, size = _place(unit, part, quoted)
            yield (start + at, start + at + size), unit


def _place(unit: Unit, part: Unit, quoted: str) -> Span:
    """Return where the unit stands in the text that quotes the part, and its length there."""
    if unit.end - unit.start == part.end - part.start:
        return 0, len(quoted)
    if unit.kind is not BlockKind.TABLE:
        return unit.start - part.start, len(unit.text)
    row = table_row(unit.text)
    return quoted.index(row), len(row)


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
        return part_markdown(unit, passage)
    return "", unit.text, ""


def part_markdown(part: Unit, passage: Passage) -> tuple[str, str, str]:
    """Return a part of a paragraph as Markdown: mark-up before its text, the text, mark-up after.

    Rows of a table follow its header. Dots stand for what is left out of a sentence's paragraph.
    """
    if passage.kind is BlockKind.CODE:
        opening, closing = fence_lines(passage.text, passage.language)
        return f"{opening}\n", part.text, f"\n{closing}"
    if passage.kind is BlockKind.TABLE:
        return _table_part(part, passage.text)
    if passage.kind is BlockKind.LIST or part.kind is BlockKind.GLOSSARY_ENTRY:
        return "", part.text, ""
    cut = (passage.text[title_end(passage.text) : part.start], passage.text[part.end :].strip())
    return "\u2026 " * bool(cut[0]), part.text, " \u2026" * bool(cut[1])


def _table_part(part: Unit, table: str) -> tuple[str, str, str]:
    header = table_rows(table)[0]
    if part.start < header:
        return "", with_rule(part.text), ""
    every = with_rule(f"{table[:header]}\n{part.text}").split("\n")
    rows = len(table_rows(f"{table[:header]}\n{part.text}")[1])
    return "\n".join([*every[:-rows], ""]), "\n".join(every[-rows:]), ""


def passage_markdown(passage: Passage) -> tuple[str, str, str]:
    """Return a whole paragraph as Markdown: mark-up before it, its text, mark-up after it."""
    return part_markdown(Unit(0, 0, len(passage.text), passage.kind, passage.text), passage)
