"""Results of parsing a file: block drafts, not yet with sections and ids, and mark-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from app.adapters.markdown.parser.running_text import Text
from app.adapters.markdown.parser.tags import HtmlTag
from app.domain.document import RUN_BOUNDARY, BlockKind, Part
from app.domain.fences_and_tables import fenced, rows_with_rule, with_rule

_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


@dataclass(slots=True)
class BlockDraft:
    """A block before its sections and id are known; spans are offsets into its file."""

    kind: BlockKind
    text: str
    id_text: str
    start: int
    end: int
    runs: str = ""
    terms: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    level: int = 0
    language: str = ""
    title: str = ""
    included: str = ""
    author_id: str = ""
    anchor: str = ""
    """A heading's id as the site generator makes it."""
    section_end: int = 0
    """Where the section of a heading ends with its container; 0 if another heading ends it."""
    caption: bool = False
    """An emphasised "Figure 3: ..." paragraph."""
    has_fence_or_table: bool = False
    """Whether the text has code or a table as Markdown, with its fence or rule."""
    children: Sequence[BlockDraft] = ()

    def as_parts(self) -> tuple[Part, ...]:
        """Return the parts that this draft adds to a larger block."""
        if self.parts and self.kind is BlockKind.TABLE:
            rows = rows_with_rule([part.text for part in self.parts])
            return tuple(
                replace(part, text=row) for part, row in zip(self.parts, rows, strict=True)
            )
        if self.parts and self.kind is BlockKind.LIST:
            return self.parts
        return (Part(self.kind, self.start, self.end, self.nested_text()),)

    @property
    def has_inner_fence_or_table(self) -> bool:
        """Whether the text inside a larger block has a fence or a table's rule."""
        return self.has_fence_or_table or self.kind in (BlockKind.CODE, BlockKind.TABLE)

    def nested_text(self) -> str:
        """Return the text inside a larger block, whose kind does not tell what is code."""
        if self.kind is BlockKind.CODE:
            return fenced(self.text, self.language)
        return with_rule(self.text) if self.kind is BlockKind.TABLE else self.text

    def by_part(self) -> Iterator[tuple[Part, list[BlockDraft]]]:
        """Yield each part with the children that begin in it; both are in source order."""
        children = iter(self.children)
        child = next(children, None)
        for part in self.parts:
            inside: list[BlockDraft] = []
            while child is not None and child.start < part.end:
                if child.start >= part.start:
                    inside.append(child)
                child = next(children, None)
            yield part, inside


def verbatim_draft(kind: BlockKind, text: str, start: int, end: int) -> BlockDraft:
    """Return a block whose lines the page shows as they are."""
    return BlockDraft(kind, text, text, start, end, runs=text.replace("\n", RUN_BOUNDARY))


ReadLines: TypeAlias = Callable[[str, Sequence[int], Callable[[str], Text]], list[BlockDraft]]
"""`read(source, line starts, reader of running text)` -> the blocks of a directive."""


class RawDirective(NamedTuple):
    """The line numbers of a directive whose body is not Markdown."""

    opening: int
    first: int
    """First line of the body."""
    last: int
    """The line after the body."""
    stop: int
    """The line after the directive."""
    read: ReadLines


def merge(kind: BlockKind, drafts: Sequence[BlockDraft], title: str = "") -> BlockDraft:
    """Join drafts into one block; a visible title comes first in its text."""
    shown = [title, *(draft.nested_text() for draft in drafts)]
    terms = dict.fromkeys(term for draft in drafts for term in draft.terms)
    return BlockDraft(
        kind,
        "\n\n".join(filter(None, shown)),
        " ".join([title, *(draft.id_text for draft in drafts)]),
        drafts[0].start,
        drafts[-1].end,
        runs=RUN_BOUNDARY.join(filter(None, (draft.runs for draft in drafts))) or title,
        terms=tuple(terms),
        parts=tuple(part for draft in drafts for part in draft.as_parts()),
        title=title,
        included=_first(draft.included for draft in drafts),
        author_id=_first(draft.author_id for draft in drafts),
        has_fence_or_table=any(draft.has_inner_fence_or_table for draft in drafts),
    )


def in_lines(drafts: Sequence[BlockDraft]) -> str:
    """Join texts by line ends; Markdown needs an empty line next to a table."""
    text = drafts[0].nested_text() if drafts else ""
    for before, draft in pairwise(drafts):
        apart = (
            before.has_fence_or_table
            or draft.has_fence_or_table
            or BlockKind.TABLE in (before.kind, draft.kind)
        )
        text += ("\n\n" if apart else "\n") + draft.nested_text()
    return text


def _first(texts: Iterable[str]) -> str:
    """Return the first text that is not empty; "" if there is none."""
    return next(filter(None, texts), "")


def with_body(entry: BlockDraft, body: Sequence[BlockDraft]) -> BlockDraft:
    """Append the blocks of the definition to an entry that has only terms."""
    entry.text = in_lines([entry, *body])
    entry.id_text = " ".join([entry.id_text, *(draft.id_text for draft in body)])
    entry.runs = RUN_BOUNDARY.join([entry.runs, *(draft.runs for draft in body)])
    entry.parts = tuple(part for draft in body for part in draft.as_parts())
    return entry


def split_list(draft: BlockDraft, kind: BlockKind) -> list[BlockDraft]:
    """Make each item of a list a separate block."""
    if not draft.parts or not draft.children:
        draft.kind = kind
        return [draft]
    items: list[BlockDraft] = []
    for part, inside in draft.by_part():
        if not inside:
            items.append(BlockDraft(kind, "", "", part.start, part.end))
            continue
        item = merge(kind, inside)
        item.start, item.end, item.parts = part.start, part.end, ()
        item.text = part.text.removeprefix("- ").replace("\n  ", "\n")
        items.append(item)
    return items


def show_box(drafts: Sequence[BlockDraft]) -> None:
    """Replace `[ ]` and `[x]` of a task list by box characters."""
    first = drafts[0] if drafts else None
    if first is not None and first.kind is BlockKind.PARAGRAPH and first.text[:4] in _BOXES:
        first.runs = first.runs.removeprefix(first.text[:4])
        first.text = _BOXES[first.text[:4]] + first.text[4:]


class MarkupClass(StrEnum):
    """Classes of mark-up, which is not text of the book."""

    FRONT_MATTER = "front_matter"
    ESM = "esm"
    TAG = "tag"
    DIRECTIVE = "directive"
    ATTRIBUTE_LIST = "attribute_list"
    COMMENT = "comment"
    EXPRESSION = "expression"
    REFERENCE_DEFINITION = "reference_definition"
    INCLUDE = "include"
    LABEL = "label"
    RULE = "rule"
    EMBED = "embed"


class Markup(NamedTuple):
    """Mark-up at `source[start:end]`.

    `opens` and `closes` name the container that begins or ends here: a tag's name, or the colons
    of a directive. `name` is a directive's name, an include's path or a label's id.
    """

    kind: MarkupClass
    start: int
    end: int
    tag: HtmlTag | None = None
    opens: str = ""
    closes: str = ""
    name: str = ""
    argument: str = ""
    label: str = ""
    """An id from a directive's options."""


MarkupSpan: TypeAlias = tuple[MarkupClass, int, int]
"""Mark-up as counted for coverage: class, start, end."""


class RawElement(NamedTuple):
    """A whole HTML element whose content is not Markdown: a table, `<pre>`, MathML."""

    tag: HtmlTag
    start: int
    end: int
    inner_start: int
    inner_end: int
