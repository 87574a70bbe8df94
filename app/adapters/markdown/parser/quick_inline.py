"""Reads the usual inline mark-up in one pass, without markdown-it's tokens.

Code spans, emphasis whose markers can only open or only close, links with simple targets, escapes,
entities, simple tags and attribute lists: nearly all inline mark-up in books. Ambiguous mark-up is
left to markdown-it; a test compares the two on generated text.

CommonMark 0.31: https://spec.commonmark.org/0.31.2/#inlines
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from markdown_it.common.entities import entities
from markdown_it.common.utils import (
    fromCodePoint,
    isValidEntityCode,
    normalizeReference,
    unescapeAll,
)

from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.inline_rules import (
    BRACKETED_SPAN,
    LOOSE_REFERENCE,
    RAW_INLINE,
    attribute_list,
)
from app.adapters.markdown.parser.running_text import Collector
from app.adapters.markdown.parser.tags import BLOCK_NAMES, SIMPLE_TAG, HtmlTag

_CODE = re.compile(r"(`+)(?!`)(.*?[^`])\1(?!`)", re.DOTALL)
_WORDS = r"[^\[\]\\<{$`]++|\\[!-/:-@\[-`{-~]|`[^`]++`(?!`)"
_TARGET = (
    r"\((?P<target>[^\s()\\<>&\x00-\x20\x7f]++)"
    r"(?:[ \t\n]+\"(?P<title>[^\"\\]*+)\"[ \t\n]*)?\)"
)
_LINK = re.compile(
    rf"\[(?P<label>(?:{_WORDS}|\[[^\[\]\\<{{$`]*+\](?![(\[]))++)\]"
    rf"(?:{_TARGET}|\[(?P<reference>[^\[\]\\<{{$`]*+)\]|(?![(\[]))"
)
_LOOSE = re.compile(rf"\](?:{LOOSE_REFERENCE.pattern})")
_IMAGE = re.compile(rf"!\[(?P<label>(?:{_WORDS})*+)\]{_TARGET}")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_NUMBER = re.compile(r"&#(?:[xX](?P<hex>[0-9A-Fa-f]{1,6})|(?P<decimal>[0-9]{1,7}));")
# `@` may belong to an autolink; a line end after the comment affects the blanks before it.
_COMMENT = re.compile(r"(?><!--[^@]*?-->)(?![ \t]*\n)")
_NO_TAG = re.compile(r"<(?=[\s\"(),;:<\[\]]|\Z)")
_TEMPLATE = ("{/*", "{%", "{{")
"""How comments of MDX and tags of template languages begin."""
_MARKERS = re.compile(r"\*+|_+")
_PUNCTUATION = frozenset(string.punctuation + "’‘“”–—…")
_MARKER = frozenset("*_")
_BLANKS = frozenset(" \n\t")
_MOST_OPEN, _MOST_MARKERS = 8, 3


class QuickInline:
    """Reads the running text of one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._bracketed_spans = BRACKETED_SPAN in dialect.inline_rules
        rules = (rule for rule in dialect.inline_rules if rule is not BRACKETED_SPAN)
        own = {character for rule in rules for character in rule.characters}
        braces = "{" in own
        self._loose_references = dialect.loose_references
        # Unusual images and most uses of braces are left to the dialect's own rules.
        self._reads = own <= {"{", "!"}
        self._attribute_lists = dialect.inline_attributes and not braces
        special = r"\\`*_\[<&~!\n"
        if dialect.inline_attributes or braces:
            special += "{"
        if dialect.math:
            special += "$"
        # A single character class: alternatives would be tried at every character.
        self._special = re.compile(f"[{special}]")

    def read(self, content: str, references: Mapping[str, Mapping[str, str]]) -> Collector | None:
        """Return the text of `content`, or None if markdown-it must parse it.

        `references` are the file's link definitions by normalised label. `content` must
        not contain hard line breaks made of blanks.
        """
        if not self._reads:
            return None
        if self._loose_references and references and _LOOSE.search(content):
            return None
        scan = _Scan(
            content, self._special, references, self._attribute_lists, self._bracketed_spans
        )
        return scan.out if scan.read(0, len(content)) else None


