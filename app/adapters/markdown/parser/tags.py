"""HTML and JSX tags in Markdown source: their extent, names and attributes."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

SIMPLE_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)"
    r"(?P<attrs>(?:\s+[^\s\"'<>/={}]+(?:\s*=\s*(?:\"[^\"{}<]*\"|'[^'{}<]*'|[^\s\"'=<>`{}]+))?)*)"
    r"\s*(?P<void>/?)>"
)
_NAME = re.compile(r"</?([A-Za-z][\w.:-]*)(?=[\s/>{])|<(/?)>")
_STOP = re.compile(r"[\"'{><]")
_JS_STOP = re.compile(r"[\"'`{}]|/\*")
_ATTRIBUTE = re.compile(
    r"([A-Za-z_:@.][\w:.@-]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(\{)|([^\s\"'=<>`{}]+)))?"
)
_TAG = r"</?[A-Za-z][^<>]*>"
_TAGS = re.compile(_TAG)
# An unclosed comment matches to the end as `open`: otherwise the search would be quadratic.
_STRIP = re.compile(rf"<!--(?:.*?-->|(?P<open>.*)\Z)|{_TAG}", re.DOTALL)
_SPACES = re.compile(r"\s+")

BLOCK_NAMES = frozenset(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hr html legend li link main "
    "menu menuitem nav noframes ol optgroup option p param section source summary table tbody td "
    "tfoot th thead title tr track ul".split()
)
"""The names that start an HTML block in CommonMark 0.31, condition 6 (less `search`, `iframe`)."""
TEXT_NAMES = frozenset("dt figcaption h1 h2 h3 h4 h5 h6 legend p summary".split())
"""Block elements that hold text and no other blocks."""
INLINE_NAMES = frozenset(
    "a abbr acronym b bdi bdo big br button cite code data del dfn em font i img input ins kbd "
    "label mark meter output picture progress q rp rt ruby s samp select small span strike strong "
    "sub sup time tt u var wbr "
    "mrow mi mn mo mtext ms mspace msub msup msubsup mfrac msqrt mroot mover munder munderover "
    "mtable mtr mtd mfenced mstyle mpadded mphantom menclose semantics annotation".split()
)
"""Inline elements: they never form a block."""
RAW_NAMES = frozenset(
    "audio canvas cnx-pi head iframe map math noscript object pre script style svg table template "
    "textarea ul ol dl video".split()
)
"""Elements whose content is read as HTML to the closing tag, not as Markdown."""
VOID_NAMES = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)


class HtmlTag(NamedTuple):
    """A tag at `source[start:end]`."""

    name: str
    start: int
    end: int
    closing: bool = False
    void: bool = False
    inside: str = ""
    """The source between the name and the closing `>` or `/>`."""

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes in order; JSX expression values keep their braces."""
        return read_attributes(self.inside) if self.inside else {}

    @property
    def texts(self) -> dict[str, str]:
        """The attributes' texts in order; "" for an expression that is not a string."""
        return {name: _text_of(value) for name, value in self.attributes.items()}

    def get(self, name: str) -> str:
        """Return the attribute's text; "" if missing or not a string."""
        return _text_of(self.attributes.get(name, "")) if name in self.inside else ""

    @property
    def is_component(self) -> bool:
        """A JSX component: capitalised, dotted or a fragment."""
        return not self.name or self.name[0].isupper() or "." in self.name


