"""Lists with their markers: bullets, and numbers as the page shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from string import ascii_lowercase

from lxml.html import HtmlElement

from app.adapters.reading.drafts import BETWEEN, NO_SPAN, Draft, compose, unshown
from app.adapters.reading.tree import source_span
from app.domain.document import BlockKind, Span

_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split()
_STYLES: dict[str, Sequence[str]] = {"a": ascii_lowercase, "i": _ROMAN}
"""Numbers of a list by its type, in lower case, as far as lists of a book go."""
_LONGEST_NUMBER = 6
"""Maximum digits of a list's first number."""


def read_list(element: HtmlElement, inside: Callable[[HtmlElement], list[Draft]]) -> Draft:
    """Return a list; its items have what is nested in them."""
    found: list[Draft] = []
    items: list[tuple[str, Span]] = []
    for marker, item in _items(element):
        if drafts := inside(item):
            items.append((_item_text(marker, drafts), source_span(item)))
            found += drafts
    text = "\n".join(item for item, _ in items)
    own = compose(BlockKind.LIST, found)
    return replace(own, marked=text, items=items, span=NO_SPAN, element_id="")


def _item_text(marker: str, drafts: list[Draft]) -> str:
    """Return an item's text: the lines below its first one are indented to its content."""
    text = drafts[0].marked_inside
    for draft in drafts[1:]:
        text += ("\n" if draft.kind is BlockKind.LIST else BETWEEN) + draft.marked_inside
    first, *rest = text.split("\n")
    margin = " " * (len(marker) + 1)
    return "\n".join(
        [f"{unshown(marker)} {first}", *(f"{margin}{line}" if line else "" for line in rest)]
    )


def _items(element: HtmlElement) -> Iterator[tuple[str, HtmlElement]]:
    """Yield each item with its marker."""
    number = _number(element.get("start"), 1)
    for item in element:
        number = _number(item.get("value"), number)
        yield f"{_shown(number, element.get('type') or '1')}." if element.tag == "ol" else "-", item
        number += 1


def _number(text: str | None, default: int) -> int:
    found = (text or "").strip()
    digits = found.removeprefix("-")
    return int(found) if digits.isdecimal() and len(digits) <= _LONGEST_NUMBER else default


def _shown(number: int, style: str) -> str:
    marks = _STYLES.get(style.lower(), ())
    mark = marks[number - 1] if 0 < number <= len(marks) else str(number)
    return mark.upper() if style.isupper() else mark
