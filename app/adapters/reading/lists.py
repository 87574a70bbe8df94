"""Lists with their markers: bullets, and numbers as the page shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from string import ascii_lowercase

from lxml.html import HtmlElement

from app.adapters.reading.drafts import Draft
from app.adapters.reading.tree import source_span
from app.domain.document import RUN_BOUNDARY, BlockKind, Part

_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split()
_LONGEST_NUMBER = 6
"""Maximum digits of a list's first number."""


def read_list(element: HtmlElement, inside: Callable[[HtmlElement], list[Draft]]) -> Draft:
    """Return a list; each item with what is nested in it is a part."""
    parts: list[Part] = []
    runs: list[str] = []
    terms: dict[str, None] = {}
    figure = None
    for marker, item in _items(element):
        drafts = inside(item)
        if not drafts:
            continue
        parts.append(Part(BlockKind.LIST, *source_span(item), _item_text(marker, drafts)))
        runs += (one.runs for one in drafts)
        terms.update(dict.fromkeys(term for one in drafts for term in one.terms))
        figure = figure or next((one.figure for one in drafts if one.figure), None)
    return Draft(
        BlockKind.LIST,
        "\n".join(part.text for part in parts),
        RUN_BOUNDARY.join(runs),
        terms=tuple(terms),
        parts=parts,
        figure=figure,
    )


def _item_text(marker: str, drafts: list[Draft]) -> str:
    """Return an item's text: the lines below its first one are indented to its content."""
    text = drafts[0].text_inside
    for draft in drafts[1:]:
        text += ("\n" if draft.kind is BlockKind.LIST else "\n\n") + draft.text_inside
    first, *rest = text.split("\n")
    margin = " " * (len(marker) + 1)
    return "\n".join([f"{marker} {first}", *(f"{margin}{line}" if line else "" for line in rest)])


def _items(element: HtmlElement) -> Iterator[tuple[str, HtmlElement]]:
    """Yield each item with its marker."""
    ordered = element.tag == "ol"
    number = _number(element.get("start"), 1)
    for item in element:
        if not isinstance(item.tag, str):
            continue
        if not ordered:
            yield "-", item
            continue
        number = _number(item.get("value"), number)
        yield f"{_shown(number, element.get('type') or '1')}.", item
        number += 1


def _number(text: str | None, default: int) -> int:
    found = (text or "").strip()
    digits = found.removeprefix("-")
    return int(found) if digits.isdecimal() and len(digits) <= _LONGEST_NUMBER else default


def _shown(number: int, style: str) -> str:
    """Return a number as letters or in Roman numerals, as far as lists of a book go."""
    marks = _ROMAN if style in "iI" else ascii_lowercase
    if style not in "aAiI" or not 0 < number <= len(marks):
        return str(number)
    return marks[number - 1].upper() if style.isupper() else marks[number - 1]