class TagScanner:
    """Finds tags in one text in linear time.

    An unclosed brace or quote makes a scan run to the end of the text; `_budget` limits the
    characters that all such scans read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = 20 * len(text) + 1_000
        self._missing: dict[str, int] = {}

    def find(self, closing: str, start: int, limit: int | None = None) -> int:
        """Return the next offset of `closing` before `limit`, or -1.

        A failed search is remembered, so all searches together take linear time.
        """
        if start >= self._missing.get(closing, len(self._text) + 1):
            return -1
        found = self._text.find(closing, start)
        if found < 0:
            self._missing[closing] = start
        return -1 if limit is not None and found + len(closing) > limit else found

    def tag_at(self, start: int) -> HtmlTag | None:
        """Return the tag whose `<` is at `start`, or None."""
        match = SIMPLE_TAG.match(self._text, start)
        if match:
            return HtmlTag(
                match["name"],
                start,
                match.end(),
                bool(match["close"]),
                bool(match["void"]),
                match["attrs"],
            )
        return self._complex_tag(start)

    def _complex_tag(self, start: int) -> HtmlTag | None:
        text = self._text
        head = _NAME.match(text, start)
        if head is None:
            return None
        if head.group(1) is None:
            return HtmlTag("", start, head.end(), closing=bool(head.group(2)))
        position = head.end()
        while True:
            stop = _STOP.search(text, position)
            if stop is None or not self._spend(stop.end() - position):
                self._spend(len(text) - position)
                return None
            character = stop.group()
            if character == "<":
                return None
            if character == ">":
                break
            if character == "{":
                position = self.brace_end(stop.start())
            else:
                position = self.find(character, stop.end()) + 1
            if position <= 0 or not self._spend(position - stop.start()):
                return None
        void = text[stop.start() - 1] == "/"
        inner_end = stop.start() - void
        closing = text[start + 1] == "/"
        return HtmlTag(
            head.group(1), start, stop.end(), closing, void, text[head.end() : inner_end]
        )

    def brace_end(self, start: int) -> int:
        """Return the offset after the `}` that closes the `{` at `start`, or -1."""
        text, depth, position = self._text, 0, start
        while True:
            stop = _JS_STOP.search(text, position)
            if stop is None or not self._spend(stop.end() - position):
                return -1
            position = stop.end()
            character = stop.group()
            if character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth == 0:
                    return position
            elif character == "/*":
                position = text.find("*/", position) + 2
                if position < 2:
                    return -1
            else:
                position = self._string_end(character, position)

    def _string_end(self, quote: str, start: int) -> int:
        # An apostrophe in JSX text opens no string: a quote counts if it closes on its line.
        text, position = self._text, start
        newline = text.find("\n", start)
        limit = len(text) if quote == "`" or newline < 0 else newline
        while True:
            position = text.find(quote, position, limit)
            if position < 0:
                self._spend(limit - start)
                return start
            backslashes = 0
            while text[position - 1 - backslashes] == "\\":
                backslashes += 1
            position += 1
            if backslashes % 2 == 0:
                return position

    def element_end(self, tag: HtmlTag, limit: int) -> tuple[int, int]:
        """Return where the closing tag of `tag` starts and ends, nesting counted, or (-1, -1)."""
        pattern = re.compile(rf"<(/?){re.escape(tag.name)}(?=[\s/>])", re.IGNORECASE)
        depth, position = 1, tag.end
        for match in pattern.finditer(self._text, tag.end, limit):
            if not self._spend(match.end() - position):
                return -1, -1
            position = match.end()
            close = self._text.find(">", match.end(), limit)
            if close < 0:
                return -1, -1
            if match.group(1):
                depth -= 1
            elif self._text[close - 1] != "/":
                depth += 1
            if depth == 0:
                return match.start(), close + 1
        self._spend(limit - position)
        return -1, -1

    def _spend(self, characters: int) -> bool:
        self._budget -= characters
        return self._budget > 0


def read_attributes(inside: str) -> dict[str, str]:
    """Read the attributes between a tag's name and its end."""
    found: dict[str, str] = {}
    scanner = TagScanner(inside)
    position = 0
    while True:
        match = _ATTRIBUTE.search(inside, position)
        if match is None:
            return found
        position = match.end()
        if match.group(4):
            brace = match.start(4)
            stop = scanner.brace_end(brace)
            position = stop if stop > 0 else len(inside)
            value = inside[brace:position]
        else:
            value = html.unescape(match.group(2) or match.group(3) or match.group(5) or "")
        found.setdefault(match.group(1), value)


_ESCAPE = re.compile(r"\\(u\{[0-9A-Fa-f]{1,6}\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[\s\S])")
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", "v": "", "0": "", "\n": ""}


def unescape_string(body: str) -> str:
    """Resolve the escapes of a JavaScript string's body."""

    def replace(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape[0] in "ux" and len(escape) > 1:
            code = int(escape[1:].strip("{}"), 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        return _SIMPLE_ESCAPES.get(escape, escape)

    return _ESCAPE.sub(replace, body) if "\\" in body else body


def string_literal(expression: str) -> str:
    """Return the text of `{"..."}`, `{'...'}` or a template without `${`; else ""."""
    inner = expression[1:-1].strip()
    if len(inner) >= 2 and inner[0] in "\"'`" and inner[-1] == inner[0]:
        body = inner[1:-1]
        if inner[0] not in body.replace("\\" + inner[0], "") and "${" not in body:
            return unescape_string(body)
    return ""


def _text_of(value: str) -> str:
    return string_literal(value) if value.startswith("{") else value


def plain_text(source: str) -> str:
    """Return the text of an HTML fragment: tags dropped, entities decoded, spaces collapsed."""
    text = _STRIP.sub(_stripped, source) if "<" in source else source
    return _SPACES.sub(" ", html.unescape(text)).strip()


_BREAKING = re.compile(r"</?(?:br|hr|p|div|li|ul|ol|tr|td|th|dd|dt|h[1-6])\b", re.IGNORECASE)


def _stripped(match: re.Match[str]) -> str:
    if match["open"] is not None:
        return "<!--" + _TAGS.sub(_tag_space, match["open"])
    return _tag_space(match)


def _tag_space(match: re.Match[str]) -> str:
    return " " if _BREAKING.match(match.group()) else ""
