"""Tables: a line for each row, cells separated by " | ", merged cells repeated in each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lxml.html import HtmlElement

from app.adapters.reading.drafts import BEGIN, EDGE, END, PIPE, Draft, plain
from app.adapters.reading.inline import inline
from app.adapters.reading.tree import Tree
from app.domain.document import BlockKind

_MAX_SPAN = 60
"""Most rows or columns that a cell may span; a hostile page could name millions."""
_EMPTY = Draft(BlockKind.PARAGRAPH, "")


def read_table(table: HtmlElement, tree: Tree) -> Draft:
    """Return a table; its caption, if it has one, is its first row."""
    shown = [inline(one, tree) for one in table.iterchildren("caption")][:1]
    lines = [one.marked for one in shown if one.marked]
    carried: dict[int, list[Draft]] = {}
    for row in table.xpath("./tr | ./thead/tr | ./tbody/tr | ./tfoot/tr"):
        cells = list(_cells(row, carried, tree))
        texts = [_cell_text(cell) for cell in cells]
        if not any(texts):
            continue
        lines.append(texts[0] if len(row) == 1 and not any(texts[1:]) else " | ".join(texts))
        shown += cells
    return Draft(
        BlockKind.TABLE,
        "\n".join(lines),
        terms=tuple(dict.fromkeys(term for one in shown for term in one.terms)),
    )


def _cell_text(cell: Draft) -> str:
    """Return the text of a cell in one line, apart from those beside it."""
    text = cell.marked.replace("\n", f"{EDGE} {EDGE}").replace("|", PIPE)
    return f"{EDGE}{text}{EDGE}" if text else ""


def _cells(row: HtmlElement, carried: dict[int, list[Draft]], tree: Tree) -> Iterator[Draft]:
    """Yield the cells of a row, with those of earlier rows that extend into it.

    `carried` has what extends into the next rows, by column.
    """
    column = 0
    for cell in (*row.iterchildren("td", "th"), None):
        while carried.get(column):
            yield carried[column].pop()
            column += 1
        if cell is None:
            return
        for one in [inline(cell, tree), *[_EMPTY] * (_span(cell, "colspan") - 1)]:
            yield one
            again = replace(one, marked=f"{BEGIN}{plain(one.marked)}{END}" if one.marked else "")
            carried[column] = [again] * (_span(cell, "rowspan") - 1)
            column += 1


def _span(cell: HtmlElement, name: str) -> int:
    value = cell.get(name) or "1"
    return min(max(int(value), 1), _MAX_SPAN) if value.isdecimal() and len(value) < 4 else 1
