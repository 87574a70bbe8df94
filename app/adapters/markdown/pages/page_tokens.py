"""Converts the parser's tokens to tokens that an HTML renderer understands.

The parser leaves containers flat: one `mark` opens a container, another closes it. Here marks
become nested tokens again. Block tokens keep their source lines, by which `block_ids` finds their
blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from app.adapters.markdown.pages.html_tags import BLOCK, RAW, TAG, is_component, parse_tag
from app.adapters.markdown.parser.anchors import heading_source
from app.adapters.markdown.parser.drafts import Markup, MarkupClass, RawDirective, RawElement
from app.adapters.markdown.parser.file_reader import FileTokens
from app.adapters.markdown.parser.html_blocks import component_draft
from app.adapters.markdown.parser.running_text import Text

_CLASS = re.compile(r"[a-z]+")
_NOT_SHOWN = frozenset({"attributes", "boundary"})
_TEXT = frozenset({"span", "unquoted"})
_UNREAD = RAW | {"head", "map", "svg"}


class PageTokens:
    """Converts the tokens of one file."""

    def __init__(self, parsed: FileTokens) -> None:
        self._parsed = parsed
        self._shown: list[Token] = []
        self._open: list[tuple[str, int]] = []
        """Name and level of each open directive."""
        self._notes: dict[str, int] = {}
        """The number of each footnote, in order of first use."""
        self._note: Token | None = None

    def convert(self) -> list[Token]:
        in_heading = False
        tight = _tight_paragraphs(self._parsed)
        for index, token in enumerate(self._parsed.tokens):
            if token.nesting < 0:
                self._close_directives(token.level + 1)
            convert = _CONVERTERS.get(token.type)
            if token.type == "paragraph":
                self._paragraph(token, hidden=index in tight)
                continue
            if convert is not None:
                convert(self, token)
                continue
            if token.type.startswith("paragraph_"):
                token.hidden = index in tight
            if token.type == "inline":
                token.children = self._inline(token.content, heading=in_heading)
            in_heading = token.type == "heading_open"
            self._shown.append(token)
        self._close_directives(0)
        return self._shown

    def _inline(self, content: str, *, heading: bool = False) -> list[Token]:
        if heading:
            content = heading_source(content, self._parsed.dialect).content
        return list(self._adapted(self._parsed.inline(content)))

    def _adapted(self, tokens: Sequence[Token]) -> Iterator[Token]:
        for token in tokens:
            if token.type in _TEXT:
                yield Token("text", "", 0, content=token.content)
            elif token.type == "tag":
                yield Token("html_inline", "", 0, content=token.content)
            elif token.type == "footnote_ref":
                yield self._numbered(token)
            elif token.type not in _NOT_SHOWN:
                yield token.copy(meta=dict(token.meta), attrs=dict(token.attrs))

    def _numbered(self, token: Token) -> Token:
        label = str(token.meta["label"]).lower()
        first = label not in self._notes
        number = self._notes.setdefault(label, len(self._notes) + 1)
        return token.copy(meta={"first": first, "number": number}, attrs={})

    def _paragraph(self, token: Token, *, hidden: bool) -> None:
        """Show a paragraph; text on the line of a tag, as in `<summary>`, gets no `<p>`."""
        pieces = list(_split(self._inline(token.content)))
        on_tag_line = "start" in token.meta or len(pieces) > 1
        around = not on_tag_line and any(piece.children for piece in pieces)
        if around:
            self._push("paragraph_open", "p", 1, token).hidden = hidden
        for piece in pieces:
            piece.map, piece.level = token.map, token.level
            self._shown.append(piece)
        if around:
            self._push("paragraph_close", "p", -1, token).hidden = hidden

    def _push(self, kind: str, tag: str, nesting: int, at: Token, content: str = "") -> Token:
        token = Token(kind, tag, 0, map=at.map, level=at.level, content=content, block=True)
        token.nesting = nesting  # type: ignore[assignment]
        self._shown.append(token)
        return token

    def _text(self, text: str, at: Token) -> None:
        if text.strip():
            self._push("paragraph_open", "p", 1, at)
            inline = self._push("inline", "", 0, at, text)
            inline.children = [Token("text", "", 0, content=text)]
            self._push("paragraph_close", "p", -1, at)

    def _mark(self, token: Token) -> None:
        mark: Markup = token.meta["found"]
        page = self._parsed.imported.get(mark.tag.name) if mark.tag else None
        if page and not mark.closes:
            self._push("partial", "", 0, token, page)
        elif mark.kind is MarkupClass.INCLUDE:
            self._push("included", "", 0, token)
        elif mark.kind is MarkupClass.TAG:
            self._tag_mark(mark, token)
        elif mark.kind is MarkupClass.EXPRESSION:
            self._text(mark.argument, token)
        elif mark.kind is MarkupClass.DIRECTIVE and mark.opens:
            self._open_directive(mark, token)
        elif mark.closes:
            self._close(mark.closes)

    def _tag_mark(self, mark: Markup, at: Token) -> None:
        """Show a tag, or else the texts in a component's attributes, such as a quiz."""
        source = self._parsed.source
        if match := TAG.fullmatch(source, mark.start, mark.end):
            self._tag(match, at)
        elif mark.tag is not None:
            draft = component_draft(source, mark.tag, lambda text: Text(text, text, text))
            self._text(draft.text if draft else "", at)

    def _tag(self, match: re.Match[str], at: Token) -> None:
        self._push("tag", match["name"], 0, at).meta = {"tag": parse_tag(match)}

    def _open_directive(self, mark: Markup, token: Token) -> None:
        found = _CLASS.match(mark.name.lower())
        name = found[0] if found else ""
        opening = self._push("admonition_open", "aside", 1, token)
        opening.attrSet("class", f"admonition {name}".strip())
        self._push("admonition_label", "p", 0, token, mark.argument or mark.name.capitalize())
        self._open.append((mark.opens, token.level))

    def _close(self, closes: str) -> None:
        """Close the innermost directive of this name and those left open in it."""
        matching = [
            position
            for position, (name, _) in enumerate(self._open)
            if name == closes or (name.startswith(":::") and closes.startswith(name))
        ]
        while matching and len(self._open) > matching[-1]:
            self._close_last()

    def _close_directives(self, level: int) -> None:
        """Close the directives left open at this level or deeper."""
        while self._open and self._open[-1][1] >= level:
            self._close_last()

    def _close_last(self) -> None:
        self._open.pop()
        token = Token("admonition_close", "aside", -1, block=True)
        self._shown.append(token)

    def _raw(self, token: Token) -> None:
        """Show the allowed tags and the text of a raw element."""
        element: RawElement = token.meta["found"]
        if element.tag.name.lower() in _UNREAD:
            return
        source = self._parsed.source[element.start : element.end]
        position = 0
        for match in TAG.finditer(source):
            self._inline_text(source[position : match.start()], token)
            self._tag(match, token)
            position = match.end()
        self._inline_text(source[position:], token)

    def _inline_text(self, text: str, at: Token) -> None:
        if text.strip():
            token = self._push("inline", "", 0, at, text.strip())
            token.children = self._inline(text.strip())

    def _directive(self, token: Token) -> None:
        directive: RawDirective = token.meta["found"]
        for text in self._parsed.texts(directive):
            self._text(text, token)

    def _entry(self, token: Token) -> None:
        self._push("dl_open", "dl", 1, token)
        for tag, text in (("dt", str(token.meta["term"])), ("dd", token.content)):
            self._push(f"{tag}_open", tag, 1, token)
            self._inline_text(text, token)
            self._push(f"{tag}_close", tag, -1, token)
        self._push("dl_close", "dl", -1, token)

    def _footnote(self, token: Token) -> None:
        self._note = self._numbered(token)
        self._shown.append(self._note)

    def _footnote_end(self, token: Token) -> None:
        self._shown.append(token.copy(meta=self._note.meta if self._note else {}, attrs={}))


