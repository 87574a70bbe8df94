"""Converts markdown-it's tokens to block drafts, in source order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from app.adapters.markdown.parser.container_kinds import container_of, titled_kind
from app.adapters.markdown.parser.containers import Containers
from app.adapters.markdown.parser.drafts import (
    BlockDraft,
    Markup,
    MarkupClass,
    MarkupSpan,
    RawDirective,
    in_lines,
    merge,
    show_box,
    with_body,
)
from app.adapters.markdown.parser.html_blocks import component_draft, literal_draft
from app.adapters.markdown.parser.leaf_blocks import LeafBlockReader
from app.adapters.markdown.parser.running_text import Text, on_one_line
from app.adapters.markdown.parser.tags import BLOCK_NAMES, VOID_NAMES, HtmlTag
from app.domain.document import RUN_BOUNDARY, BlockKind, Part
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET

_PARAGRAPHS = ("paragraph", "inline")
"""Tokens that hold a paragraph's text."""
_ALERT = re.compile(r"^\[!(\w+)\][+-]?[ \t]*([^\n]*)\n?")


@dataclass(slots=True)
class ParsedFile:
    """The block drafts of one file, the spans of its mark-up, and its links."""

    drafts: list[BlockDraft]
    marks: list[MarkupSpan]
    links: list[str]
    """Link targets, in order."""


