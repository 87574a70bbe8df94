"""Containers: their content becomes one block, or separate blocks."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.adapters.markdown.parser.container_kinds import SOLUTION_TITLE, Container, container_of
from app.adapters.markdown.parser.drafts import BlockDraft, Markup, merge, split_list
from app.adapters.markdown.parser.running_text import Text, on_one_line
from app.adapters.markdown.parser.tags import HtmlTag
from app.domain.document import BlockKind, Part

_ID = re.compile(r"#([\w:.-]+)")
_WORD = re.compile(r"\S")
_MAX_DEPTH = 20
"""Maximum nesting of containers that become one block; deeper ones stay separate blocks."""
_NEVER_MERGED = (BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY)
"""Kinds that stay separate blocks inside a container."""
_INTERRUPTED = -1
"""Start of a container that continues after such a block."""


class Containers:
    """The open containers, and the finished blocks in source order."""

    def __init__(self, source: str, read_text: Callable[[str], Text]) -> None:
        self._source = source
        self._read_text = read_text
        self._out: list[BlockDraft] = []
        self._open: list[Container] = []
        self._directives: list[Container] = []
        """The open directives, which a line of colons closes."""
        self._open_names: dict[str, int] = {}
        self._capturing: list[Container] = []
        self._reached = 0
        """End offset of the last block placed."""
        self._next_word = -1, 0
        """Cache of `_follows`: a block's end, and the offset of the next non-blank after it."""
        self._headings: list[BlockDraft] = []
        """The headings so far without `section_end`."""
        self._label: Markup | None = None
        """A label that waits for its block."""

    def finish(self) -> list[BlockDraft]:
        """Close what is still open and return all blocks."""
        while self._open:
            self._close(self._open[-1], 0)
        return self._out

    def label_next(self, label: Markup) -> None:
        """Give the next block this label's id. For a heading, `argument` is the anchor."""
        self._label = label

    def drop_anchor_of_label(self) -> None:
        """Leave the next heading its own anchor: a directive stands between it and the label."""
        if self._label is not None:
            self._label = self._label._replace(argument="")

    def open(self, mark: Markup) -> None:
        """Open a container. Its title becomes a paragraph unless the container is one block."""
        container = container_of(mark)
        container.headings_before = len(self._headings)
        self._open.append(container)
        if container.name.startswith(":::"):
            self._directives.append(container)
        self._open_names[container.name] = self._open_names.get(container.name, 0) + 1
        container.capture = container.capture and len(self._capturing) < _MAX_DEPTH
        if container.capture:
            self._capturing.append(container)
        if container.role == "listing" and mark.tag is not None:
            self._open_listing(mark.tag, container)
        elif container.title and not container.capture:
            self.emit(self.title_draft(container.title, mark.start, mark.end))

    def title_draft(self, title: str, start: int, end: int) -> BlockDraft:
        """Make a paragraph of a title written in the mark-up at `start:end`."""
        text = self._read_text(title)
        end = start + len(self._source[start:end].rstrip())
        return BlockDraft(BlockKind.PARAGRAPH, text.text, text.id_text, start, end, runs=text.runs)

    def _open_listing(self, tag: HtmlTag, container: Container) -> None:
        """Open `<Listing number="4-1" caption="..." file-name="...">`, which contains code."""
        shown = tag.texts
        number, caption = shown.get("number"), shown.get("caption")
        text = self._read_text(caption).text if caption else ""
        names = list(shown)
        if number and (not caption or names.index("number") < names.index("caption")):
            text = f"{tag.name} {number}" + (f": {text}" if text else "")
        container.title = text or shown.get("file-name", "")
        if text:
            self.emit(BlockDraft(BlockKind.PARAGRAPH, text, text, tag.start, tag.end, runs=text))

    def close(self, mark: Markup) -> None:
        """Close the innermost container of this name, and the containers left open in it."""
        if not mark.closes.startswith(":::"):
            if self._open_names.get(mark.closes):
                innermost = next(one for one in reversed(self._open) if one.name == mark.closes)
                self._close(innermost, mark.end)
            return
        # A directive is closed by at least as many colons as opened it.
        if self._directives and len(self._directives[-1].name) <= len(mark.closes):
            self._close(self._directives[-1], mark.end)

    def _close(self, container: Container, end: int) -> None:
        while self._open:
            last = self._open.pop()
            self._open_names[last.name] -= 1
            if self._directives and self._directives[-1] is last:
                self._directives.pop()
            if last.capture:
                self._capturing.pop()
                self._flush(last, end if last is container else 0)
            if last is container:
                self._end_sections(container, end)
                return

    def _end_sections(self, container: Container, end: int) -> None:
        """End the sections that began in a closed container, unless it wraps only a heading."""
        first, headings = container.headings_before, self._headings
        if not (end and container.ends_sections and len(headings) > first):
            return
        if self._out[-1] is not headings[-1]:
            for heading in headings[first:]:
                heading.section_end = end
            del headings[first:]

    def _flush(self, container: Container, end: int) -> None:
        """Emit a container's content as one block; `end` is 0 if its end is not known."""
        if container.kind is None:
            return
        if container.drafts:
            title = self._read_text(container.title).text if container.title else ""
            draft = merge(container.kind, container.drafts, title)
            container.drafts = []
        elif container.title and container.start != _INTERRUPTED:
            draft = self.title_draft(container.title, container.start, container.title_end)
            draft.kind = container.kind
        else:
            return
        if container.start != _INTERRUPTED:
            draft.start = min(container.start, draft.start)
        draft.end = max(end, draft.end)
        draft.author_id = container.author_id or draft.author_id
        self.emit(draft)

    def place(self, draft: BlockDraft) -> None:
        """Add a block that is a direct child of the innermost container."""
        if self._label is not None:
            self._give_label(draft, self._label)
        if not self._open:
            self.emit(draft)
            return
        container = self._open[-1]
        titled = container.role == "title" and draft.kind is BlockKind.PARAGRAPH
        if titled and self._takes_title():
            outer = self._capturing[-1]
            outer.title = f"{outer.title} {draft.text}".strip()
            outer.title_end = draft.end
            self._reached = max(self._reached, draft.end)
        elif container.role == "summary" and self._opens_solution(draft):
            self._capture_solution(self._open[-2], container, draft)
        else:
            for made in _in_role(draft, container):
                self.emit(made)

    def _give_label(self, draft: BlockDraft, label: Markup) -> None:
        self._label = None
        if not label.name:
            return
        draft.author_id = draft.author_id or label.name
        if draft.kind is BlockKind.HEADING:
            draft.anchor = label.argument or draft.anchor

    def _takes_title(self) -> bool:
        """Whether the innermost capturing container has no content yet."""
        outer = self._capturing[-1] if self._capturing else None
        return outer is not None and not outer.drafts and outer.start != _INTERRUPTED

    def _opens_solution(self, summary: BlockDraft) -> bool:
        """Whether a summary such as "Solution" makes its container a solution."""
        return (
            len(self._open) > 1
            and len(self._capturing) < _MAX_DEPTH
            and not self._open[-2].capture
            and SOLUTION_TITLE.match(summary.text) is not None
        )

    def _capture_solution(self, details: Container, summary: Container, title: BlockDraft) -> None:
        details.kind, details.capture = BlockKind.SOLUTION, True
        details.title, details.title_end = title.text, title.end
        if self._reached > details.start:
            details.start = summary.start
        self._capturing.append(details)

    def emit(self, draft: BlockDraft) -> None:
        """Add a block to the innermost capturing container, or to the output."""
        self._reached = max(self._reached, draft.end)
        while self._capturing:
            container = self._capturing[-1]
            heading = draft.kind is BlockKind.HEADING
            if heading and container.kind not in _NEVER_MERGED:
                self._dissolve(container)
            elif heading or draft.kind in _NEVER_MERGED:
                # An exercise in a note, a problem inside an exercise, or the heading of one.
                self._capturing.pop()
                self._flush(container, 0)
                self.emit(draft)
                self._capturing.append(container)
                container.start, container.title = _INTERRUPTED, ""
                return
            else:
                container.drafts.append(draft)
                return
        if draft.kind is BlockKind.HEADING:
            self._headings.append(draft)
        self._out.append(draft)

    def _dissolve(self, container: Container) -> None:
        """Emit a container's blocks separately: with a heading it is a section of the page."""
        self._capturing.pop()
        container.capture = False
        if container.title and container.start != _INTERRUPTED:
            self.emit(self.title_draft(container.title, container.start, container.title_end))
        for draft in container.drafts:
            self.emit(draft)
        container.drafts = []

    def take_before(self, start: int) -> BlockDraft | None:
        """Remove and return the paragraph directly before `start`, if there is one."""
        drafts = self._capturing[-1].drafts if self._capturing else self._out
        if not drafts or drafts[-1].kind is not BlockKind.PARAGRAPH or drafts[-1].included:
            return None
        return drafts.pop() if self._follows(drafts[-1], start) else None

    def _follows(self, draft: BlockDraft, start: int) -> bool:
        """Whether there are only blanks between a block and `start`."""
        if self._next_word[0] != draft.end:
            found = _WORD.search(self._source, draft.end)
            self._next_word = draft.end, found.start() if found else len(self._source)
        return start <= self._next_word[1]

    def apply_attributes(self, mark: Markup) -> None:
        """Set the id of an attribute list, `{#id}`, on the block directly before it."""
        match = _ID.search(mark.argument)
        drafts = self._capturing[-1].drafts if self._capturing else self._out
        if match and drafts and self._follows(drafts[-1], mark.start):
            drafts[-1].author_id = match.group(1)
            if drafts[-1].kind is BlockKind.HEADING:
                drafts[-1].anchor = match.group(1)


