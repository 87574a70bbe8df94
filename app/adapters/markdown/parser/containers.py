"""Containers: what they hold becomes one block, or comes out block by block."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.adapters.markdown.myst.directive_blocks import table_of_list
from app.adapters.markdown.parser.anchors import docutils_slug
from app.adapters.markdown.parser.drafts import Piece, merge, split_list
from app.adapters.markdown.parser.markup import Mark
from app.adapters.markdown.parser.open_containers import SOLUTION_TITLE, Scope, scope_of
from app.adapters.markdown.parser.running_text import Text
from app.adapters.markdown.parser.tags import Tag
from app.domain.document import BlockKind

_ID = re.compile(r"#([\w:.-]+)")
_WORD = re.compile(r"\S")
_MAX_DEPTH = 20
"""Containers that make one block, inside each other; deeper ones let their blocks out."""
_INTERRUPTED = -1
"""Start of a scope that goes on behind a block of its own: it has no opening mark any more."""
_STRONG = (BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY)
"""Kinds that are blocks of their own wherever they stand."""


class Containers:
    """The open containers and the blocks that have come out so far, in source order."""

    def __init__(self, source: str, read_text: Callable[[str], Text]) -> None:
        self._source = source
        self._read_text = read_text
        self._out: list[Piece] = []
        self._scopes: list[Scope] = []
        self._directives: list[Scope] = []
        """Of the open containers those that colons close."""
        self._open_names: dict[str, int] = {}
        self._capturing: list[Scope] = []
        self._reached = 0
        """Where the blocks that were placed so far end."""
        self._next_word = -1, 0
        """Where a block ends and what is no blank begins behind it."""
        self._label = ""
        """A `(label)=` that waits for its block."""

    def finish(self) -> list[Piece]:
        """Close what is still open and return all blocks."""
        while self._scopes:
            self._close(self._scopes[-1], 0)
        return self._out

    def is_open(self, name: str) -> bool:
        return bool(self._open_names.get(name))

    def label_next(self, label: str) -> None:
        """Give the next block this id."""
        self._label = label

    def open(self, mark: Mark) -> None:
        """Open the container that `mark` begins; show its title where it is no block itself."""
        scope = scope_of(mark)
        self._scopes.append(scope)
        if scope.name.startswith(":::"):
            self._directives.append(scope)
        self._open_names[scope.name] = self._open_names.get(scope.name, 0) + 1
        scope.capture = scope.capture and len(self._capturing) < _MAX_DEPTH
        if scope.capture:
            self._capturing.append(scope)
        if scope.role == "listing" and mark.tag is not None:
            self._open_listing(mark.tag, scope)
        elif scope.title and not scope.capture:
            self.emit(self.title_piece(scope.title, mark.start, mark.end))

    def title_piece(self, title: str, start: int, end: int) -> Piece:
        """Make a paragraph of a title written in the mark-up at `start:end`."""
        text = self._read_text(title)
        end = start + len(self._source[start:end].rstrip())
        return Piece(BlockKind.PARAGRAPH, text.text, text.id_text, start, end, runs=text.runs)

    def _open_listing(self, tag: Tag, scope: Scope) -> None:
        """Open mdBook's `<Listing number="4-1" caption="..." file-name="...">` round code."""
        shown = tag.texts
        number, caption = shown.get("number"), shown.get("caption")
        text = self._read_text(caption).text if caption else ""
        names = list(shown)
        if number and (not caption or names.index("number") < names.index("caption")):
            text = f"{tag.name} {number}" + (f": {text}" if text else "")
        scope.title = text or shown.get("file-name", "")
        if text:
            self.emit(Piece(BlockKind.PARAGRAPH, text, text, tag.start, tag.end, runs=text))

    def close(self, mark: Mark) -> None:
        """Close the innermost container that `mark` ends, and all that was left open in it."""
        if not mark.closes.startswith(":::"):
            if self.is_open(mark.closes):
                self._close(
                    next(s for s in reversed(self._scopes) if s.name == mark.closes), mark.end
                )
            return
        # A directive is closed by at least as many colons as opened it.
        if self._directives and len(self._directives[-1].name) <= len(mark.closes):
            self._close(self._directives[-1], mark.end)

    def _close(self, scope: Scope, end: int) -> None:
        while self._scopes:
            last = self._scopes.pop()
            self._open_names[last.name] -= 1
            if self._directives and self._directives[-1] is last:
                self._directives.pop()
            if last.capture:
                self._capturing.pop()
                self._flush(last, end if last is scope else 0)
            if last is scope:
                return

    def _flush(self, scope: Scope, end: int) -> None:
        """Emit what a capturing scope has collected as one block, up to `end` if that is known."""
        if scope.kind is None:
            return
        if scope.pieces:
            title = self._read_text(scope.title).text if scope.title else ""
            piece = merge(scope.kind, scope.pieces, title)
            scope.pieces = []
        elif scope.title and scope.start != _INTERRUPTED:
            piece = self.title_piece(scope.title, scope.start, scope.title_end)
            piece.kind = scope.kind
        else:
            return
        if scope.start != _INTERRUPTED:
            piece.start = min(scope.start, piece.start)
        piece.end = max(end, piece.end)
        piece.author_id = scope.author_id or piece.author_id
        self.emit(piece)

    def place(self, piece: Piece) -> None:
        """Take a block that stands directly in the innermost container."""
        if self._label:
            piece.author_id = piece.author_id or self._label
            if piece.kind is BlockKind.HEADING:
                piece.anchor = docutils_slug(self._label) or piece.anchor
            self._label = ""
        if not self._scopes:
            self.emit(piece)
            return
        scope = self._scopes[-1]
        titled = scope.role == "title" and piece.kind is BlockKind.PARAGRAPH
        if titled and self._takes_title():
            outer = self._capturing[-1]
            outer.title = f"{outer.title} {piece.text}".strip()
            outer.title_end = piece.end
            self._reached = max(self._reached, piece.end)
        elif scope.role == "summary" and self._opens_solution(piece):
            self._capture_solution(self._scopes[-2], scope, piece)
        else:
            for made in _in_role(piece, scope):
                self.emit(made)

    def _takes_title(self) -> bool:
        """True unless the innermost block to be has text already: its title is shown first."""
        outer = self._capturing[-1] if self._capturing else None
        return outer is not None and not outer.pieces and outer.start != _INTERRUPTED

    def _opens_solution(self, summary: Piece) -> bool:
        """True if a summary such as "Solution" makes one of the container round it."""
        return (
            len(self._scopes) > 1
            and len(self._capturing) < _MAX_DEPTH
            and not self._scopes[-2].capture
            and SOLUTION_TITLE.match(summary.text) is not None
        )

    def _capture_solution(self, details: Scope, summary: Scope, title: Piece) -> None:
        details.kind, details.capture = BlockKind.SOLUTION, True
        details.title, details.title_end = title.text, title.end
        if self._reached > details.start:
            details.start = summary.start
        self._capturing.append(details)

    def emit(self, piece: Piece) -> None:
        """Hand a block to the innermost container that makes one block, or let it out."""
        self._reached = max(self._reached, piece.end)
        while self._capturing:
            scope = self._capturing[-1]
            if piece.kind is BlockKind.HEADING:
                self._dissolve(scope)
            elif piece.kind in _STRONG:
                # An exercise in a note, or the problem inside an exercise's outer container.
                self._capturing.pop()
                self._flush(scope, 0)
                self.emit(piece)
                self._capturing.append(scope)
                scope.start, scope.title = _INTERRUPTED, ""
                return
            else:
                scope.pieces.append(piece)
                return
        self._out.append(piece)

    def _dissolve(self, scope: Scope) -> None:
        """A container with a heading inside is part of the page: let its blocks out one by one."""
        self._capturing.pop()
        scope.capture = False
        if scope.title and scope.start != _INTERRUPTED:
            self.emit(self.title_piece(scope.title, scope.start, scope.title_end))
        for piece in scope.pieces:
            if scope.kind in _STRONG and piece.kind in (BlockKind.PARAGRAPH, BlockKind.LIST):
                piece.kind = scope.kind or piece.kind
            self.emit(piece)
        scope.pieces = []

    def take_before(self, start: int) -> Piece | None:
        """Take back the paragraph that stands directly before `start`, if there is one."""
        pieces = self._capturing[-1].pieces if self._capturing else self._out
        if not pieces or pieces[-1].kind is not BlockKind.PARAGRAPH or pieces[-1].included:
            return None
        return pieces.pop() if self._follows(pieces[-1], start) else None

    def _follows(self, piece: Piece, start: int) -> bool:
        """True if nothing but blanks stands between a block and `start`."""
        if self._next_word[0] != piece.end:
            found = _WORD.search(self._source, piece.end)
            self._next_word = piece.end, found.start() if found else len(self._source)
        return start <= self._next_word[1]

    def apply_attributes(self, mark: Mark) -> None:
        """Give the block that stands directly before an attribute list the list's id."""
        match = _ID.search(mark.argument)
        pieces = self._capturing[-1].pieces if self._capturing else self._out
        if match and pieces and self._follows(pieces[-1], mark.start):
            pieces[-1].author_id = match.group(1)
            if pieces[-1].kind is BlockKind.HEADING:
                pieces[-1].anchor = match.group(1)


def _in_role(piece: Piece, scope: Scope) -> list[Piece]:
    """Return the block as the container directly round it makes it."""
    if scope.role == "heading" and piece.kind is BlockKind.PARAGRAPH:
        piece.kind, piece.level = BlockKind.HEADING, scope.level
        piece.anchor = piece.author_id = scope.author_id
    elif scope.role == "caption":
        piece.caption = piece.kind is BlockKind.PARAGRAPH
    elif scope.role == "listing" and piece.kind is BlockKind.CODE:
        piece.title = piece.title or scope.title
    elif scope.kind is BlockKind.FOOTNOTE and piece.kind is BlockKind.LIST:
        return split_list(piece, BlockKind.FOOTNOTE)
    elif scope.kind is BlockKind.FOOTNOTE and piece.kind is not BlockKind.HEADING:
        piece.kind = BlockKind.FOOTNOTE
    elif scope.role == "table":
        piece = table_of_list(piece) if piece.kind is BlockKind.LIST else piece
        piece.title = piece.title or scope.title
    return [piece]
