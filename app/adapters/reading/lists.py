"""Lists with their markers: bullets, and numbers as the page shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lxml.html import HtmlElement

from app.adapters.reading.drafts import NO_SPAN, Draft, DraftPart
from app.domain.document import RUN_BOUNDARY, BlockKind, Span

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
          (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_LONGEST_NUMBER = 6
"""Maximum digits of a list's first number."""


def read_list(
    element: HtmlElement,
    inside: Callable[[HtmlElement], list[Draft]],
    span: Callable[[HtmlElement], Span],
) -> Draft:
    """Return a list; each item with what is nested in it is a part."""
    parts: list[DraftPart] = []
    runs: list[str] = []
    terms: dict[str, None] = {}
    figure = None
    for marker, item in _items(element):
        drafts = inside(item)
        if not drafts:
            continue
        own = span(item)
        parts.append(DraftPart(BlockKind.LIST, _item_text(marker, drafts), own))
        runs += (one.runs for one in drafts)
        terms.update(dict.fromkeys(term for one in drafts for term in one.terms))
        figure = figure or next((one.figure for one in drafts if one.figure), None)
    return Draft(
        BlockKind.LIST,
        "\n".join(part.text for part in parts),
        RUN_BOUNDARY.join(runs),
        NO_SPAN,
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
    if number < 1 or style not in "aAiI":
        return str(number)
    text = _roman(number) if style in "iI" else _letters(number)
    return text.upper() if style.isupper() else text


def _roman(number: int) -> str:
    out = ""
    for value, digit in _ROMAN:
        out += digit * (number // value)
        number %= value
    return out


def _letters(number: int) -> str:
    out = ""
    while number:
        number, rest = divmod(number - 1, 26)
        out = chr(ord("a") + rest) + out
    return out