class BlockReader:
    """Walks the tokens of one file."""

    def __init__(self, leaf_blocks: LeafBlockReader) -> None:
        self._leaf_blocks = leaf_blocks
        self._marks = leaf_blocks.marks
        self._file = leaf_blocks.file
        self._tokens: Sequence[Token] = ()
        self._placed = 0
        self._containers = Containers(leaf_blocks.source, leaf_blocks.text)

    def read(self, tokens: list[Token]) -> None:
        """Read more tokens; the last one must end a block."""
        self._tokens = tokens
        place = self._containers.place
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "mark":
                self._mark(token.meta["found"])
                index += 1
                continue
            try:
                drafts, index = self._drafts_at(index, top=True)
            except FileRefused as error:
                if error.line or error.file != self._file or not token.map:
                    raise
                raise FileRefused(error.problem, error.file, token.map[0] + 1) from error
            self._placed += len(drafts)
            if self._placed > BUDGET.blocks:
                message = f"over {BUDGET.blocks:,} blocks: split the file"
                raise FileRefused(message, self._file, token.map[0] + 1 if token.map else 0)
            for draft in drafts:
                place(draft)

    def finish(self) -> ParsedFile:
        """Return the drafts of all blocks and the classified mark-up."""
        return ParsedFile(self._containers.finish(), self._marks, self._leaf_blocks.links)

    def _mark(self, mark: Markup) -> None:
        self._marks.append((mark.kind, mark.start, mark.end))
        if mark.closes:
            self._containers.close(mark)
        elif mark.kind is MarkupClass.ATTRIBUTE_LIST:
            self._containers.apply_attributes(mark)
        elif mark.kind is MarkupClass.LABEL:
            self._leaf_blocks.reserve(mark.argument)
            self._containers.label_next(mark)
        else:
            if mark.kind is MarkupClass.DIRECTIVE:
                self._containers.drop_anchor_of_label()
            if mark.opens:
                self._containers.open(mark)
            for draft in self._shown_by(mark):
                self._containers.emit(draft)

    def _shown_by(self, mark: Markup) -> list[BlockDraft]:
        """Return the blocks that a mark expands to: an included file or a component's texts."""
        if mark.tag is None or not mark.opens:
            included = self._leaf_blocks.includes.blocks(mark)
            if included is not None:
                return included
        if mark.kind is MarkupClass.EXPRESSION and mark.argument.strip():
            return [literal_draft(mark)]
        leaf_blocks = self._leaf_blocks
        draft = mark.tag and component_draft(leaf_blocks.source, mark.tag, leaf_blocks.text)
        return [draft] if draft else []

    def _nested_mark(self, token: Token) -> list[BlockDraft]:
        """Read mark-up inside a list or quote: only its title and texts, it opens no container."""
        mark: Markup = token.meta["found"]
        self._marks.append((mark.kind, mark.start, mark.end))
        title = container_of(mark).title if mark.opens else ""
        shown = [self._containers.title_draft(title, mark.start, mark.end)] if title else []
        return shown + self._shown_by(mark)

    def _drafts_at(self, index: int, top: bool = False) -> tuple[list[BlockDraft], int]:
        """Return the drafts of the block that begins at token `index`, and the next index."""
        token = self._tokens[index]
        if token.type == "paragraph":
            return self._paragraph(token, token.content, top), index + 1
        if token.type == "paragraph_open":
            return self._paragraph(token, self._tokens[index + 1].content, top), index + 3
        if token.type == "heading_open":
            heading = self._leaf_blocks.heading(token, self._tokens[index + 1].content)
            return [heading], index + 3
        composite = _COMPOSITES.get(token.type)
        if composite is not None:
            return composite(self, index)
        single = _SINGLES.get(token.type)
        return single(self, token) if single else [], index + 1

    def _directive(self, token: Token) -> list[BlockDraft]:
        directive: RawDirective = token.meta["found"]
        lines = self._leaf_blocks.lines
        header = MarkupClass.DIRECTIVE, lines[directive.opening], lines[directive.first]
        footer = MarkupClass.DIRECTIVE, lines[directive.last], lines[directive.stop]
        self._marks += (header, footer)
        return directive.read(self._leaf_blocks.source, lines, self._leaf_blocks.text)

    def _entry(self, token: Token) -> list[BlockDraft]:
        """Make a glossary entry from a term and a definition of one line each."""
        self._leaf_blocks.reserve_term(token.meta["term"])
        term, definition = (
            self._leaf_blocks.text(text) for text in (token.meta["term"], token.content)
        )
        start, end = token.meta["span"]
        parts = (Part(BlockKind.PARAGRAPH, token.meta["definition"], end, definition.text),)
        return [
            BlockDraft(
                BlockKind.GLOSSARY_ENTRY,
                f"{term.text}\n{definition.text}",
                f"{term.id_text} {definition.id_text}",
                start,
                end,
                runs=f"{term.runs}{RUN_BOUNDARY}{definition.runs}",
                terms=(term.text,) if term.text else (),
                parts=parts if definition.text else (),
            )
        ]

    def _only_markup(self, token: Token) -> list[BlockDraft]:
        kind = MarkupClass.RULE if token.type == "hr" else MarkupClass.REFERENCE_DEFINITION
        self._marks.append((kind, *self._leaf_blocks.span(token)))
        return []

    def _paragraph(self, token: Token, content: str, top: bool) -> list[BlockDraft]:
        start, end = token.meta.get("span") or self._leaf_blocks.span(token)
        included = ""
        if "{{" in content:
            content, included = self._leaf_blocks.includes.code(content, start)
        text = self._leaf_blocks.text(content)
        draft = self._leaf_blocks.paragraph(content, text, start, end)
        if draft and included:
            draft.included = included
        if top and text.tags:
            self._inline_tags(text, draft, end)
            return []
        return [draft] if draft else []

    def _inline_tags(self, text: Text, draft: BlockDraft | None, end: int) -> None:
        """Place a paragraph, then open and close containers for its inline tags."""
        if draft:
            self._containers.place(draft)
        for name in text.tags:
            bare = name.lstrip("/")
            tag = HtmlTag(bare, end, end)
            if name.startswith("/"):
                self._containers.close(Markup(MarkupClass.TAG, end, end, tag, closes=bare))
            elif bare.lower() in BLOCK_NAMES and bare.lower() not in VOID_NAMES:
                self._containers.open(Markup(MarkupClass.TAG, end, end, tag, opens=bare))

    def _close_index(self, index: int) -> int:
        """Return the index of the token that closes the one at `index`."""
        level, tokens = self._tokens[index].level, self._tokens
        position = index + 1
        while position < len(tokens) and not (
            tokens[position].level == level and tokens[position].nesting == -1
        ):
            position += 1
        return position

    def _inside(self, first: int, last: int) -> list[BlockDraft]:
        drafts: list[BlockDraft] = []
        index = first
        while index < last:
            found, index = self._drafts_at(index)
            drafts.extend(found)
        return drafts

    def _children(self, index: int, close: int) -> Iterator[tuple[Token, int, int]]:
        """Yield each child of the token at `index`, its index and its closing token's index."""
        position = index + 1
        while position < close:
            inner_close = self._close_index(position)
            yield self._tokens[position], position, inner_close
            position = inner_close + 1

    def _list(self, index: int) -> tuple[list[BlockDraft], int]:
        token = self._tokens[index]
        close = self._close_index(index)
        start, end = self._leaf_blocks.span(token)
        items: list[tuple[Token, list[BlockDraft]]] = []
        for item, position, item_close in self._children(index, close):
            items.append((item, self._inside(position + 1, item_close)))
            show_box(items[-1][1])
        everything = [draft for _, drafts in items for draft in drafts]
        if not everything:
            self._marks.append((MarkupClass.RULE, start, end))
            return [], close + 1
        draft = merge(BlockKind.LIST, everything)
        indented = draft.has_fence_or_table
        parts: list[Part] = []
        for marker, (item, drafts) in zip(_markers(items, token), items, strict=True):
            text = in_lines(drafts).replace("\n", "\n" + (" " * len(marker) if indented else "  "))
            item_start, item_end = self._leaf_blocks.span(item)
            parts.append(Part(BlockKind.LIST, item_start, item_end, marker + text))
        draft.text = "\n".join(part.text for part in parts)
        draft.parts, draft.start, draft.end = tuple(parts), start, end
        draft.author_id = ""
        draft.children = everything
        return [draft], close + 1

    def _quote(self, index: int) -> tuple[list[BlockDraft], int]:
        kind, title = BlockKind.QUOTE, ""
        following = self._tokens[index + 1 : min(index + 3, self._close_index(index))]
        first = next((token for token in following if token.type in _PARAGRAPHS), None)
        alert = _ALERT.match(first.content) if first else None
        if alert and first:
            title = alert.group(2).strip()
            kind = titled_kind(title)
            first.content = first.content[alert.end() :]
        return self._merged(index, kind, MarkupClass.RULE, title)

    def _footnote(self, index: int) -> tuple[list[BlockDraft], int]:
        return self._merged(index, BlockKind.FOOTNOTE, MarkupClass.REFERENCE_DEFINITION)

    def _merged(
        self, index: int, kind: BlockKind, empty: MarkupClass, title: str = ""
    ) -> tuple[list[BlockDraft], int]:
        """Join the blocks inside into one; without any, all is mark-up of the class `empty`."""
        close = self._close_index(index)
        start, end = self._leaf_blocks.span(self._tokens[index])
        drafts = self._inside(index + 1, close)
        if not drafts:
            self._marks.append((empty, start, end))
            return [], close + 1
        draft = merge(kind, drafts, title)
        draft.start, draft.end = start, end
        return [draft], close + 1

    def _table(self, index: int) -> tuple[list[BlockDraft], int]:
        close = self._close_index(index)
        start, end = self._leaf_blocks.span(self._tokens[index])
        rows: list[Part] = []
        everything: list[Text] = []
        for opening, cells, header in self._rows(self._tokens[index + 1 : close]):
            span = self._leaf_blocks.span(opening) if opening.map else (start, end)
            row = " | ".join(on_one_line(cell.text) for cell in cells)
            rows.append(Part(BlockKind.TABLE, *span, row, header))
            everything.extend(cells)
        text = "\n".join(row.text for row in rows)
        return [
            BlockDraft(
                BlockKind.TABLE,
                text,
                " ".join(cell.id_text for cell in everything),
                start,
                end,
                runs=RUN_BOUNDARY.join(cell.runs for cell in everything),
                terms=tuple(dict.fromkeys(term for cell in everything for term in cell.terms)),
                parts=tuple(rows),
            )
        ], close + 1

    def _rows(self, tokens: Iterable[Token]) -> Iterator[tuple[Token, list[Text], bool]]:
        """Yield each row's opening token, its cells, and whether it is in the table head."""
        header = False
        for token in tokens:
            if token.type in ("thead_open", "tbody_open"):
                header = token.type == "thead_open"
            elif token.type == "tr_open":
                opening, cells = token, []
            elif token.type == "inline":
                cells.append(self._leaf_blocks.text(token.content))
            elif token.type == "tr_close":
                yield opening, cells, header

    def _definitions(self, index: int) -> tuple[list[BlockDraft], int]:
        """Make an entry from adjacent terms and the definitions after them."""
        close = self._close_index(index)
        entries: list[tuple[BlockDraft, list[BlockDraft]]] = []
        terms: list[tuple[Text, int]] = []
        for token, position, inner_close in self._children(index, close):
            start, end = self._leaf_blocks.span(token)
            if token.type == "dt_open":
                term = self._tokens[position + 1].content
                self._leaf_blocks.reserve_term(term)
                terms.append((self._leaf_blocks.text(term), start))
                continue
            if terms:
                entries.append((self._defined(terms, end), []))
                terms = []
            body = self._inside(position + 1, inner_close)
            if entries:
                entries[-1][0].end = max(entries[-1][0].end, end)
                entries[-1][1].extend(body)
        return [with_body(entry, body) for entry, body in entries], close + 1

    def _defined(self, terms: Sequence[tuple[Text, int]], end: int) -> BlockDraft:
        """Make an entry from terms and their offsets; the first definition begins at `end`."""
        start, _ = self._leaf_blocks.trim(terms[0][1], end)
        return BlockDraft(
            BlockKind.GLOSSARY_ENTRY,
            "\n".join(text.text for text, _ in terms),
            " ".join(text.id_text for text, _ in terms),
            start,
            end,
            runs=RUN_BOUNDARY.join(text.runs for text, _ in terms),
            terms=tuple(text.text for text, _ in terms if text.text),
        )

    def _stray_definition(self, index: int) -> tuple[list[BlockDraft], int]:
        """Join a definition to the paragraph before it; that paragraph's lines are the terms."""
        close = self._close_index(index)
        start, end = self._leaf_blocks.span(self._tokens[index])
        drafts = self._inside(index + 1, close)
        top = self._tokens[index].level == 0
        term = self._containers.take_before(start) if top else None
        if term is None or not drafts:
            self._marks.append((MarkupClass.DIRECTIVE, start, start + 1))
            return [*([term] if term else []), *drafts], close + 1
        names = tuple(line for line in term.text.split("\n") if line)
        entry = merge(BlockKind.GLOSSARY_ENTRY, [term, *drafts])
        entry.text = in_lines([term, *drafts])
        entry.start, entry.end, entry.terms = term.start, end, names
        entry.parts = tuple(part for draft in drafts for part in draft.as_parts())
        return [entry], close + 1


