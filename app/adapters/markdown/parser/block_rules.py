"""Block rules for markdown-it that recognise what CommonMark leaves to site generators.

One rule stands where `html_block` stands in markdown-it and looks at the first character of a
block, so that ordinary paragraphs pay one dictionary look-up. It emits a `mark` token for mark-up
and leaves the content of containers to the other rules: containers come out flat, and an unclosed
one cannot swallow what follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.parser.markup import BlockRule, Dialect, Markup, MarkupClass, RawElement
from app.adapters.markdown.parser.tags import (
    BLOCK_NAMES,
    INLINE_NAMES,
    RAW_NAMES,
    VOID_NAMES,
    HtmlTag,
    TagScanner,
    string_literal,
)

"""`handler(state, position, start_line, end_line, silent) -> matched`."""

_ESM = re.compile(
    r"(?:import\s*(?:[\"'{*]|[\w$]+\s*(?:,|\s+from\b))"
    r"|export\s+(?:const|let|var|function|default|class|async|type|interface|\{|\*))"
)
_DIRECTIVE = re.compile(
    r"(?P<colons>:{3,})[ \t]*(?:(?P<name>[A-Za-z][\w-]*)"
    r"(?:\[(?P<label>[^\n]*?)\](?=[ \t{]|$))?(?:\{(?P<attributes>[^}\n]*)\})?)?"
    r"[ \t]*(?P<title>[^\n]*)$",
    re.MULTILINE,
)
_TEMPLATE = re.compile(
    r"\{(?:[#:/@][a-z][^}\n]*\}|%[^\n]*?%\}|\{[<%#][^\n]*?[>%]?\}\})[ \t]*$", re.MULTILINE
)
_ATTRIBUTE_LIST = re.compile(r"\{:?[^{}\n]*\}[ \t]*$", re.MULTILINE)
_INCLUDE = re.compile(
    r"\\?\{\{[ \t]*#(?P<name>\w+)[ \t]+(?P<argument>[^}\n]*)\}\}[ \t]*$", re.MULTILINE
)
_FOOTNOTE = re.compile(r"\[\^([^\]\s]+)\]:")


_MAX_MARKS_A_LINE = 40
_ENVIRONMENT = re.compile(
    r"\\begin\{(?P<name>(?:equation|align|alignat|gather|multline|flalign|eqnarray|math)\*?)\}"
)
"""Of more tags on one line the rest is read as running text, whose tags count just the same."""


class StructureRule:
    """The block rule of one dialect; `more` are handlers of its own beside the common ones."""

    def __init__(self, dialect: Dialect, more: Mapping[str, BlockRule]) -> None:
        self._dialect = dialect
        handlers: dict[str, BlockRule] = {"<": self._angle}
        if dialect.mdx:
            handlers |= {"i": self._esm, "e": self._esm, "{": self._expression}
        elif dialect.kramdown or dialect.attribute_lists or dialect.templates or dialect.mdbook:
            handlers["{"] = self._brace
        if dialect.kramdown:
            handlers["^"] = self._end_of_block
        if dialect.directives or dialect.definition_lists:
            handlers[":"] = self._colon
        if dialect.math:
            handlers["$"] = self._math
        self._handlers = {**handlers, **more}

    @property
    def characters(self) -> frozenset[str]:
        """The characters that this rule's blocks begin with."""
        return frozenset(self._handlers)

    def __call__(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:
        position = state.bMarks[start] + state.tShift[start]
        handler = self._handlers.get(state.src[position : position + 1])
        if handler is None or state.is_code_block(start):
            return False
        matched: bool = handler(state, position, start, end, silent)
        return matched

    def _angle(self, state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        scanner: TagScanner = state.env["scanner"]
        limit = state.eMarks[end - 1]
        if state.src.startswith("<!--", position):
            close = scanner.find("-->", position + 4, limit)
            if close < 0:
                return False
            return silent or emit(
                state, Markup(MarkupClass.COMMENT, position, close + 3), start, end
            )
        tag = scanner.tag_at(position)
        if tag is None or tag.end > limit or not self._is_block(state, tag):
            return False
        if silent:
            # `</math>` on a line of its own ends a formula inside the paragraph.
            return not (tag.closing and tag.name == "math")
        if tag.name.lower() in RAW_NAMES and not tag.closing and not tag.void:
            inner_end, stop = scanner.element_end(tag, limit)
            if stop > 0 and "```" not in state.src[tag.end : inner_end]:
                element = RawElement(tag, position, stop, tag.end, inner_end)
                return emit(state, element, start, end)
        opens = "" if tag.closing or tag.void or tag.name.lower() in VOID_NAMES else tag.name
        closes = tag.name if tag.closing else ""
        mark = Markup(MarkupClass.TAG, position, tag.end, tag, opens or "", closes)
        if opens and self._dialect.mkdocs and "markdown" in tag.attributes:
            _dedent_element(state, tag, start, end)
        return emit(state, mark, start, end)

    def _is_block(self, state: StateBlock, tag: HtmlTag) -> bool:
        name = tag.name.lower()
        if name in BLOCK_NAMES or name in RAW_NAMES:
            return not tag.is_component or self._alone(state, tag)
        if name in INLINE_NAMES and not tag.is_component:
            return False
        return self._alone(state, tag)

    def _alone(self, state: StateBlock, tag: HtmlTag) -> bool:
        """True if nothing but tags stands behind this tag on its line, or its element's text."""
        newline = state.src.find("\n", tag.end)
        rest = state.src[tag.end : newline if newline >= 0 else len(state.src)].strip()
        return not rest or rest.startswith(("<", "{/*")) or rest.endswith(f"</{tag.name}>")

    def _esm(self, state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        if silent or state.level or not _ESM.match(state.src, position):
            return False
        line = start + 1
        while line < end and not state.isEmpty(line):
            line += 1
        stop = state.eMarks[line - 1]
        brace = state.src.find("{", position, stop)
        if brace >= 0:
            closed = state.env["scanner"].brace_end(brace)
            while line < end and state.eMarks[line - 1] < closed:
                line += 1
        return emit(state, Markup(MarkupClass.ESM, position, state.eMarks[line - 1]), start, end)

    def _expression(
        self, state: StateBlock, position: int, start: int, end: int, silent: bool
    ) -> bool:
        stop = state.env["scanner"].brace_end(position)
        if stop < 0 or stop > state.eMarks[end - 1]:
            return False
        newline = state.src.find("\n", stop)
        if state.src[stop : newline if newline >= 0 else len(state.src)].strip():
            return False
        comment = state.src[position + 1 : stop].lstrip().startswith("/*")
        kind = MarkupClass.COMMENT if comment else MarkupClass.EXPRESSION
        raw = state.src[position:stop]
        mark = Markup(kind, position, stop, name=raw[1:-1].strip(), argument=string_literal(raw))
        return silent or emit(state, mark, start, end)

    def _brace(self, state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        if self._dialect.mdbook:
            match = _INCLUDE.match(state.src, position)
            if match:
                mark = Markup(
                    MarkupClass.INCLUDE,
                    position,
                    match.end(),
                    name=match["name"],
                    argument=match["argument"].strip(),
                )
                return silent or emit(state, mark, start, end)
        if self._dialect.templates:
            match = _TEMPLATE.match(state.src, position)
            if match:
                return silent or emit(
                    state, Markup(MarkupClass.DIRECTIVE, position, match.end()), start, end
                )
        if self._dialect.kramdown or self._dialect.attribute_lists:
            match = _ATTRIBUTE_LIST.match(state.src, position)
            if match and state.src.startswith(("{:", "{#", "{."), position):
                mark = Markup(
                    MarkupClass.ATTRIBUTE_LIST,
                    position,
                    match.end(),
                    argument=match.group().strip(),
                )
                return silent or emit(state, mark, start, end)
        return False

    def _end_of_block(
        self, state: StateBlock, position: int, start: int, end: int, silent: bool
    ) -> bool:
        if state.src[position : state.eMarks[start]].strip() != "^":
            return False
        return silent or emit(
            state, Markup(MarkupClass.DIRECTIVE, position, position + 1), start, end
        )

    def _colon(self, state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        match = _DIRECTIVE.match(state.src, position) if self._dialect.directives else None
        if match is None:
            stray = not silent and state.src[position + 1 : position + 2] in (" ", "\t")
            return self._dialect.definition_lists and stray and stray_definition(state, start, end)
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

    def _math(self, state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        if not state.src.startswith("$$", position):
            return False
        close = state.env["scanner"].find("$$", position + 2, state.eMarks[end - 1])
        if close < 0:
            return False
        newline = state.src.find("\n", close)
        tail = state.src[close + 2 : newline if newline >= 0 else len(state.src)].strip()
        if tail and not re.fullmatch(r"\([\w:-]+\)|\{#[\w:.-]+\}", tail):
            return False
        if silent:
            return True
        line = line_of(state, close + 1, start, end)
        token = state.push("math_block", "", 0)
        token.map = [start, line + 1]
        token.content = state.src[position : close + 2]
        token.markup = tail
        state.line = line + 1
        return True


def _dedent_element(state: StateBlock, tag: HtmlTag, start: int, end: int) -> None:
    """Move the lines inside `<tag markdown>` to the left, as their common indentation allows."""
    close, _ = state.env["scanner"].element_end(tag, state.eMarks[end - 1])
    if close < 0:
        return
    first, last = line_of(state, tag.end, start, end) + 1, line_of(state, close, start, end)
    inside = [line for line in range(first, last) if not state.isEmpty(line)]
    indent = min((state.sCount[line] - state.blkIndent for line in inside), default=0)
    blanks = (state.src[state.bMarks[line] :][: state.tShift[line]] for line in inside)
    if indent <= 0 or any("\t" in blank for blank in blanks):
        return
    for line in inside:
        state.bMarks[line] += indent
        state.tShift[line] -= indent
        state.sCount[line] -= indent


def line_of(state: StateBlock, position: int, start: int, end: int) -> int:
    """Return the line, from `start` on, that holds `position`."""
    line = start
    while line < end - 1 and state.eMarks[line] < position:
        line += 1
    return line


def emit(state: StateBlock, found: Markup | RawElement, start: int, end: int) -> bool:
    """Push a token for `found`; parse what follows it on its last line as a block of its own."""
    line = line_of(state, found.end, start, end)
    token = state.push("mark" if isinstance(found, Markup) else "raw", "", 0)
    token.map = [start, line + 1]
    token.meta = {"found": found}
    position = found.end
    text_end = state.eMarks[line]
    while position < text_end and state.src[position] in " \t":
        position += 1
    state.line = line + 1
    if position >= text_end:
        return True
    first = len(state.tokens)
    state.bMarks[line] = position
    state.tShift[line] = 0
    state.sCount[line] = state.blkIndent
    state.line = line
    depth = state.env["line_depth"] = state.env.get("line_depth", 0) + 1
    rules = state.md.block.ruler.getRules("")
    for rule in rules if depth < _MAX_MARKS_A_LINE else rules[-1:]:
        if rule(state, line, end, False):
            break
    state.env["line_depth"] = depth - 1
    for following in state.tokens[first:]:
        if following.map and following.map[0] == line:
            following.meta = {"start": position, **following.meta}
    return True


def stray_definition(state: StateBlock, start: int, end: int) -> bool:
    """Read a `: definition` that more than one blank line parts from its term."""
    position = state.bMarks[start] + state.tShift[start] + 1
    text = position
    while text < state.eMarks[start] and state.src[text] in " \t":
        text += 1
    if text >= state.eMarks[start]:
        return False
    token = state.push("definition_open", "dd", 1)
    _indented(state, start, end, position, text, 2)
    token.map = [start, state.line]
    state.push("definition_close", "dd", -1)
    return True


def _indented(state: StateBlock, start: int, end: int, after: int, text: int, indent: int) -> None:
    """Parse what begins behind a marker on line `start` and is indented below it."""
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
    """Read `[^label]: text` with its indented continuation as a container in its place."""
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("[^", position) or state.is_code_block(start):
        return False
    match = _FOOTNOTE.match(state.src, position)
    if match is None:
        return False
    if silent:
        return True
    after = match.end()
    text = after
    while text < state.eMarks[start] and state.src[text] in " \t":
        text += 1
    token = state.push("footnote_open", "", 1)
    token.meta = {"label": match.group(1)}
    _indented(state, start, end, after, text, 4)
    token.map = [start, state.line]
    state.push("footnote_close", "", -1)
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
    if silent:
        return True
    line = start
    while line < end - 1 and state.eMarks[line] < at:
        line += 1
    token = state.push("math_block", "", 0)
    token.map = [start, line + 1]
    token.content = state.src[position : at + len(closing)]
    state.line = line + 1
    return True
