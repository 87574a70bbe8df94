"""HTML and JSX tags in Markdown: each is an element, whatever stands between two of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_NAME = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)?")
_ATTRIBUTE = re.compile(
    r"""\s*(?P<name>[A-Za-z_:@][\w:.@-]*)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'{}<>=`]+|(?=\{)))?"""
)
_END = re.compile(r"\s*(?P<empty>/?)>")
_STYLE_MARKS = str.maketrans({"{": None, "}": None, "'": None, '"': None, "`": None, ",": ";"})
_TEXT_VALUE = re.compile(r"\{\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`$]*)`)\s*\}")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_RAW = frozenset("pre script style textarea svg math table".split())
"""Elements whose content is HTML up to their end, as CommonMark has it."""
_INLINE = re.compile(
    r"(?:a|abbr|b|bdi|bdo|br|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|m[a-z]+|mark|q|"
    r"rp|rt|ruby|s|samp|small|span|strong|sub|sup|time|tt|u|var|wbr)"
)
"""Elements that do not end a paragraph; those that begin with m are MathML's."""
_NOT_MATHML = frozenset("main map menu marquee meta".split())
_LONGEST = 20_000
"""Characters of a tag; a longer one is text."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as HTML; `end` is the offset behind it."""

    html: str
    name: str
    end: int
    expression: bool = False
    """Whether it is a component without content, whose attributes only a build can evaluate."""

    @property
    def is_inline(self) -> bool:
        return _INLINE.fullmatch(self.name) is not None and self.name not in _NOT_MATHML


def scan_tag(source: str, at: int) -> Tag | None:
    """Read the tag that begins at an offset; None if there is none.

    Attributes in braces are kept if they are a text. A component that closes itself gets an end.
    """
    begin = _NAME.match(source, at)
    if begin is None:
        return None
    name, limit = (begin["name"] or "").lower(), min(len(source), at + _LONGEST)
    end, attributes = begin.end(), ""
    while not begin["close"] and (read := _read_attribute(source, end, limit)):
        end = read[0]
        attributes += read[1]
    last = _END.match(source, end, limit)
    if last is None:
        return None
    component = bool(begin["name"] and begin["name"][0].isupper() and last["empty"])
    name = name or "x-fragment"
    html = _html(begin["close"], name, attributes, last["empty"])
    return Tag(html, name, last.end(), component and "{" in source[begin.end() : last.start()])


def _read_attribute(source: str, at: int, limit: int) -> tuple[int, str] | None:
    """Return where the attribute at an offset ends, and its HTML; "" for an expression."""
    found = _ATTRIBUTE.match(source, at, limit)
    if found is None:  # perhaps `{...attributes}`
        end = _braces(source, _skip_blanks(source, at), limit)
        return (end, "") if end else None
    if found["value"] != "":
        return found.end(), _attribute(found["name"], found["value"] or '""')
    end = _braces(source, found.end(), limit)
    if not end:
        return None
    return end, _attribute(found["name"], _text_of(found["name"], source[found.end() : end]))


def _skip_blanks(source: str, at: int) -> int:
    while at < len(source) and source[at].isspace():
        at += 1
    return at


def _braces(source: str, at: int, limit: int) -> int:
    """Return the offset behind the braces that begin at an offset; 0 if none do."""
    if at >= limit or source[at] != "{":
        return 0
    depth = 0
    for end in range(at, limit):
        depth += (source[end] == "{") - (source[end] == "}")
        if not depth:
            return end + 1
    return 0


def _text_of(name: str, braces: str) -> str | None:
    """Return the value of an attribute in braces; None if only a build can evaluate it."""
    if name == "style":
        return braces.translate(_STYLE_MARKS)
    if braces == "{true}":
        return ""
    found = _TEXT_VALUE.fullmatch(braces)
    return next(part for part in found.groups() if part is not None) if found else None


def _attribute(name: str, value: str | None) -> str:
    if value is None:
        return ""
    if value[:1] in "\"'" and value[-1:] == value[:1]:
        return f" {name}={value}"
    return f' {name}="{escape(value)}"'


def _html(close: str, name: str, attributes: str, empty: str) -> str:
    if close:
        return f"</{name}>"
    opened = f"<{name}{attributes}>"
    return f"{opened}</{name}>" if empty and name not in _VOID else opened


def tags_plugin(md: MarkdownIt) -> None:
    """Read lines of tags alone as tags, so that the lines between them are Markdown."""
    md.block.ruler.before(
        "html_block", "tag_line", _tag_line, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    md.inline.ruler.before("html_inline", "tag", _tag_inline)


def _tag_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    at = state.bMarks[start] + state.tShift[start]
    if state.src[at : at + 1] != "<":
        return False
    html, unknown = "", False
    while at < len(state.src) and state.src[at] == "<":
        tag = scan_tag(state.src, at)
        if tag is None or tag.is_inline or (tag.name in _RAW and not html):
            return False
        html += tag.html
        unknown = unknown or tag.expression
        at = tag.end
        while at < len(state.src) and state.src[at] in " \t":
            at += 1
    if at < len(state.src) and state.src[at] != "\n":
        return False
    last = start + state.src.count("\n", state.bMarks[start], at)
    if last >= end:
        return False
    if not silent:
        if unknown:
            text = state.src[state.bMarks[start] : at].split("\n")[0].strip()
            state.env["unknown"].append((start + 1, text))
        token = state.push("html_block", "", 0)
        token.map = [start, last + 1]
        token.content = f"{html}\n"
        state.line = last + 1
    return True


def _tag_inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "<":
        return False
    tag = scan_tag(state.src, state.pos)
    if tag is None:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = tag.html
    state.pos = tag.end
    return True


def as_html(source: str) -> str:
    """Return HTML or JSX with its tags as HTML; see `scan_tag`."""
    out: list[str] = []
    at = 0
    while (begin := source.find("<", at)) >= 0:
        tag = scan_tag(source, begin)
        out += source[at:begin], tag.html if tag else "<"
        at = tag.end if tag else begin + 1
    return "".join([*out, source[at:]])
