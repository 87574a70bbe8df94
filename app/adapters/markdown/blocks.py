"""From markdown-it's tokens to drafts of blocks, in source order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.anchors import HeadingSource, Slugger, heading_source
from app.adapters.markdown.code import read_fence
from app.adapters.markdown.inline import InlineReader, Text
from app.adapters.markdown.marks import Dialect, Mark, MarkClass, RawElement
from app.adapters.markdown.pieces import Piece, merge
from app.adapters.markdown.raw_html import read_question, read_raw
from app.adapters.markdown.scopes import SOLUTION_TITLE, Scope, scope_of
from app.adapters.markdown.tags import BLOCK_NAMES, VOID_NAMES, Tag
from app.domain.document import RUN_BOUNDARY, BlockKind, Part, Span

Include = Callable[[Mark], "list[Piece] | None"]
"""Resolves an include directive or a component made from an imported partial."""

_CAPTION = re.compile(r"^(?:figure|fig\.|table|listing|image|diagram)\s*[\dA-Z]", re.IGNORECASE)
_ALERT = re.compile(r"^\[!(\w+)\][+-]?[ \t]*([^\n]*)\n?")
_ID = re.compile(r"#([\w:.-]+)")
_STRONG = (BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY)
"""Kinds that are blocks of their own wherever they stand."""


@dataclass(slots=True)
class ParsedFile:
    """One file's drafts and where its mark-up is."""

    pieces: list[Piece]
    marks: list[tuple[MarkClass, int, int]]