def _in_role(draft: BlockDraft, container: Container) -> list[BlockDraft]:
    """Adapt a block to the role of its container."""
    if container.kind is BlockKind.FOOTNOTE:
        return _as_footnotes(draft)
    adapt = _ROLES.get(container.role)
    return [adapt(draft, container) if adapt else draft]


def _as_footnotes(draft: BlockDraft) -> list[BlockDraft]:
    if draft.kind is BlockKind.LIST:
        return split_list(draft, BlockKind.FOOTNOTE)
    if draft.kind is not BlockKind.HEADING:
        draft.kind = BlockKind.FOOTNOTE
    return [draft]


def _as_heading(draft: BlockDraft, container: Container) -> BlockDraft:
    if draft.kind is BlockKind.PARAGRAPH:
        draft.kind, draft.level = BlockKind.HEADING, container.level
        draft.anchor = draft.author_id = container.author_id
    return draft


def _as_caption(draft: BlockDraft, _container: Container) -> BlockDraft:
    draft.caption = draft.kind is BlockKind.PARAGRAPH
    return draft


def _as_listing(draft: BlockDraft, container: Container) -> BlockDraft:
    if draft.kind is BlockKind.CODE:
        draft.title = draft.title or container.title
    return draft


def _as_table(draft: BlockDraft, container: Container) -> BlockDraft:
    if draft.kind is BlockKind.LIST:
        draft = _table_of_list(draft)
    draft.title = draft.title or container.title
    return draft


_ROLES: dict[str, Callable[[BlockDraft, Container], BlockDraft]] = {
    "heading": _as_heading,
    "caption": _as_caption,
    "listing": _as_listing,
    "table": _as_table,
}


def _table_of_list(draft: BlockDraft) -> BlockDraft:
    """Convert a `{list-table}`'s nested list: items are rows, nested items are cells."""
    rows: list[Part] = []
    for index, (part, inside) in enumerate(draft.by_part()):
        nested = [child for child in inside if child.kind is BlockKind.LIST]
        if not nested:
            return draft
        cells = [
            on_one_line("\n".join(draft.text for draft in cell))
            for child in nested
            for _, cell in child.by_part()
        ]
        rows.append(Part(BlockKind.TABLE, part.start, part.end, " | ".join(cells), index == 0))
    draft.kind, draft.parts = BlockKind.TABLE, tuple(rows)
    draft.text = "\n".join(row.text for row in rows)
    return draft
