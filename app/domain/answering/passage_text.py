"""Passages as Markdown, with the spans of the quoted units in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.answer import AnswerPassage
from app.domain.answering.passages import ChosenPassage
from app.domain.answering.units import Unit
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import fence_lines, table_row, table_rows, with_rule
from app.domain.retrieval.query import ContextPassage


def passages_text(
    chosen: Sequence[ChosenPassage], context: Sequence[ContextPassage], *, titled: bool = False
) -> tuple[str, tuple[tuple[Span, Unit], ...]]:
    """Join passages by empty lines; return the text and the spans of the claims in it.

    If `titled`, each passage follows its heading.

    The claims of a paragraph are its marked units, or all that is shown of it. A unit's text is
    verbatim, except for the mark-up of a table.
    """
    text = ""
    claims: list[tuple[Span, Unit]] = []
    for one in chosen:
        if titled:
            path = context[one.parts[0].passage].passage.heading_path
            # Pages may have sections of the same title.
            title = " \u203a ".join(dict.fromkeys((*path[:1], *path[-1:])))
            text += f"\n\n{title}" if text else title
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
    linked = context[(*chosen.marked, *chosen.parts)[0].passage]
    ids = dict.fromkeys(context[part.passage].passage.paragraph_id for part in chosen.parts)
    return AnswerPassage(
        paragraph_ids=tuple(filter(None, ids)),
        text=text,
        heading_path=linked.passage.heading_path,
        url=linked.passage.url,
        paragraph_id=linked.passage.paragraph_id,
        book=linked.book,
        marks=tuple(span for span, unit in claims if unit in chosen.marked),
    )


def _marks(
    marked: Sequence[Unit], part: Unit, quoted: str, start: int
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


def part_markdown(part: Unit, passage: Passage) -> tuple[str, str, str]:
    """Return a part of a paragraph as Markdown: mark-up before its text, the text, mark-up after.

    Rows of a table follow its header. Dots stand for what is left out of a sentence's paragraph.
    """
    if passage.kind is BlockKind.CODE:
        opening, closing = fence_lines(passage.text, passage.language)
        return f"{opening}\n", part.text, f"\n{closing}"
    if passage.kind is BlockKind.TABLE:
        return _table_part(part, passage.text)
    if passage.kind is BlockKind.LIST:
        return "", part.text, ""
    cut = (passage.text[: part.start].strip(), passage.text[part.end :].strip())
    return "\u2026 " * bool(cut[0]), part.text, " \u2026" * bool(cut[1])


def _table_part(part: Unit, table: str) -> tuple[str, str, str]:
    header = table_rows(table)[0]
    if part.start < header:
        return "", with_rule(part.text), ""
    every = with_rule(f"{table[:header]}\n{part.text}").split("\n")
    rows = len(table_rows(f"{table[:header]}\n{part.text}")[1])
    return "\n".join([*every[:-rows], ""]), "\n".join(every[-rows:]), ""


def passage_markdown(passage: Passage) -> str:
    """Return a whole paragraph as Markdown."""
    unit = Unit(0, 0, len(passage.text), passage.kind, passage.text)
    return "".join(part_markdown(unit, passage))
