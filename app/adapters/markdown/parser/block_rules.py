"""Block rules for markdown-it that several dialects share.

One rule replaces markdown-it's `html_block`. It looks up a block's first character, so an ordinary
paragraph costs one dictionary look-up. It emits a `mark` token for mark-up; the other rules parse
the content of containers. Containers stay flat in the token stream, so an unclosed one does not
swallow the text after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from app.adapters.markdown.parser.dialect import BlockRule, Dialect
from app.adapters.markdown.parser.drafts import Markup, MarkupClass, RawElement
from app.adapters.markdown.parser.tags import (
    BLOCK_NAMES,
    INLINE_NAMES,
    RAW_NAMES,
    TEXT_NAMES,
    VOID_NAMES,
    HtmlTag,
    TagScanner,
)

_DIRECTIVE = re.compile(
    r"(?P<colons>:{3,})[ \t]*(?:(?P<name>[A-Za-z][\w-]*)"
    r"(?:\[(?P<label>[^\n]*?)\](?=[ \t{]|$))?(?:\{(?P<attributes>[^}\n]*)\})?)?"
    r"[ \t]*(?P<title>[^\n]*)$",
    re.MULTILINE,
)
_FOOTNOTE = re.compile(r"\[\^([^\]\s]+)\]:")
_ENVIRONMENT = re.compile(
    r"\\begin\{(?P<name>(?:equation|align|alignat|gather|multline|flalign|eqnarray|math)\*?)\}"
)
_FORMULA_LABEL = re.compile(r"\([\w:-]+\)|\{#[\w:.-]+\}")
_MAX_MARKS_PER_LINE = 40
"""Further tags on the same line are parsed as inline mark-up, with the same result."""

OpenedTag: TypeAlias = Callable[[StateBlock, HtmlTag, int, int], None]
"""`opened(state, tag, start line, end line)`, called before an opening tag is emitted."""


class StructureRule:
    """The block rule of one dialect: calls its own and the shared rules by first character."""

    def __init__(self, dialect: Dialect) -> None:
        rules = {**_shared_rules(dialect), **dict(dialect.block_rules)}
        self.beginnings = frozenset(rules)
        """The first characters or words of this rule's blocks."""
        self._rules: Mapping[str, BlockRule] = {begin[0]: rule for begin, rule in rules.items()}

    def __call__(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:
        position = state.bMarks[start] + state.tShift[start]
        rule = self._rules.get(state.src[position : position + 1])
        if rule is None or state.is_code_block(start):
            return False
        return rule(state, position, start, end, silent)


def _shared_rules(dialect: Dialect) -> dict[str, BlockRule]:
    rules: dict[str, BlockRule] = {"<": html_block}
    if dialect.attribute_lists:
        rules["{"] = attribute_list
    if dialect.directives:
        rules[":"] = (
            first_of(directive, stray_definition) if dialect.definition_lists else directive
        )
    elif dialect.definition_lists:
        rules[":"] = stray_definition
    if dialect.math:
        rules |= {"$": display_math, "\\": environment}
    return rules


def html_block(
    state: StateBlock,
    position: int,
    start: int,
    end: int,
    silent: bool,
    opened: OpenedTag | None = None,
) -> bool:
    """Read a comment, a raw element (its content is not Markdown), or a single tag."""
    if state.src.startswith("<!--", position):
        return _comment(state, position, start, end, silent)
    limit = state.eMarks[end - 1]
    tag = state.env["scanner"].tag_at(position)
    if tag is None or tag.end > limit or not _is_block(state, tag):
        return False
    if silent:
        # `</math>` on a line of its own ends a formula inside the paragraph.
        return not (tag.closing and tag.name == "math")
    element = _raw_element(state, tag, limit)
    if element is not None:
        return emit(state, element, start, end)
    mark = _tag_mark(tag)
    if mark.opens and opened is not None:
        opened(state, tag, start, end)
    if "markdown" not in tag.attributes:
        _unindent(state, line_of(state, tag.end, start, end) + 1, end)
    return emit(state, mark, start, end)


def _unindent(state: StateBlock, line: int, end: int) -> None:
    """Remove the indentation of the lines below a tag: up to an empty line they are no code."""
    line = max(line, state.env.get("unindented", 0))
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        begin = state.bMarks[line] + state.tShift[line]
        if state.src.startswith(("```", "~~~"), begin):
            break
        if state.is_code_block(line):
            state.bMarks[line], state.tShift[line] = begin, 0
            state.sCount[line] = state.blkIndent
        line += 1
    state.env["unindented"] = line


def _tag_mark(tag: HtmlTag) -> Markup:
    if tag.closing:
        return Markup(MarkupClass.TAG, tag.start, tag.end, tag, closes=tag.name)
    opens = "" if tag.void or tag.name.lower() in VOID_NAMES else tag.name
    return Markup(MarkupClass.TAG, tag.start, tag.end, tag, opens=opens)


def _comment(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    close = state.env["scanner"].find("-->", position + 4, state.eMarks[end - 1])
    if close < 0:
        return False
    return silent or emit(state, Markup(MarkupClass.COMMENT, position, close + 3), start, end)


def _raw_element(state: StateBlock, tag: HtmlTag, limit: int) -> RawElement | None:
    """Return the element that `tag` opens if its content is read as HTML."""
    if tag.name.lower() not in RAW_NAMES or tag.closing or tag.void:
        return None
    scanner: TagScanner = state.env["scanner"]
    inner_end, stop = scanner.element_end(tag, limit)
    if stop <= 0 or "```" in state.src[tag.end : inner_end]:
        return None
    return RawElement(tag, tag.start, stop, tag.end, inner_end)


def _is_block(state: StateBlock, tag: HtmlTag) -> bool:
    name = tag.name.lower()
    if not tag.is_component:
        if name in BLOCK_NAMES or name in RAW_NAMES:
            return True
        if name in INLINE_NAMES:
            # A paragraph would end before this line: it begins a quote.
            return state.src[tag.start : tag.end].rpartition("\n")[2].strip() == ">"
    return _is_alone(state, tag)


def _is_alone(state: StateBlock, tag: HtmlTag) -> bool:
    """True if only tags, or the rest of its element, follow this tag on its line."""
    rest = state.src[tag.end : line_end(state, tag.end)].strip()
    return not rest or rest.startswith(("<", "{/*")) or rest.endswith(f"</{tag.name}>")


def mark_rule(pattern: re.Pattern[str], kind: MarkupClass, **fields: str) -> BlockRule:
    """Return a rule that reads what `pattern` matches as mark-up of one class.

    The groups of the pattern are further fields of the `Markup`.
    """

    def read(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        match = pattern.match(state.src, position)
        if match is None:
            return False
        given: dict[str, Any] = fields | match.groupdict("")
        return silent or emit(state, Markup(kind, position, match.end(), **given), start, end)

    return read


def first_of(*rules: BlockRule) -> BlockRule:
    """Return a rule that tries these rules in order."""

    def read(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        for rule in rules:  # noqa: SIM110 - `any` takes one more frame for each level of nesting
            if rule(state, position, start, end, silent):
                return True
        return False

    return read


def line_end(state: StateBlock, position: int) -> int:
    """Return the end offset of the line that contains `position`."""
    newline = state.src.find("\n", position)
    return newline if newline >= 0 else len(state.src)


attribute_list = mark_rule(
    re.compile(r"(?P<argument>\{[:#.][^{}\n]*\})[ \t]*$", re.M), MarkupClass.ATTRIBUTE_LIST
)
"""Reads `{#id .class}` or `{: ...}` on a line of its own."""


def comment_expression(
    state: StateBlock, position: int, start: int, end: int, silent: bool
) -> bool:
    """Read MDX's `{/* note */}` that is a block of its own."""
    if not state.src.startswith("{/*", position):
        return False
    close = state.env["scanner"].find("*/}", position + 3, state.eMarks[end - 1])
    if close < 0 or state.src[close + 3 : line_end(state, close)].strip():
        return False
    return silent or emit(state, Markup(MarkupClass.COMMENT, position, close + 3), start, end)


def directive(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `:::name[title]{attributes}`, or the colons that close a directive."""
    match = _DIRECTIVE.match(state.src, position)
    if match is None:
        return False
    if silent:
        return True
    name, title = match["name"] or "", (match["label"] or match["title"] or "").strip()
    mark = Markup(
        MarkupClass.DIRECTIVE,
        position,
        match.end(),
        opens=match["colons"] if name else "",
        closes="" if name else match["colons"],
        name=name,
        argument=title,
    )
    return emit(state, mark, start, end)


def display_math(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `$$...$$`, which a label or the next formula may follow."""
    if not state.src.startswith("$$", position):
        return False
    close = state.env["scanner"].find("$$", position + 2, state.eMarks[end - 1])
    if close < 0:
        return False
    tail = state.src[close + 2 : line_end(state, close)].strip()
    more = tail.startswith("$$") and close > position + 2
    if tail and not more and not _FORMULA_LABEL.fullmatch(tail):
        return False
    if silent:
        return True
    token = push_formula(state, position, close + 2, start, end)
    if more:
        _parse_rest(state, close + 2, state.line - 1, end)
    else:
        token.markup = tail
    return True


def environment(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read a LaTeX display environment such as `align` or `equation`."""
    match = _ENVIRONMENT.match(state.src, position)
    if match is None:
        return False
    closing = f"\\end{{{match['name']}}}"
    at = state.env["scanner"].find(closing, match.end(), state.eMarks[end - 1])
    if at < 0:
        return False
    if not silent:
        push_formula(state, position, at + len(closing), start, end)
    return True


def push_formula(state: StateBlock, position: int, stop: int, start: int, end: int) -> Token:
    """Emit the display formula in the source from `position` to `stop`."""
    line = line_of(state, stop - 1, start, end)
    token = state.push("math_block", "", 0)
    token.map = [start, line + 1]
    token.content = state.src[position:stop]
    state.line = line + 1
    return token


def line_of(state: StateBlock, position: int, start: int, end: int) -> int:
    """Return the first line from `start` on that contains `position`."""
    line = start
    while line < end - 1 and state.eMarks[line] < position:
        line += 1
    return line


def emit(state: StateBlock, found: Markup | RawElement, start: int, end: int) -> bool:
    """Push a token for `found`; parse the rest of its last line as a separate block.

    If the line also closes `found`, an element of text such as a heading, its content ends there.
    """
    line = line_of(state, found.end, start, end)
    push_found(state, found, start, line + 1)
    state.line = line + 1
    position = _past_blanks(state, found.end, line)
    stop = _close_on_line(state, found, position, line)
    if position < stop:
        _parse_content(state, position, stop, line)
        position = stop
    if position < state.eMarks[line]:
        _parse_rest(state, position, line, end)
    return True


def _close_on_line(state: StateBlock, found: Markup | RawElement, position: int, line: int) -> int:
    """Return where the element of text that `found` opens is closed on this line, or -1."""
    if isinstance(found, RawElement) or found.tag is None or found.opens not in TEXT_NAMES:
        return -1
    return state.src.find(f"</{found.opens}>", position, state.eMarks[line])


def _parse_content(state: StateBlock, position: int, stop: int, line: int) -> None:
    """Read the content of an element of text as a paragraph, unless it begins with a tag."""
    if state.src[position] == "<":
        old_end, old_max = state.eMarks[line], state.lineMax
        state.eMarks[line], state.lineMax = stop, line + 1
        _parse_rest(state, position, line, line + 1)
        state.eMarks[line], state.lineMax = old_end, old_max
        return
    token = state.push("paragraph", "p", 0)
    token.map, token.content = [line, line + 1], state.src[position:stop].rstrip()
    token.meta = {"span": (position, position + len(token.content))}


def push_found(state: StateBlock, found: Markup | RawElement, first: int, stop: int) -> None:
    """Push a token for `found`, which is on the lines from `first` to before `stop`."""
    token = state.push("mark" if isinstance(found, Markup) else "raw", "", 0)
    token.map, token.meta = [first, stop], {"found": found}


def read_inside(state: StateBlock, first: int, stop: int, indent: int = 0) -> None:
    """Parse the lines inside a container, which are indented by this number of columns."""
    old_max, old_parent = state.lineMax, state.parentType
    state.lineMax, state.parentType = stop, "blockquote"
    state.blkIndent += indent
    state.level += 1
    state.md.block.tokenize(state, first, stop)
    state.level -= 1
    state.blkIndent -= indent
    state.lineMax, state.parentType = old_max, old_parent


def _parse_rest(state: StateBlock, position: int, line: int, end: int) -> None:
    """Parse the rest of `line`, from `position` on, as a block."""
    first = len(state.tokens)
    state.bMarks[line] = position
    state.tShift[line] = 0
    state.sCount[line] = state.blkIndent
    state.line = line
    depth = state.env["line_depth"] = state.env.get("line_depth", 0) + 1
    rules = state.md.block.ruler.getRules("")
    for rule in rules if depth < _MAX_MARKS_PER_LINE else rules[-1:]:
        if rule(state, line, end, False):
            break
    state.env["line_depth"] = depth - 1
    for following in state.tokens[first:]:
        if following.map and following.map[0] == line:
            following.meta = {"start": position, **following.meta}


def stray_definition(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read a `: definition` that is separated from its term by several blank lines."""
    if silent or state.src[position + 1 : position + 2] not in (" ", "\t"):
        return False
    text = _past_blanks(state, position + 1, start)
    if text >= state.eMarks[start]:
        return False
    token = state.push("definition_open", "dd", 1)
    _indented(state, start, end, position + 1, text, 2)
    token.map = [start, state.line]
    state.push("definition_close", "dd", -1)
    return True


def _past_blanks(state: StateBlock, position: int, line: int) -> int:
    """Return the offset after the blanks at `position` on this line."""
    while position < state.eMarks[line] and state.src[position] in " \t":
        position += 1
    return position


def _indented(state: StateBlock, start: int, end: int, after: int, text: int, indent: int) -> None:
    """Parse the content of a marker on line `start`: the rest of the line, and indented lines."""
    old = (state.bMarks[start], state.tShift[start], state.sCount[start], state.parentType)
    state.bMarks[start], state.tShift[start] = after, text - after
    state.blkIndent += indent
    state.sCount[start] = state.blkIndent
    state.parentType = "reference"
    state.md.block.tokenize(state, start, end)
    state.blkIndent -= indent
    state.bMarks[start], state.tShift[start], state.sCount[start], state.parentType = old
    if state.line <= start:
        state.line = start + 1


def footnote_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read `[^label]: text` and its indented lines as a container, in source order."""
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("[^", position) or state.is_code_block(start):
        return False
    match = _FOOTNOTE.match(state.src, position)
    if match is None:
        return False
    if silent:
        return True
    after = match.end()
    text = _past_blanks(state, after, start)
    token = state.push("footnote_open", "", 1)
    token.meta = {"label": match.group(1)}
    _indented(state, start, end, after, text, 4)
    token.map = [start, state.line]
    state.push("footnote_close", "", -1)
    return True
