"""Tables: a line for each row, cells separated by " | ", merged cells repeated in each row."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.html import HtmlElement

from app.adapters.reading.drafts import NO_SPAN, Draft
from app.adapters.reading.inline import Inline, inline
from app.adapters.reading.tree import Tree, source_span
from app.domain.document import RUN_BOUNDARY, BlockKind, Part

_MAX_SPAN = 60
"""Most rows or columns that a cell may span; a hostile page could name millions."""


def read_table(table: HtmlElement, tree: Tree) -> Draft:
    """Return a table; its caption, if it has one, is its first row."""
    caption = next((inline(one, tree) for one in table.iterchildren("caption")), None)
    parts: list[Part] = []
    runs: list[str] = []
    terms: dict[str, None] = {}
    if caption:
        parts.append(Part(BlockKind.TABLE, *NO_SPAN, caption.text, header=True))
        runs.append(caption.runs)
    carried: dict[int, tuple[int, Inline]] = {}
    for row in _rows(table):
        cells = list(_cells(row, carried, tree)) or [Inline("", "")]
        texts = [_cell_text(cell.text) for cell in cells]
        text = texts[0] if not any(texts[1:]) and len(row) == 1 else " | ".join(texts)
        if not text.strip(" |"):
            continue
        header = all(one.tag == "th" for one in row if isinstance(one.tag, str))
        header = header and all(part.header for part in parts)
        parts.append(Part(BlockKind.TABLE, *source_span(row), text, header))
        runs += (cell.runs for cell in cells if cell.runs)
        terms.update(dict.fromkeys(term for cell in cells for term in cell.terms))
    return Draft(
        BlockKind.TABLE,
        "\n".join(part.text for part in parts),
        RUN_BOUNDARY.join(runs),
        terms=tuple(terms),
        parts=parts,
    )


def _rows(table: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the table's own rows, not those of tables in its cells."""
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from child.iterchildren("tr")


def _cell_text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _cells(
    row: HtmlElement, carried: dict[int, tuple[int, Inline]], tree: Tree
) -> Iterator[Inline]:
    """Yield the cells of a row, with those of earlier rows that extend into it."""
    column = 0
    for cell in (one for one in row if one.tag in ("td", "th")):
        while column in carried:
            yield _take(carried, column)
            column += 1
        content = inline(cell, tree)
        rows, columns = _span(cell, "rowspan"), _span(cell, "colspan")
        for extra in range(columns):
            shown = content if not extra else Inline("", "")
            yield shown
            if rows > 1:
                carried[column] = (rows - 1, Inline(shown.text, ""))
            column += 1
    while column in carried:
        yield _take(carried, column)
        column += 1


def _take(carried: dict[int, tuple[int, Inline]], column: int) -> Inline:
    left, content = carried.pop(column)
    if left > 1:
        carried[column] = (left - 1, content)
    return content


def _span(cell: HtmlElement, name: str) -> int:
    value = cell.get(name) or "1"
    return min(max(int(value), 1), _MAX_SPAN) if value.isdecimal() and len(value) < 4 else 1