@dataclass(slots=True)
class _Scan:
    source: str
    special: re.Pattern[str]
    references: Mapping[str, Mapping[str, str]]
    attribute_lists: bool
    bracketed_spans: bool
    """Whether the dialect has spans such as `[text]{.class}`, which are left to markdown-it."""
    out: Collector = field(default_factory=Collector)
    linked: bool = False
    """Inside a link's text, which can hold no other link."""

    def read(self, position: int, end: int) -> bool:
        """Read a range that contains whole emphasis. False if markdown-it must read it."""
        source, search, text = self.source, self.special.search, self.out.text
        opened: list[str] = []
        while match := search(source, position, end):
            start = match.start()
            character = source[start]
            if character == "\n":
                # One blank before a line's end is dropped, as are those after it.
                stop = start - (start > position and source[start - 1] == " ")
                text(source[position:stop] + " ")
                position = start + 1
                while position < end and source[position] in " \t":
                    position += 1
                continue
            if start > position:
                text(source[position:start])
            if character in "*_":
                position = self._emphasis(start, end, opened)
            else:
                position = _HANDLERS[character](self, start, end)
            if position < 0:
                return False
        if position < end:
            text(source[position:end])
        return not opened

    def _emphasis(self, start: int, end: int, opened: list[str]) -> int:
        source = self.source
        match = _MARKERS.match(source, start, end)
        if match is None:
            return -1
        stop = match.end()
        before = _side(source[start - 1] if start else " ")
        after = _side(source[stop] if stop < end else " ")
        markers = match.group()
        role = _ROLES.get(before + after, "")
        if role == "literal" or (before + after == "ww" and markers[0] == "_"):
            self.out.text(markers)
        elif len(markers) > _MOST_MARKERS or not role:
            return -1
        elif role != "open" and opened and opened[-1] == markers:
            opened.pop()
            self._strong(markers, self.out.close_term)
        elif role != "open" and any(other[0] == markers[0] for other in opened):
            return -1
        elif role == "close":
            self.out.text(markers)
        elif len(opened) < _MOST_OPEN:
            opened.append(markers)
            self._strong(markers, self.out.open_term)
        else:
            return -1
        return stop

    def _strong(self, markers: str, step: Callable[[], None]) -> None:
        """Take one step for emphasis or strong emphasis, two for both at once."""
        step()
        if len(markers) == _MOST_MARKERS:
            step()

    def _code(self, start: int, end: int) -> int:
        match = _CODE.match(self.source, start, end)
        if match is None:
            return -1
        shown = match.group(2)
        if "\n" in shown:
            shown = shown.replace("\n", " ")
        if shown[0] == " " == shown[-1] and shown.strip(" "):
            shown = shown[1:-1]
        self.out.code(shown)
        return match.end()

    def _link(self, start: int, end: int) -> int:
        match = _LINK.match(self.source, start, end)
        if match is None or match["label"][0] == "^":
            return -1
        target = match["target"]
        if target is None:
            name = match["reference"] or match["label"]
            definition = self.references.get(normalizeReference(name)) if self.references else None
            if not definition:
                if self.bracketed_spans and self.source.startswith("{", match.end()):
                    return -1
                self.out.text("[")
                return start + 1
            target = definition["href"]
        if self.linked:
            return -1
        self.linked = True
        self.out.link(target)
        if not self.read(match.start("label"), match.end("label")):
            return -1
        self.out.boundary()
        self.linked = False
        return match.end()

    def _image(self, start: int, end: int) -> int:
        if not self.source.startswith("[", start + 1, end):
            return self._plain(start)
        match = _IMAGE.match(self.source, start, end)
        if match is None or self.linked:
            return -1
        label = match["label"]
        inner = _Scan(
            label, self.special, self.references, self.attribute_lists, self.bracketed_spans
        )
        if not inner.read(0, len(label)):
            return -1
        # markdown-it, too, resolves a title's entities twice.
        title = unescapeAll(unescapeAll(match["title"] or ""))
        self.out.image(inner.out.finish(explicit_terms=False).text, title)
        return match.end()

    def _escape(self, start: int, end: int) -> int:
        escaped = self.source[start + 1 : min(start + 2, end)]
        if not escaped or escaped.isspace() or self.source.startswith(_TEX, start):
            return -1
        self.out.text(escaped if escaped in _ESCAPABLE else f"\\{escaped}")
        return start + 2

    def _entity(self, start: int, end: int) -> int:
        match = _ENTITY.match(self.source, start, end)
        if match and match.group(1) in entities:
            self.out.text(entities[match.group(1)])
            return match.end()
        number = _NUMBER.match(self.source, start, end)
        if number:
            code = int(number["hex"], 16) if number["hex"] else int(number["decimal"])
            self.out.text(fromCodePoint(code if isValidEntityCode(code) else 0xFFFD))
            return number.end()
        return self._plain(start)

    def _tag(self, start: int, end: int) -> int:
        match = SIMPLE_TAG.match(self.source, start, end)
        if match is None:
            comment = _COMMENT.match(self.source, start, end)
            if comment:
                # markdown-it merges markers on both sides of a comment into one run.
                return -1 if self.source[start - 1 : start] in _MARKER else comment.end()
            return self._plain(start) if _NO_TAG.match(self.source, start, end) else -1
        name, lower = match["name"], match["name"].lower()
        if ":" in name or lower in RAW_INLINE or lower in BLOCK_NAMES:
            return -1
        tag = HtmlTag(name, start, match.end(), inside=match["attrs"])
        if lower == "img":
            self.out.tag(match["close"] + name, tag.get("alt"), tag.get("title"))
        else:
            self.out.tag(match["close"] + name)
        return match.end()

    def _brace(self, start: int, end: int) -> int:
        if not self.attribute_lists or self.source.startswith(_TEMPLATE, start):
            return -1
        match = attribute_list(self.source, start)
        if match is None:
            return self._plain(start)
        if match.end() > end:
            return -1
        self.out.attributes(match.group())
        return match.end()

    def _tilde(self, start: int, end: int) -> int:  # noqa: ARG002 - one signature for all
        return -1 if self.source.startswith("~~", start) else self._plain(start)

    def _dollar(self, start: int, end: int) -> int:  # noqa: ARG002 - one signature for all
        return -1 if self.source.find("$", start + 1) >= 0 else self._plain(start)

    def _plain(self, start: int) -> int:
        self.out.text(self.source[start])
        return start + 1


_ROLES = {
    "  ": "literal",
    " w": "open", " p": "open", "pw": "open",
    "w ": "close", "p ": "close", "wp": "close",
    "ww": "both", "pp": "both",
}  # fmt: skip
"""What a marker can do between two characters, classified by `_side`: word, punctuation, blank."""
_ESCAPABLE = frozenset(string.punctuation)
_TEX = ("\\\\(", "\\\\[")
"""Opening delimiters of formulas in some dialects."""
_HANDLERS = {
    "`": _Scan._code,
    "[": _Scan._link,
    "\\": _Scan._escape,
    "&": _Scan._entity,
    "<": _Scan._tag,
    "{": _Scan._brace,
    "~": _Scan._tilde,
    "$": _Scan._dollar,
    "!": _Scan._image,
}


def _side(character: str) -> str:
    if character.isalnum():
        return "w"
    if character in _BLANKS:
        return " "
    return "p" if character in _PUNCTUATION else "?"
