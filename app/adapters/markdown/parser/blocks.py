"""From markdown-it's tokens to drafts of blocks, in source order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from app.adapters.markdown.myst.directive_blocks import read_directive
from app.adapters.markdown.myst.directives import Directive
from app.adapters.markdown.parser.components import component_piece, literal_piece
from app.adapters.markdown.parser.containers import Containers
from app.adapters.markdown.parser.drafts import Piece, merge, show_box
from app.adapters.markdown.parser.leaf_blocks import LeafReader
from app.adapters.markdown.parser.markup import Mark, MarkClass, MarkSpan
from app.adapters.markdown.parser.open_containers import scope_of, titled_kind
from app.adapters.markdown.parser.running_text import Text
from app.adapters.markdown.parser.tags import BLOCK_NAMES, VOID_NAMES, Tag
from app.domain.document import RUN_BOUNDARY, BlockKind, Part
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET

_PARAGRAPHS = ("paragraph", "inline")
"""Tokens that hold a paragraph's text."""
_ALERT = re.compile(r"^\[!(\w+)\][+-]?[ \t]*([^\n]*)\n?")


@dataclass(slots=True)
class ParsedFile:
    """One file's drafts and where its mark-up is."""

    pieces: list[Piece]
    marks: list[MarkSpan]
    links: list[str]
    """Targets of its links, in order."""