_CONVERTERS: dict[str, Callable[[PageTokens, Token], None]] = {
    "definition": lambda _page, _token: None,
    "directive": PageTokens._directive,
    "entry": PageTokens._entry,
    "footnote_open": PageTokens._footnote,
    "footnote_close": PageTokens._footnote_end,
    "mark": PageTokens._mark,
    "raw": PageTokens._raw,
}


def _tight_paragraphs(parsed: FileTokens) -> set[int]:
    """Return the indexes of the paragraphs directly in items of tight lists.

    A list is loose if a blank line precedes an item or a block directly in an item.
    """
    blank = [not line.strip("> \t") for line in parsed.source.split("\n")]
    lists: list[_List] = []
    found: set[int] = set()
    for index, token in enumerate(parsed.tokens):
        if lists:
            lists[-1].add(index, token, blank)
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists.append(_List(token.level, token.map[0] if token.map else 0))
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            closed = lists.pop()
            found.update(() if closed.loose else closed.paragraphs)
    return found


@dataclass(slots=True)
class _List:
    """An open list: token level, first line, and the paragraphs of its items."""

    level: int
    first: int
    loose: bool = False
    paragraphs: list[int] = field(default_factory=list)

    def add(self, index: int, token: Token, blank: Sequence[bool]) -> None:
        """Note a token in the list; `blank` tells which lines of the file are blank."""
        if token.map and token.nesting >= 0 and token.level <= self.level + 2:
            line = token.map[0]
            self.loose = self.loose or (line > self.first and blank[line - 1])
        if token.level == self.level + 2 and token.type.startswith("paragraph"):
            self.paragraphs.append(index)


def _split(children: Sequence[Token]) -> Iterator[Token]:
    """Yield inline tokens and, between them, the tags of blocks such as `</summary>`."""
    kept: list[Token] = []
    depth = 0
    for child in children:
        depth += child.nesting
        match = TAG.fullmatch(child.content) if child.type == "html_inline" else None
        name = match["name"] if match else ""
        if match is None or depth or not (name in BLOCK or is_component(name)):
            kept.append(child)
            continue
        if kept:
            yield Token("inline", "", 0, children=kept)
        kept = []
        yield Token("tag", name, 0, meta={"tag": parse_tag(match)})
    if kept:
        yield Token("inline", "", 0, children=kept)
