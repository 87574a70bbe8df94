"""Blocks in the making: what an element of a page becomes before sections and ids are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.document import RUN_BOUNDARY, BlockKind, Figure, Span
from app.domain.fences_and_tables import fenced, with_rule

NO_SPAN: Span = (-1, -1)
GAP = "\n\n"


@dataclass(slots=True)
class Draft:
    """A block without its section, id and offsets."""

    kind: BlockKind
    text: str
    runs: str
    span: Span = NO_SPAN
    """Code points of the Markdown source; NO_SPAN of a built page."""
    level: int = 0
    anchor: str = ""
    """The id of a heading."""
    language: str = ""
    terms: tuple[str, ...] = ()
    items: Sequence[tuple[str, Span]] = ()
    """The texts of a list's items, and their spans in the Markdown source."""
    element_id: str = ""
    figure: Figure | None = None
    signatures: tuple[tuple[str, str], ...] = ()
    """Name and id of each function or option that the block documents, the outermost first."""
    caption: bool = False
    """Whether it is the caption of a figure."""

    @property
    def text_inside(self) -> str:
        """The text as it stands in a larger block: code in a fence, a table with its rule."""
        if self.kind is BlockKind.CODE:
            return fenced(self.text, self.language)
        return with_rule(self.text) if self.kind is BlockKind.TABLE else self.text


def compose(kind: BlockKind, drafts: Sequence[Draft], title: str = "") -> Draft:
    """Join blocks to one of this kind, with `title` as its first paragraph."""
    texts = [one.text_inside for one in drafts]
    runs = [one.runs for one in drafts]
    if title:
        texts, runs = [title, *texts], [title, *runs]
    return Draft(
        kind,
        GAP.join(texts),
        RUN_BOUNDARY.join(runs),
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
