"""Docusaurus' additions to Markdown as rules of markdown-it: ESM, JSX tags, admonitions, comments.

Every block token keeps its map of source lines, by which `block_ids` finds blocks.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from app.adapters.page_renderer.tags import BLOCK, RAW, TAG, is_component, parse_tag

_ESM = re.compile(
    r"""import\s.+\sfrom\s+["'].*|import\s+["'][^"']+["'];?\s*$"""
    r"""|export\s+(?:const|default|function|let)\b"""
)
_IMPORT = re.compile(r"""import\s+(\w+)\s+from\s+["']([^"']+\.mdx?)["']""")
_ADMONITION = re.compile(r"(:{3,})\s*([a-z]+)\s*(?:\[(.*)\]|(?!\s)([^{]*?))\s*(?:\{.*\})?\s*$")
_COMMENT_ENDS = {"{/*": "*/}", "<!--": "-->"}
_MAX_TAG_LINES = 20


def parser() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False}).enable(
        ["table", "strikethrough"]
    )
    md.disable(["code", "html_block"])  # as in MDX: no indented code, Markdown inside tags
    md.use(front_matter_plugin).use(footnote_plugin).use(deflist_plugin)
    md.use(dollarmath_plugin, allow_labels=False, double_inline=True)
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
    md.block.ruler.before("fence", "esm", _esm)
    md.block.ruler.before("fence", "comment", _comment, interrupts)
    md.block.ruler.before("fence", "admonition", _admonition, interrupts)
    md.block.ruler.before("paragraph", "tag_line", _tag_line, interrupts)
    md.inline.ruler.before("html_inline", "comment", _inline_comment)
    return md


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _esm(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level or not _ESM.match(_line(state, start)):
        return False
    if not silent:
        line = start
        while line < end and not state.isEmpty(line):
            for name, path in _IMPORT.findall(_line(state, line)):
                state.env.setdefault("imports", {})[name] = path
            line += 1
        state.line = line
    return True


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    text = _line(state, start)
    closer = next((close for open_, close in _COMMENT_ENDS.items() if text.startswith(open_)), "")
    if not closer:
        return False
    # Remembered, so that many unclosed comments take linear time.
    ends = state.env.setdefault("comment_ends", {})
    line = ends.get(closer, -1)
    if line < start:
        line = start
        while line < end and closer not in _line(state, line):
            line += 1
        ends[closer] = line
    line = min(line, end)
    if line < end and not _line(state, line).rstrip().endswith(closer):
        return False  # text follows on the same line: a paragraph
    if not silent:
        state.line = min(line + 1, end)
    return True


def _inline_comment(state: StateInline, silent: bool) -> bool:  # noqa: ARG001 - pushes nothing
    if not state.src.startswith("{/*", state.pos):
        return False
    end = state.src.find("*/}", state.pos)
    if end < 0:
        return False
    state.pos = end + 3
    return True


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    opening = _ADMONITION.match(_line(state, start))
    if not opening:
        return False
    if silent:
        return True
    fence, kind, bracketed, plain = opening.groups()
    last = _closing_line(state, fence, start, end)
    token = state.push("admonition_open", "aside", 1)
    token.map = [start, min(last + 1, end)]
    token.info = kind
    token.attrSet("class", f"admonition {kind}")
    label = state.push("admonition_label", "p", 0)
    label.content = (bracketed or plain or kind.capitalize()).strip()
    _nested(state, start + 1, last)
    state.push("admonition_close", "aside", -1)
    state.line = min(last + 1, end)
    return True


def _closing_line(state: StateBlock, fence: str, start: int, end: int) -> int:
    depth = 1
    for line in range(start + 1, end):
        text = _line(state, line).rstrip()
        if text == fence:
            depth -= 1
            if depth == 0:
                return line
        elif (again := _ADMONITION.match(text)) and again[1] == fence:
            depth += 1
    return end


def _nested(state: StateBlock, start: int, end: int) -> None:
    parent, line_max = state.parentType, state.lineMax
    state.parentType, state.lineMax = "container", end
    state.md.block.tokenize(state, start, end)
    state.parentType, state.lineMax = parent, line_max


def _tag_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read lines that begin with a block-level tag or a component; the tag may span lines.

    The tags become tokens, and the text between them (`<summary>Solution</summary>`) inline text.
    """
    found = _tag_lines(state, start, end)
    if found is None:
        return False
    if silent:
        return True
    text, next_line = found
    first = TAG.match(text)
    if first and first["name"] in RAW:
        state.line = _after_raw(state, first["name"], start, end)
        return True
    position = 0
    for match in TAG.finditer(text):
        if not _is_block_tag(match["name"]):
            continue
        _push_text(state, text[position : match.start()], start, next_line)
        _push_tag(state, match, start, next_line)
        position = match.end()
    _push_text(state, text[position:], start, next_line)
    state.line = next_line
    return True


def _tag_lines(state: StateBlock, start: int, end: int) -> tuple[str, int] | None:
    text = _line(state, start)
    if not text.startswith("<"):
        return None
    for line in range(start, min(end, start + _MAX_TAG_LINES)):
        if state.isEmpty(line):
            return None
        if line > start:
            text += "\n" + _line(state, line)
        if match := TAG.match(text):
            return (text, line + 1) if _is_block_tag(match["name"]) else None
    return None


def _is_block_tag(name: str) -> bool:
    return name in BLOCK or name in RAW or is_component(name)


def _after_raw(state: StateBlock, name: str, start: int, end: int) -> int:
    closing = f"</{name}>"
    for line in range(start, end):
        if closing in _line(state, line):
            return line + 1
    return end


def _push_text(state: StateBlock, text: str, start: int, end: int) -> None:
    if text.strip():
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = text.strip(), [start, end], []


def _push_tag(state: StateBlock, match: re.Match[str], start: int, end: int) -> None:
    tag = parse_tag(match)
    nesting = 0 if tag.empty else -1 if tag.closing else 1
    partial = state.env.get("imports", {}).get(tag.name, "")
    token = state.push("partial" if partial and not nesting else "tag", tag.name, 0)
    token.map = [start, end]
    token.content = partial
    token.meta = {"tag": tag}
