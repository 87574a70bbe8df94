"""Blocks in the making: what an element of a page becomes before sections and ids are known.

A draft has one text, with marks where it and the page's text differ. What a reader of the program
gets (`text`) and what a text fragment may quote (`runs`) both follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.document import RUN_BOUNDARY, RUN_GLUE, BlockKind, Figure, Span
from app.domain.fences_and_tables import fence_lines, with_rule

NO_SPAN: Span = (-1, -1)
BETWEEN = "\n\n"
"""Between the blocks of a larger one."""
BEGIN, END = "\x01", "\x02"
"""Around text that the page does not have or shows otherwise: a formula, an alternative text."""
GAP = "\x80"
"""Stands where the page shows something that is not in the text, such as a line's number."""
EDGE = "\x05"
"""Ends a run between whole words; the other marks may stand in a word."""
PIPE = "\x06"
"""A pipe in a table's cell, which the text escapes."""
_TEXT_OF = ((BEGIN, ""), (END, ""), (GAP, ""), (EDGE, ""), (PIPE, "\\|"))
_SHOWN = re.compile(rf"[^\s{BEGIN}{END}{GAP}{EDGE}]")
_OTHERWISE = re.compile(r"\x01[^\x02]*\x02|\x80")
_GLUED_BEFORE = re.compile(rf"(?<=[^\s{EDGE}]){RUN_BOUNDARY}")
_GLUED_AFTER = re.compile(rf"{RUN_BOUNDARY}(?=[^\s{RUN_GLUE}])")
_WIDE_BLANK = re.compile(r"\s{2,}|[^\S ]")
"""A listing keeps it, where a text fragment has one space; other texts have it between parts."""


@dataclass(slots=True)
class Draft:
    """A block without its section, id and offsets."""

    kind: BlockKind
    marked: str
    """The text with marks."""
    span: Span = NO_SPAN
    """Code points of the Markdown source; NO_SPAN of a built page."""
    level: int = 0
    language: str = ""
    terms: tuple[str, ...] = ()
    items: Sequence[Draft] = ()
    """Those of a list, without bullets."""
    element_id: str = ""
    figure: Figure | None = None
    signatures: tuple[tuple[str, str], ...] = ()
    """Name and id of each function or option that the block documents, the outermost first."""
    caption: bool = False
    """Whether it is the caption of a figure."""
    title: bool = False
    """Whether it is the title of the container that it stands in."""

    @property
    def text(self) -> str:
        return plain(self.marked)

    @property
    def is_blank(self) -> bool:
        return _SHOWN.search(self.marked) is None

    @property
    def marked_inside(self) -> str:
        """The text as it stands in a larger block: code in a fence, a table with its rule."""
        if self.kind is BlockKind.CODE:
            opening, closing = map(unshown, fence_lines(self.marked, self.language))
            return f"{opening}\n{self.marked}\n{closing}"
        return with_rule(self.marked) if self.kind is BlockKind.TABLE else self.marked


def compose(kind: BlockKind, drafts: Sequence[Draft], title: str = "") -> Draft:
    """Join blocks to one of this kind, with `title` as its first paragraph."""
    return Draft(
        kind,
        BETWEEN.join([*([title] if title else []), *(one.marked_inside for one in drafts)]),
        span_of(drafts),
        terms=tuple(dict.fromkeys(term for one in drafts for term in one.terms)),
        element_id=next((one.element_id for one in drafts if one.element_id), ""),
        figure=next((one.figure for one in drafts if one.figure), None),
    )


def span_of(drafts: Iterable[Draft]) -> Span:
    """Return the span from the first to the last of these; NO_SPAN if none has one."""
    spans = [one.span for one in drafts if one.span != NO_SPAN]
    if not spans:
        return NO_SPAN
    return min(start for start, _ in spans), max(end for _, end in spans)


def unshown(text: str) -> str:
    """Mark a text that the page does not have, before or behind whole words of it."""
    return f"{EDGE}{BEGIN}{text}{END}"


def plain(marked: str) -> str:
    if not marked.isprintable():
        for mark, text in _TEXT_OF:
            marked = marked.replace(mark, text)
    return marked


def runs_of(marked: str) -> str:
    """Return a marked text as a text fragment may quote it: run by run."""
    if marked.isprintable() and "  " not in marked:
        return marked
    text = _OTHERWISE.sub(RUN_BOUNDARY, _WIDE_BLANK.sub(f" {RUN_BOUNDARY} ", marked))
    text = _GLUED_BEFORE.sub(f"{RUN_GLUE}{RUN_BOUNDARY}", text)
    text = _GLUED_AFTER.sub(f"{RUN_BOUNDARY}{RUN_GLUE}", text)
    return text.replace(EDGE, RUN_BOUNDARY).replace(PIPE, "|")
