"""HTML and JSX tags in Markdown: each is an element, whatever stands between two of them."""

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_inline import StateInline

from app.adapters.reading.markdown.unresolved import TEMPLATE
from app.adapters.reading.tree import INLINE

_BRACES = r"\{[^{}]*+\}"
for _ in range(5):  # braces in braces, as deep as a component's attributes need
    _BRACES = rf"\{{(?:[^{{}}]++|{_BRACES})*+\}}"
_MARK = TEMPLATE.pattern
_KEY = r"[A-Za-z_:@][\w:.@-]*+"
_VALUE = rf"\"(?:{_MARK}|[^\"])*+\"|'(?:{_MARK}|[^'])*+'|{_BRACES}|[^\s\"'{{}}<>=`]++"
# Without groups: Python raises SystemError for some texts if a group is repeated at once.
_ATTRIBUTE = rf"\s*+(?:{_KEY}(?:\s*+=\s*+(?:{_VALUE}))?+|{_BRACES})"
_ATTRIBUTES = re.compile(rf"\s*+(?:(?P<key>{_KEY})(?:\s*+=\s*+(?P<value>{_VALUE}))?|{_BRACES})")
TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z\d.:-]*+)(?!_)"
    rf"(?P<attributes>(?:{_ATTRIBUTE})*+)\s*+(?P<empty>/?)>"
)
_ANY = re.sub(r"\(\?P<\w+>", "(?:", TAG.pattern)
_LINE = re.compile(rf"(?:(?:<summary>[^<\n]*+</summary>|{_ANY})[ \t]*+)++(?:\n|\Z)")
_TEXT = re.compile(r"\{\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`$]*)`|true())\s*\}")
"""A value in braces that needs no build."""
_STYLE_MARKS = str.maketrans({"{": None, "}": None, "'": None, '"': None, "`": None, ",": ";"})
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_RAW = frozenset("pre script style textarea svg math table".split())
"""Elements whose content is HTML up to their end, as CommonMark has it."""
_INLINE = re.compile(
    r"br|img|input|label|m(?:ath|[inos]|text|frac|row|root|sqrt|su[bp]|subsup|over|under|underover"
    rf"|style|space|padded|phantom|fenced|enclose|table|tr|td)|{'|'.join(INLINE)}"
)
"""Elements that do not end a paragraph, those of MathML among them."""
_ROW = re.compile(r"</?(?:t(?:able|body|foot|head|r)|m[a-z]+)\b")
_LONGEST = 20_000
"""Characters of a tag or of a line of tags; longer ones are text."""


def tags_plugin(md: MarkdownIt) -> None:
    """Read lines of tags alone, or a summary, as tags: the lines between them are Markdown."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
    md.block.ruler.before("code", "inside_html", _inside_html)
    md.block.ruler.before("html_block", "tag_line", _tag_line, ends)
    md.block.ruler.at("html_block", _html_block, ends)
    md.inline.ruler.before("html_inline", "tag", _tag_inline)


def as_html(source: str) -> str:
    """Return HTML or JSX with its tags as HTML.

    Attributes in braces are kept if they are a text. A component that closes itself gets an end.
    """
    return TAG.sub(_html, source)


def _html(tag: re.Match[str]) -> str:
    name = tag["name"].lower()
    if tag["close"]:
        return f"</{name}>"
    end = f"</{name}>" if tag["empty"] and name not in _VOID else ""
    return f"<{name}{_ATTRIBUTES.sub(_attribute, tag['attributes'])}>{end}"


def _attribute(found: re.Match[str]) -> str:
    """Return an attribute as HTML; "" for an expression, which only a build can evaluate."""
    name, value = found["key"], found["value"] or '""'
    if not name:
        return ""
    if value[0] in "\"'":
        return f" {name}={TEMPLATE.sub('', value)}"
    if value[0] == "{" and name == "style":
        value = value.translate(_STYLE_MARKS)
    elif value[0] == "{":
        text = _TEXT.fullmatch(value)
        if text is None:
            return ""
        value = text[text.lastindex or 0]
    return f' {name}="{escape(value)}"'


def _inside_html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take the indent from lines right behind HTML that are indented like code: they are HTML."""
    last = state.tokens[-1] if state.tokens else None
    if silent or not last or last.type != "html_block" or not state.is_code_block(start):
        return False
    indent, line = state.sCount[start] - state.blkIndent, start
    while last.map and last.map[1] == start and line < end and not state.isEmpty(line):
        state.sCount[line] = max(
            state.sCount[line] - indent, min(state.sCount[line], state.blkIndent)
        )
        line += 1
    return False


def _tag_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    at = state.bMarks[start] + state.tShift[start]
    line = _LINE.match(state.src, at, at + _LONGEST)
    if line is None:
        return False
    tags = list(TAG.finditer(line[0]))
    names = [tag["name"].lower() for tag in tags]
    if names[0] in _RAW or any(map(_INLINE.fullmatch, names)):
        return False
    behind = start + line[0].rstrip().count("\n") + 1
    if behind > end:
        return False
    if not silent:
        if any(map(_needs_build, tags)):
            state.env["unknown"].append(line[0].partition("\n")[0].strip())
        token = state.push("html_block", "", 0)
        token.map = [start, behind]
        token.content = as_html(line[0].rstrip()) + "\n"
        state.line = behind
    return True


def _html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read HTML up to an empty line, but as a paragraph what begins with an element within a line.

    A table or formula that is not closed goes on behind an empty line, if the next begins with a
    row or is indented like code.
    """
    at = state.bMarks[start] + state.tShift[start]
    tag = TAG.match(state.src, at, at + _LONGEST)
    name = tag["name"].lower() if tag else ""
    if (_INLINE.fullmatch(name) and name != "math") or not html_block(state, start, end, silent):
        return False
    if silent or name not in _RAW:
        return True
    token = state.tokens[-1]
    part, depth, line = token.content, 0, state.line
    while (depth := depth + part.count(f"<{name}") - part.count(f"</{name}")) > 0:
        first = at = state.skipEmptyLines(line)
        if at >= end or not _goes_on(state, at):
            break
        while at < end and not state.isEmpty(at) and state.sCount[at] >= state.blkIndent:
            at += 1
        part, line = state.getLines(first, at, 0, False), at
    state.line, token.map = line, [start, line]
    token.content = state.getLines(start, line, state.blkIndent, True)
    return True


def _goes_on(state: StateBlock, line: int) -> bool:
    begin = state.bMarks[line] + state.tShift[line]
    is_row = _ROW.match(state.src, begin) is not None
    is_inside = state.sCount[line] >= state.blkIndent
    return is_inside and (is_row or (state.src[begin] == "<" and state.is_code_block(line)))


def _needs_build(tag: re.Match[str]) -> bool:
    """Whether it is a component without content, whose attributes are expressions."""
    return bool(tag["empty"] and "{" in tag["attributes"] and tag["name"][0].isupper())


def _tag_inline(state: StateInline, silent: bool) -> bool:
    tag = TAG.match(state.src, state.pos, state.pos + _LONGEST)
    if tag is None:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = _html(tag)
    state.pos = tag.end()
    return True