_COMPOSITES: dict[str, Callable[[BlockReader, int], tuple[list[BlockDraft], int]]] = {
    "bullet_list_open": BlockReader._list,
    "ordered_list_open": BlockReader._list,
    "blockquote_open": BlockReader._quote,
    "table_open": BlockReader._table,
    "dl_open": BlockReader._definitions,
    "footnote_open": BlockReader._footnote,
    "definition_open": BlockReader._stray_definition,
}
_SINGLES: dict[str, Callable[[BlockReader, Token], list[BlockDraft]]] = {
    "fence": lambda reader, token: reader._leaf_blocks.verbatim(token),
    "code_block": lambda reader, token: reader._leaf_blocks.verbatim(token),
    "math_block": lambda reader, token: reader._leaf_blocks.verbatim(token),
    "raw": lambda reader, token: reader._leaf_blocks.raw(token),
    "directive": BlockReader._directive,
    "mark": BlockReader._nested_mark,
    "entry": BlockReader._entry,
    "definition": BlockReader._only_markup,
    "hr": BlockReader._only_markup,
}


def _markers(items: Sequence[tuple[Token, object]], listing: Token) -> list[str]:
    """Return numbers for an ordered list that the author numbered consecutively, else dashes."""
    if listing.type == "ordered_list_open" and items:
        numbers = [item.info for item, _ in items]
        first = numbers[0]
        if first.isdigit() and all(
            number == str(int(first) + offset) for offset, number in enumerate(numbers)
        ):
            return [f"{number}. " for number in numbers]
    return ["- "] * len(items)