class BlockReader:
    """Walks the tokens of one file."""

    def __init__(
        self,
        source: str,
        env: EnvType,
        inline: InlineReader,
        dialect: Dialect,
        slugger: Slugger,
        include: Include,
        resolve_code: Callable[[str, int], tuple[str, str]],
    ) -> None:
        self._source = source
        self._env = env
        self._inline = inline
        self._dialect = dialect
        self._slugger = slugger
        self._include = include
        self._resolve_code = resolve_code
        self._starts: dict[int, int] = env["starts"]
        self._lines: list[int] = env["lines"]
        self._tokens: Sequence[Token] = ()
        self._out: list[Piece] = []
        self._marks: list[tuple[MarkClass, int, int]] = []
        self._scopes: list[Scope] = []
        self._open_names: dict[str, int] = {}
        self._capturing: list[Scope] = []

    def read(self, tokens: Sequence[Token]) -> ParsedFile:
        """Return the drafts of all of the file's blocks and its classified mark-up."""
        self._tokens = tokens
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "mark":
                self._mark(token.meta["found"])
                index += 1
                continue
            pieces, index = self._pieces_at(index, top=True)
            for piece in pieces:
                self._place(piece)
        while self._scopes:
            self._close(self._scopes[-1], 0)
        return ParsedFile(self._out, self._marks)

    # --- containers -------------------------------------------------------------------------

    def _mark(self, mark: Mark) -> None:
        self._marks.append((mark.kind, mark.start, mark.end))
        tag = mark.tag
        if mark.closes:
            self._close_named(mark)
        elif mark.opens:
            self._open(mark)
        elif mark.kind is MarkClass.INCLUDE:
            for piece in self._include(mark) or ():
                self._emit(piece)
        elif mark.kind is MarkClass.ATTRIBUTE_LIST:
            self._apply_attributes(mark)
        elif mark.kind is MarkClass.LABEL:
            self._env["label"] = mark.name
        elif tag is not None:
            self._void_tag(mark, tag)

    def _void_tag(self, mark: Mark, tag: Tag) -> None:
        if tag.is_component and mark.kind is MarkClass.TAG:
            included = self._include(mark)
            if included is not None:
                for piece in included:
                    self._emit(piece)
                return
        piece = read_question(self._source, tag)
        if piece is not None:
            self._emit(piece)

    def _open(self, mark: Mark) -> None:
        scope = scope_of(mark)
        self._scopes.append(scope)
        self._open_names[scope.name] = self._open_names.get(scope.name, 0) + 1
        if scope.capture:
            self._capturing.append(scope)
        if scope.role == "listing" and mark.tag is not None:
            self._listing_caption(mark.tag, scope)
        elif scope.title and not scope.capture and mark.tag is not None:
            self._emit(self._title_piece(scope.title, mark.start, mark.end))
        if mark.tag is not None:
            piece = read_question(self._source, mark.tag)
            if piece is not None:
                self._emit(piece)

    def _title_piece(self, title: str, start: int, end: int) -> Piece:
        text = self._inline.read(title, self._env)
        return Piece(BlockKind.PARAGRAPH, text.text, text.text, start, end, runs=text.runs)

    def _listing_caption(self, tag: Tag, scope: Scope) -> None:
        number, caption = tag.get("number"), tag.get("caption")
        text = self._inline.read(caption, self._env).text if caption else ""
        names = list(tag.attributes)
        in_order = not number or not caption or names.index("number") < names.index("caption")
        if number and in_order:
            text = f"{tag.name} {number}" + (f": {text}" if text else "")
        scope.title = text or tag.get("file-name")
        if text:
            self._emit(Piece(BlockKind.PARAGRAPH, text, text, tag.start, tag.end, runs=text))

    def _close_named(self, mark: Mark) -> None:
        if mark.tag is None:
            for scope in reversed(self._scopes):
                if scope.name.startswith(":::"):
                    if len(scope.name) <= len(mark.closes):
                        self._close(scope, mark.end)
                    return
            return
        if self._open_names.get(mark.closes):
            for scope in reversed(self._scopes):
                if scope.name == mark.closes:
                    self._close(scope, mark.end)
                    return

    def _close(self, scope: Scope, end: int) -> None:
        """Close `scope` and all that was opened in it and not closed."""
        while self._scopes:
            last = self._scopes.pop()
            self._open_names[last.name] -= 1
            if last.capture:
                self._capturing.pop()
                self._flush(last, end if last is scope else 0)
            if last is scope:
                return

    def _flush(self, scope: Scope, end: int) -> None:
        """Emit what a capturing scope has collected as one block."""
        if scope.kind is None:
            return
        if not scope.pieces:
            if scope.title and end:
                piece = self._title_piece(scope.title, scope.start, end)
                piece.kind = scope.kind
                self._emit(piece)
            return
        title = self._inline.read(scope.title, self._env).text if scope.title else ""
        piece = merge(scope.kind, scope.pieces, title)
        piece.start = min(scope.start, piece.start)
        piece.end = max(end, piece.end)
        piece.author_id = scope.author_id or piece.author_id
        scope.pieces = []
        self._emit(piece)

    def _place(self, piece: Piece) -> None:
        """Emit a block read at the top level, after the role of the scope it stands in."""
        if not self._scopes:
            self._out.append(piece)
            return
        scope = self._scopes[-1]
        if scope.role and piece.kind is BlockKind.PARAGRAPH:
            if scope.role == "title" and self._capturing:
                outer = self._capturing[-1]
                outer.title = f"{outer.title} {piece.text}".strip()
                return
            if scope.role == "summary":
                self._summary(piece)
                return
            if scope.role == "heading":
                piece.kind, piece.level = BlockKind.HEADING, scope.level
                piece.anchor = piece.author_id = scope.author_id
        if scope.role == "listing" and piece.kind is BlockKind.CODE and not piece.title:
            piece.title = scope.title
        elif scope.kind is BlockKind.FOOTNOTE and piece.kind is not BlockKind.HEADING:
            piece.kind = BlockKind.FOOTNOTE
        self._emit(piece)

    def _summary(self, piece: Piece) -> None:
        details = self._scopes[-2] if len(self._scopes) > 1 else None
        if details is not None and SOLUTION_TITLE.match(piece.text):
            details.kind, details.capture = BlockKind.SOLUTION, True
            details.title = piece.text
            self._capturing.append(details)
        else:
            self._emit(piece)

    def _emit(self, piece: Piece) -> None:
        while self._capturing:
            scope = self._capturing[-1]
            if piece.kind is BlockKind.HEADING:
                self._dissolve(scope)
            elif piece.kind in _STRONG and piece.kind is not scope.kind:
                self._capturing.pop()
                self._flush(scope, 0)
                self._emit(piece)
                self._capturing.append(scope)
                scope.start = piece.end
                scope.title = ""
                return
            elif piece.kind is scope.kind and piece.kind in _STRONG:
                # An exercise's own problem: the outer container is only a wrapper.
                self._capturing.pop()
                self._flush(scope, 0)
                self._emit(piece)
                self._capturing.append(scope)
                scope.start = piece.end
                return
            else:
                scope.pieces.append(piece)
                return
        self._out.append(piece)

    def _dissolve(self, scope: Scope) -> None:
        """A container with a heading inside is part of the page: let its blocks out one by one."""
        self._capturing.pop()
        scope.capture = False
        if scope.title:
            line_end = self._source.find("\n", scope.start)
            end = line_end if line_end >= 0 else len(self._source)
            if scope.pieces:
                end = min(end, scope.pieces[0].start)
            self._emit(self._title_piece(scope.title, scope.start, end))
        for piece in scope.pieces:
            if scope.kind in _STRONG and piece.kind in (BlockKind.PARAGRAPH, BlockKind.LIST):
                piece.kind = scope.kind or piece.kind
            self._emit(piece)
        scope.pieces = []

    def _apply_attributes(self, mark: Mark) -> None:
        match = _ID.search(mark.argument)
        pieces = self._capturing[-1].pieces if self._capturing else self._out
        if match and pieces and not self._source[pieces[-1].end : mark.start].strip():
            pieces[-1].author_id = match.group(1)
            if pieces[-1].kind is BlockKind.HEADING:
                pieces[-1].anchor = match.group(1)

    # --- leaves -----------------------------------------------------------------------------

    def _span(self, token: Token) -> Span:
        if token.map is None:
            return 0, 0
        first, last = token.map
        start = self._starts.get(first, self._lines[first])
        return self._trim(start, self._lines[last])

    def _trim(self, start: int, end: int) -> Span:
        segment = self._source[start:end]
        length = len(segment)
        return (
            start + length - len(segment.lstrip()),
            end - (length - len(segment.rstrip())),
        )

    def _pieces_at(self, index: int, top: bool = False) -> tuple[list[Piece], int]:
        """Return the drafts of the block that begins at token `index`, and the next index."""
        token = self._tokens[index]
        kind = token.type
        if kind == "paragraph":
            return self._paragraph(token, token.content, top), index + 1
        if kind == "paragraph_open":
            return self._paragraph(token, self._tokens[index + 1].content, top), index + 3
        if kind == "heading_open":
            return [self._heading(index)], index + 3
        if kind in ("fence", "code_block", "math_block"):
            return self._verbatim(token), index + 1
        if kind == "raw":
            return self._raw(token), index + 1
        if kind in ("bullet_list_open", "ordered_list_open"):
            return self._list(index)
        if kind == "blockquote_open":
            return self._quote(index)
        if kind == "table_open":
            return self._table(index)
        if kind == "dl_open":
            return self._definitions(index)
        if kind == "footnote_open":
            return self._footnote(index)
        if kind == "mark":
            found: Mark = token.meta["found"]
            self._marks.append((found.kind, found.start, found.end))
            piece = read_question(self._source, found.tag) if found.tag else None
            return [piece] if piece else [], index + 1
        if kind in ("definition", "hr"):
            start, end = self._span(token)
            known = MarkClass.RULE if kind == "hr" else MarkClass.REFERENCE_DEFINITION
            self._marks.append((known, start, end))
        return [], index + 1

    def _paragraph(self, token: Token, content: str, top: bool) -> list[Piece]:
        start, end = token.meta.get("span") or self._span(token)
        text = self._inline.read(content, self._env)
        piece = self._paragraph_piece(content, text, start, end)
        if top and text.tags:
            self._inline_tags(text, piece, end)
            return []
        return [piece] if piece else []

    def _paragraph_piece(self, content: str, text: Text, start: int, end: int) -> Piece | None:
        if not text.text:
            self._marks.append((_class_of(content), start, end))
            return None
        kind = BlockKind.PARAGRAPH
        if text.only_images:
            kind = BlockKind.FIGURE
        elif (content.startswith("$$") and content.endswith("$$") and not text.id_text.strip()) or (
            text.text[0] in "\\$" and not text.id_text.strip()
        ):
            kind = BlockKind.MATH
        piece = Piece(kind, text.text, text.id_text, start, end, runs=text.runs, terms=text.terms)
        piece.author_id = text.anchor
        piece.caption = content[0] in "*_" == content[-1] and bool(_CAPTION.match(text.text))
        return piece

    def _inline_tags(self, text: Text, piece: Piece | None, end: int) -> None:
        """Place a paragraph, then open and close the block containers its inline tags name."""
        if piece:
            self._place(piece)
        for name in text.tags:
            bare = name.lstrip("/")
            if name.startswith("/"):
                if self._open_names.get(bare):
                    self._close_named(
                        Mark(MarkClass.TAG, end, end, Tag(bare, end, end), closes=bare)
                    )
            elif bare.lower() in BLOCK_NAMES and bare.lower() not in VOID_NAMES:
                self._open(Mark(MarkClass.TAG, end, end, Tag(bare, end, end), opens=bare))

    def _heading(self, index: int) -> Piece:
        token, content = self._tokens[index], self._tokens[index + 1].content
        start, end = self._span(token)
        heading: HeadingSource = heading_source(content, self._dialect)
        text = self._inline.read(heading.content, self._env)
        level = int(token.tag[1])
        slug_text = self._inline.slug_text(heading.content, self._env, self._slugger.policy)
        anchor = self._slugger.anchor(slug_text, level, heading.explicit_id)
        return Piece(
            BlockKind.HEADING,
            text.text,
            text.id_text,
            start,
            end,
            runs=text.runs,
            level=level,
            author_id=heading.explicit_id,
            anchor=anchor,
        )

    def _verbatim(self, token: Token) -> list[Piece]:
        start, end = self._span(token)
        if token.type == "math_block":
            return [Piece(BlockKind.MATH, token.content.strip(), token.content, start, end)]
        code = read_fence(token, self._dialect)
        if code.language == "math":
            return [Piece(BlockKind.MATH, code.text.strip(), code.text, start, end)]
        text, included = self._resolve_code(code.text, start)
        text = code.visible(text)
        if not text:
            self._marks.append(
                (MarkClass.INCLUDE if "{{" in code.text else MarkClass.RULE, start, end)
            )
            return []
        runs = text.replace("\n", RUN_BOUNDARY)
        return [
            Piece(
                BlockKind.CODE,
                text,
                text,
                start,
                end,
                runs=runs,
                language=code.language,
                title=code.title,
                included=included,
            )
        ]

    def _raw(self, token: Token) -> list[Piece]:
        element: RawElement = token.meta["found"]
        pieces = read_raw(self._source, element)
        if not pieces:
            self._marks.append((MarkClass.EMBED, element.start, element.end))
        return pieces

    # --- composite blocks -------------------------------------------------------------------

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
        start, end = self._span(token)
        items: list[tuple[Token, list[Piece]]] = []
        position = index + 1
        while position < close:
            item_close = self._close_index(position)
            items.append((self._tokens[position], self._inside(position + 1, item_close)))
            position = item_close + 1
        markers = _markers([item for item, _ in items], token)
        parts: list[Part] = []
        for marker, (item, pieces) in zip(markers, items, strict=True):
            text = "\n".join(piece.text for piece in pieces)
            item_start, item_end = self._span(item)
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
        start, end = self._span(self._tokens[index])
        kind, title = BlockKind.QUOTE, ""
        first = self._tokens[index + 2] if index + 2 < close else None
        alert = _ALERT.match(first.content) if first and first.type == "inline" else None
        if alert and first:
            kind, title = BlockKind.ADMONITION, alert.group(2).strip()
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
        start, end = self._span(self._tokens[index])
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
                cells, row_span = [], self._span(token) if token.map else (start, end)
            elif token.type == "inline":
                cells.append(self._inline.read(token.content, self._env))
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
        terms: list[tuple[Text, int]] = []
        position = index + 1
        while position < close:
            inner_close = self._close_index(position)
            token = self._tokens[position]
            if token.type == "dt_open":
                if entries and entries[-1].level == -1:
                    entries[-1].level = 0
                line = token.map[0] if token.map else 0
                text = self._inline.read(self._tokens[position + 1].content, self._env)
                terms.append((text, self._starts.get(line, self._lines[line])))
            else:
                self._definition(entries, terms, position, inner_close)
            position = inner_close + 1
        for entry in entries:
            entry.level = 0
        return entries, close + 1

    def _definition(
        self, entries: list[Piece], terms: list[tuple[Text, int]], index: int, close: int
    ) -> None:
        pieces = self._inside(index + 1, close)
        _, end = self._span(self._tokens[index])
        if terms:
            shown = "\n".join(text.text for text, _ in terms)
            start, _ = self._trim(terms[0][1], end)
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
        elif entries:
            entry = entries[-1]
        else:
            return
        for piece in pieces:
            entry.text += f"\n{piece.text}"
            entry.id_text += f" {piece.id_text}"
            entry.runs += RUN_BOUNDARY + piece.runs
            entry.parts += piece.as_parts()
        entry.end = max(entry.end, end)

    def _footnote(self, index: int) -> tuple[list[Piece], int]:
        close = self._close_index(index)
        start, end = self._span(self._tokens[index])
        pieces = self._inside(index + 1, close)
        if not pieces:
            self._marks.append((MarkClass.REFERENCE_DEFINITION, start, end))
            return [], close + 1
        piece = merge(BlockKind.FOOTNOTE, pieces)
        piece.start, piece.end = start, end
        piece.footnote = str(self._tokens[index].meta.get("label", ""))
        return [piece], close + 1


def _markers(items: Sequence[Token], listing: Token) -> list[str]:
    """Numbers as the reader sees them where the author wrote those numbers, else dashes."""
    if listing.type == "ordered_list_open" and items:
        first = items[0].info
        if first.isdigit() and all(
            item.info == str(int(first) + offset) for offset, item in enumerate(items)
        ):
            return [f"{item.info}. " for item in items]
    return ["- "] * len(items)


def _class_of(content: str) -> MarkClass:
    """Name the mark-up that a paragraph without text consists of."""
    head = content.lstrip()[:4]
    if head.startswith("<!--"):
        return MarkClass.COMMENT
    if head.startswith("{:") or head.startswith("{#"):
        return MarkClass.ATTRIBUTE_LIST
    if head.startswith("{"):
        return MarkClass.EXPRESSION
    return MarkClass.TAG


def shifted(piece: Piece, start: int, end: int, included: str) -> Piece:
    """Return a piece of an included file as it stands in the including one: at `start:end`."""
    return replace(piece, start=start, end=end, parts=(), included=included, children=[])
