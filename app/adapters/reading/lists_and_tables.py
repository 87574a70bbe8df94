"""Lists with their markers, definition lists, and tables as lines of cells."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from string import ascii_lowercase
from typing import TypeAlias

from lxml.html import HtmlElement

from app.adapters.reading.drafts import (
    BEGIN,
    BETWEEN,
    EDGE,
    END,
    NO_SPAN,
    PIPE,
    Draft,
    compose,
    plain,
    span_of,
    unshown,
)
from app.adapters.reading.inline import inline
from app.adapters.reading.tree import Tree, own_id, source_span
from app.domain.document import BlockKind

_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split()
_STYLES: dict[str, Sequence[str]] = {"a": ascii_lowercase, "i": _ROMAN}
"""Numbers of a list by its type, in lower case, as far as lists of a book go."""
_INTEGER = re.compile(r"-?\d{1,6}")
_ARGUMENTS = re.compile(r"\s*\(| = ")
"""Begins what follows a name in a signature."""

Entry: TypeAlias = tuple[HtmlElement, list[Draft]]
"""A `dt` or `dd` and the blocks inside it."""
_MAX_SPAN = 60
"""Most rows or columns that a cell may span; a hostile page could name millions."""
_EMPTY = Draft(BlockKind.PARAGRAPH, "")


def read_list(element: HtmlElement, inside: Callable[[HtmlElement], list[Draft]]) -> Draft:
    """Return a list; its items have what is nested in them."""
    found: list[Draft] = []
    items: list[Draft] = []
    lines: list[str] = []
    for marker, item in _items(element):
        if drafts := inside(item):
            text = _item_text(drafts)
            lines.append(_line(marker, text))
            shown = text if marker == "-" else lines[-1]
            terms = (term for one in drafts for term in one.terms)
            leading = tuple(term for term in terms if plain(shown).startswith(term))
            items.append(Draft(BlockKind.LIST, shown, source_span(item), terms=leading))
            found += drafts
    own = compose(BlockKind.LIST, found)
    return replace(own, marked="\n".join(lines), items=items, span=NO_SPAN, element_id="")


def _item_text(drafts: list[Draft]) -> str:
    text = drafts[0].marked_inside
    for draft in drafts[1:]:
        text += ("\n" if draft.kind is BlockKind.LIST else BETWEEN) + draft.marked_inside
    return text


def _line(marker: str, text: str) -> str:
    """Return an item with its marker; the lines below its first one are indented to its content."""
    indented = re.sub(r"\n(?=[^\n])", "\n" + " " * (len(marker) + 1), text)
    return f"{unshown(marker)} {indented}"


def _items(element: HtmlElement) -> Iterator[tuple[str, HtmlElement]]:
    """Yield each item with its marker."""
    number = _number(element.get("start"), 1)
    for item in element.xpath("*[not(self::br)]"):
        number = _number(item.get("value"), number)
        yield f"{_shown(number, element.get('type') or '1')}." if element.tag == "ol" else "-", item
        number += 1


def _number(text: str | None, default: int) -> int:
    found = _INTEGER.fullmatch((text or "").strip())
    return int(found[0]) if found else default


def _shown(number: int, style: str) -> str:
    marks = _STYLES.get(style.lower(), ())
    mark = marks[number - 1] if 0 < number <= len(marks) else str(number)
    return mark.upper() if style.isupper() else mark


def glossary_drafts(inside: Sequence[Entry]) -> list[Draft]:
    """Return an entry for each run of terms and definitions."""
    found: list[Draft] = []
    terms: list[Draft] = []
    for tag, run in groupby(inside, key=lambda entry: entry[0].tag):
        drafts = [draft for _, own in run for draft in own]
        if tag == "dd":
            found += [_entry(terms, drafts)] if drafts else terms
        terms = drafts if tag == "dt" else []
    return [*found, *terms]


def _entry(terms: Sequence[Draft], definitions: Sequence[Draft]) -> Draft:
    """Return a glossary entry: its terms, each on a line, then its definitions."""
    names = [" ".join(one.text.split()) for one in terms]
    meaning = compose(BlockKind.GLOSSARY_ENTRY, definitions)
    ids = (one.element_id for one in (*terms, meaning))
    return replace(
        meaning,
        marked="\n".join([*names, meaning.marked]),
        terms=tuple(names),
        element_id=next(filter(None, ids), ""),
    )


def reference_drafts(inside: Sequence[Entry]) -> list[Draft]:
    """Return the blocks of a reference, each with the function or option that it documents.

    A field and its value are one block: "Default: 80".
    """
    found: list[Draft] = []
    field: Draft | None = None
    signature: tuple[tuple[str, str], ...] = ()
    for child, drafts in inside:
        is_field = child.tag == "dt" and bool(drafts) and drafts[0].text.endswith(":")
        if child.tag == "dt" and drafts and not is_field:
            documented = _ARGUMENTS.split(" ".join(drafts[0].text.split()), maxsplit=1)[0]
            signature = ((documented, own_id(child)),)
        own = [replace(one, signatures=signature + one.signatures) for one in drafts]
        if child.tag == "dd" and field and [one.kind for one in own] == [field.kind]:
            name = found.pop()
            text = f"{name.marked}{EDGE} {own[0].marked}"
            ident = name.element_id or own[0].element_id
            own = [replace(own[0], marked=text, span=span_of([name, *own]), element_id=ident)]
        found += own
        field = own[0] if is_field and len(own) == 1 else None
    return found


def read_table(table: HtmlElement, tree: Tree) -> Draft:
    """Return a table, or a list of lists of cells; a caption is the first row."""
    shown = [inline(one, tree) for one in table.iterchildren("caption")][:1]
    lines = [one.marked for one in shown if one.marked]
    carried: dict[int, list[Draft]] = {}
    for row in table.xpath("./tr | ./thead/tr | ./tbody/tr | ./tfoot/tr | ./li/ul"):
        cells = list(_cells(row, carried, tree))
        texts = [_cell_text(cell) for cell in cells]
        if not any(texts):
            continue
        lines.append(texts[0] if len(row) == 1 and not any(texts[1:]) else " | ".join(texts))
        shown += cells
    return replace(compose(BlockKind.TABLE, shown), marked="\n".join(lines), figure=None)


def _cell_text(cell: Draft) -> str:
    """Return the text of a cell in one line, apart from those beside it."""
    text = cell.marked.replace("\n", f"{EDGE} {EDGE}").replace("|", PIPE)
    return f"{EDGE}{text}{EDGE}" if text else ""


def _cells(row: HtmlElement, carried: dict[int, list[Draft]], tree: Tree) -> Iterator[Draft]:
    """Yield the cells of a row, with those of earlier rows that extend into it.

    `carried` has what extends into the next rows, by column.
    """
    column = 0
    for cell in (*row.iterchildren("td", "th", "li"), None):
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
    return min(max(_number(cell.get(name), 1), 1), _MAX_SPAN)