class BlockReader:
    """Walks the tokens of one file."""

    def __init__(self, leaves: LeafReader) -> None:
        self._leaves = leaves
        self._marks = leaves.marks
        self._file = leaves.file
        self._tokens: Sequence[Token] = ()
        self._placed = 0
        self._containers = Containers(leaves.source, leaves.text)

    def read(self, tokens: list[Token]) -> None:
        """Read the next tokens, which end with a whole block."""
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
                pieces, index = self._pieces_at(index, top=True)
            except FileRefused as error:
                if error.line or error.file != self._file or not token.map:
                    raise
                raise FileRefused(error.problem, error.file, token.map[0] + 1) from error
            self._placed += len(pieces)
            if self._placed > BUDGET.blocks:
                message = f"over {BUDGET.blocks:,} blocks: split the file"
                raise FileRefused(message, self._file, token.map[0] + 1 if token.map else 0)
            for piece in pieces:
                place(piece)

    def finish(self) -> ParsedFile:
        """Return the drafts of all of the file's blocks and its classified mark-up."""
        return ParsedFile(self._containers.finish(), self._marks, self._leaves.links)

    def _mark(self, mark: Mark) -> None:
        self._marks.append((mark.kind, mark.start, mark.end))
        if mark.closes:
            self._containers.close(mark)
        elif mark.kind is MarkClass.ATTRIBUTE_LIST:
            self._containers.apply_attributes(mark)
        elif mark.kind is MarkClass.LABEL:
            self._containers.label_next(mark.name)
        else:
            if mark.opens:
                self._containers.open(mark)
            for piece in self._shown_by(mark):
                self._containers.emit(piece)

    def _shown_by(self, mark: Mark) -> list[Piece]:
        """Return the blocks that a mark stands for: an include's, a component's texts."""
        if mark.tag is None or not mark.opens:
            included = self._leaves.includes.blocks(mark)
            if included is not None:
                return included
        if mark.kind is MarkClass.EXPRESSION and mark.argument.strip():
            return [literal_piece(mark)]
        piece = component_piece(self._leaves.source, mark.tag) if mark.tag else None
        return [piece] if piece is not None else []

    def _nested_mark(self, mark: Mark) -> list[Piece]:
        """Mark-up inside a list or quote opens no container, but what it shows is text."""
        self._marks.append((mark.kind, mark.start, mark.end))
        title = scope_of(mark).title if mark.opens else ""
        shown = [self._containers.title_piece(title, mark.start, mark.end)] if title else []
        return shown + self._shown_by(mark)

    def _pieces_at(self, index: int, top: bool = False) -> tuple[list[Piece], int]:
        """Return the drafts of the block that begins at token `index`, and the next index."""
        token = self._tokens[index]
        if token.type == "paragraph":
            return self._paragraph(token, token.content, top), index + 1
        if token.type == "paragraph_open":
            return self._paragraph(token, self._tokens[index + 1].content, top), index + 3
        if token.type == "heading_open":
            heading = self._leaves.heading(token, self._tokens[index + 1].content)
            return [heading], index + 3
        composite = _COMPOSITES.get(token.type)
        if composite is not None:
            return composite(self, index)
        single = _SINGLES.get(token.type)
        return single(self, token) if single else [], index + 1

    def _verbatim(self, token: Token) -> list[Piece]:
        return self._leaves.verbatim(token)

    def _raw(self, token: Token) -> list[Piece]:
        return self._leaves.raw(token)

    def _directive(self, token: Token) -> list[Piece]:
        directive: Directive = token.meta["directive"]
        lines = self._leaves.lines
        header = MarkClass.DIRECTIVE, lines[directive.opening], lines[directive.first]
        footer = MarkClass.DIRECTIVE, lines[directive.last], lines[directive.stop]
        self._marks += (header, footer)
        return read_directive(self._leaves.source, directive, lines)

    def _nested(self, token: Token) -> list[Piece]:
        return self._nested_mark(token.meta["found"])

    def _entry(self, token: Token) -> list[Piece]:
        """Make a glossary entry of a term and a definition of one line each."""
        term, definition = (self._leaves.text(text) for text in (token.meta["term"], token.content))
        start, end = token.meta["span"]
        parts = (Part(BlockKind.PARAGRAPH, token.meta["definition"], end, definition.text),)
        return [
            Piece(
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

    def _rule(self, token: Token) -> list[Piece]:
        self._marks.append((MarkClass.RULE, *self._leaves.span(token)))
        return []

    def _definition_of_link(self, token: Token) -> list[Piece]:
        self._marks.append((MarkClass.REFERENCE_DEFINITION, *self._leaves.span(token)))
        return []

    def _paragraph(self, token: Token, content: str, top: bool) -> list[Piece]:
        start, end = token.meta.get("span") or self._leaves.span(token)
        included = ""
        if "{{" in content:
            content, included = self._leaves.includes.code(content, start)
        text = self._leaves.text(content)
        piece = self._leaves.paragraph(content, text, start, end)
        if piece and included:
            piece.included = included
        if top and text.tags:
            self._inline_tags(text, piece, end)
            return []
        return [piece] if piece else []

    def _inline_tags(self, text: Text, piece: Piece | None, end: int) -> None:
        """Place a paragraph, then open and close the block containers its inline tags name."""
        if piece:
            self._containers.place(piece)
        for name in text.tags:
            bare = name.lstrip("/")
            tag = Tag(bare, end, end)
            if name.startswith("/"):
                self._containers.close(Mark(MarkClass.TAG, end, end, tag, closes=bare))
            elif bare.lower() in BLOCK_NAMES and bare.lower() not in VOID_NAMES:
                self._containers.open(Mark(MarkClass.TAG, end, end, tag, opens=bare))

    def _close_index(self, index: int) -> int:
        """Return the index of the token that closes the one at `index`."""
        level, tokens = self._tokens[index].level, self._tokens
        position = index + 1
        while position < len(tokens) and not (
            tokens[position].level == level and tokens[position].nesting == -1
        ):
            position += 1
        return position

    def _inside(self, first: int, last: int) -> list[Piece]:
        pieces: list[Piece] = []
        index = first
        while index < last:
            found, index = self._pieces_at(index)
            pieces.extend(found)
        return pieces

    def _list(self, index: int) -> tuple[list[Piece], int]:
        token = self._tokens[index]
        close = self._close_index(index)
        start, end = self._leaves.span(token)
        items: list[tuple[Token, list[Piece]]] = []
        position = index + 1
        while position < close:
            item_close = self._close_index(position)
            items.append((self._tokens[position], self._inside(position + 1, item_close)))
            position = item_close + 1
        for _, pieces in items:
            show_box(pieces)
        markers = _markers([item for item, _ in items], token)
        parts: list[Part] = []
        for marker, (item, pieces) in zip(markers, items, strict=True):
            text = "\n".join(piece.text for piece in pieces)
            item_start, item_end = self._leaves.span(item)
            parts.append(
                Part(BlockKind.LIST, item_start, item_end, marker + text.replace("\n", "\n  "))
            )
        everything = [piece for _, pieces in items for piece in pieces]
        if not everything:
            self._marks.append((MarkClass.RULE, start, end))
            return [], close + 1
        piece = merge(BlockKind.LIST, everything)
        piece.text = "\n".join(part.text for part in parts)
        piece.parts, piece.start, piece.end = tuple(parts), start, end
        piece.author_id = ""
        piece.children = everything
        return [piece], close + 1

    def _quote(self, index: int) -> tuple[list[Piece], int]:
        close = self._close_index(index)
        start, end = self._leaves.span(self._tokens[index])
        kind, title = BlockKind.QUOTE, ""
        following = self._tokens[index + 1 : min(index + 3, close)]
        first = next((token for token in following if token.type in _PARAGRAPHS), None)
        alert = _ALERT.match(first.content) if first else None
        if alert and first:
            title = alert.group(2).strip()
            kind = titled_kind(title)
            first.content = first.content[alert.end() :]
        pieces = self._inside(index + 1, close)
        if not pieces:
            self._marks.append((MarkClass.RULE, start, end))
            return [], close + 1
        piece = merge(kind, pieces, title)
        piece.start, piece.end = start, end
        return [piece], close + 1

    def _table(self, index: int) -> tuple[list[Piece], int]:
        close = self._close_index(index)
        start, end = self._leaves.span(self._tokens[index])
        rows: list[Part] = []
        cells: list[Text] = []
        everything: list[Text] = []
        header = False
        row_span = (start, end)
        for token in self._tokens[index + 1 : close]:
            if token.type == "thead_open":
                header = True
            elif token.type == "tbody_open":
                header = False
            elif token.type == "tr_open":
                cells, row_span = [], self._leaves.span(token) if token.map else (start, end)
            elif token.type == "inline":
                cells.append(self._leaves.text(token.content))
            elif token.type == "tr_close":
                row = " | ".join(cell.text for cell in cells)
                rows.append(Part(BlockKind.TABLE, *row_span, row, header))
                everything.extend(cells)
        text = "\n".join(row.text for row in rows)
        return [
            Piece(
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

    def _definitions(self, index: int) -> tuple[list[Piece], int]:
        close = self._close_index(index)
        entries: list[Piece] = []
        bodies: list[list[Piece]] = []
        terms: list[tuple[Text, int]] = []
        position = index + 1
        while position < close:
            inner_close = self._close_index(position)
            token = self._tokens[position]
            if token.type == "dt_open":
                text = self._leaves.text(self._tokens[position + 1].content)
                terms.append((text, self._leaves.span(token)[0]))
            else:
                body = self._definition(entries, terms, position, inner_close)
                if len(entries) > len(bodies):
                    bodies.append([])
                if bodies:
                    bodies[-1].extend(body)
            position = inner_close + 1
        for entry, body in zip(entries, bodies, strict=True):
            entry.text = "\n".join([entry.text, *(piece.text for piece in body)])
            entry.id_text = " ".join([entry.id_text, *(piece.id_text for piece in body)])
            entry.runs = RUN_BOUNDARY.join([entry.runs, *(piece.runs for piece in body)])
            entry.parts = tuple(part for piece in body for part in piece.as_parts())
        return entries, close + 1

    def _definition(
        self, entries: list[Piece], terms: list[tuple[Text, int]], index: int, close: int
    ) -> list[Piece]:
        """Return what the definition says; the terms before it, if any, begin a new entry."""
        pieces = self._inside(index + 1, close)
        _, end = self._leaves.span(self._tokens[index])
        if terms:
            shown = "\n".join(text.text for text, _ in terms)
            start, _ = self._leaves.trim(terms[0][1], end)
            entry = Piece(
                BlockKind.GLOSSARY_ENTRY,
                shown,
                " ".join(text.id_text for text, _ in terms),
                start,
                end,
                runs=RUN_BOUNDARY.join(text.runs for text, _ in terms),
                terms=tuple(text.text for text, _ in terms if text.text),
            )
            entries.append(entry)
            terms.clear()
        if entries:
            entries[-1].end = max(entries[-1].end, end)
        return pieces

    def _stray_definition(self, index: int) -> tuple[list[Piece], int]:
        """Join a definition to the paragraph before it, whose lines are its terms."""
        close = self._close_index(index)
        start, end = self._leaves.span(self._tokens[index])
        pieces = self._inside(index + 1, close)
        top = self._tokens[index].level == 0
        term = self._containers.take_before(start) if top else None
        if term is None or not pieces:
            self._marks.append((MarkClass.DIRECTIVE, start, start + 1))
            return [*([term] if term else []), *pieces], close + 1
        names = tuple(line for line in term.text.split("\n") if line)
        entry = merge(BlockKind.GLOSSARY_ENTRY, [term, *pieces])
        entry.text = "\n".join([term.text, *(piece.text for piece in pieces)])
        entry.start, entry.end, entry.terms = term.start, end, names
        entry.parts = tuple(part for piece in pieces for part in piece.as_parts())
        return [entry], close + 1

    def _footnote(self, index: int) -> tuple[list[Piece], int]:
        close = self._close_index(index)
        start, end = self._leaves.span(self._tokens[index])
        pieces = self._inside(index + 1, close)
        if not pieces:
            self._marks.append((MarkClass.REFERENCE_DEFINITION, start, end))
            return [], close + 1
        piece = merge(BlockKind.FOOTNOTE, pieces)
        piece.start, piece.end = start, end
        return [piece], close + 1


_COMPOSITES: dict[str, Callable[[BlockReader, int], tuple[list[Piece], int]]] = {
    "bullet_list_open": BlockReader._list,
    "ordered_list_open": BlockReader._list,
    "blockquote_open": BlockReader._quote,
    "table_open": BlockReader._table,
    "dl_open": BlockReader._definitions,
    "footnote_open": BlockReader._footnote,
    "definition_open": BlockReader._stray_definition,
}
_SINGLES: dict[str, Callable[[BlockReader, Token], list[Piece]]] = {
    "fence": BlockReader._verbatim,
    "code_block": BlockReader._verbatim,
    "math_block": BlockReader._verbatim,
    "raw": BlockReader._raw,
    "directive": BlockReader._directive,
    "mark": BlockReader._nested,
    "entry": BlockReader._entry,
    "definition": BlockReader._definition_of_link,
    "hr": BlockReader._rule,
}


def _markers(items: Sequence[Token], listing: Token) -> list[str]:
    """Numbers as the reader sees them where the author wrote those numbers, else dashes."""
    if listing.type == "ordered_list_open" and items:
        first = items[0].info
        if first.isdigit() and all(
            item.info == str(int(first) + offset) for offset, item in enumerate(items)
        ):
            return [f"{item.info}. " for item in items]
    return ["- "] * len(items)
