"""Containers: `::: name Title`, MkDocs' `/// name | Title` and its tabs, `=== "Label"`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType
from mdit_py_plugins.container import container_plugin

from app.adapters.reading.markdown.unresolved import inline_html

_CONTAINER = re.compile(
    r"^\s*\{?\s*\.?(?P<name>[A-Za-z][\w-]*)(?P<attributes>[^{}\[\]\n]*\})?\s*"
    r"(?:\[(?P<label>.*)\]|(?P<title>[^{\n]*))?"
)
_BLOCK = re.compile(r"(?P<marks>/{3,})\s*(?P<name>[A-Za-z][\w-]*)\s*(?:\|\s*(?P<title>.*))?$")
_CLOSING = re.compile(r"^[ >]*(/{3,})[ ]*$", re.M)
_FENCE = re.compile(r"[ >]*(`{3,}|~{3,})")
_TAB = re.compile(r"===[!+]{0,2} +\"(?P<label>[^\"]*)\"\s*$")
_UNTITLED = frozenset({"html", "define", "caption", "figure-caption"})
"""Blocks of PyMdown that have no title of their own."""
_INDENT = 4


def containers_plugin(md: MarkdownIt) -> None:
    """Render containers as elements that the builder of blocks knows."""

    def render(
        _: object, tokens: Sequence[Token], index: int, _options: object, env: EnvType
    ) -> str:
        token = tokens[index]
        found = _CONTAINER.match(token.info)
        name = found["name"].lower() if found else ""
        if token.nesting < 0:
            return f"</{_element(name)}>\n"
        title = ((found["label"] or found["title"] or "") if found else "").strip()
        return _opening(name, inline_html(md, title, env) if title else "", token)

    def render_block(
        _: object, tokens: Sequence[Token], index: int, _options: object, env: EnvType
    ) -> str:
        token = tokens[index]
        if not token.info:
            return f"<div{RendererHTML.renderAttrs(token)}>\n"
        return _opening(token.tag, inline_html(md, token.info, env), token)

    container_plugin(
        md, "any", validate=lambda params, *_: bool(_CONTAINER.match(params)), render=render
    )
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.block.ruler.before("fence", "content_tab", _content_tab, ends)
    md.block.ruler.before("fence", "slashes", _slashes, ends)
    md.add_render_rule("slashes_open", render_block)


def _element(name: str) -> str:
    return "details" if name == "details" else "div"


def _opening(name: str, title: str, token: Token) -> str:
    attributes = RendererHTML.renderAttrs(token)
    if name == "details":
        return f"<details{attributes}><summary>{title}</summary>\n"
    head = f'<p class="admonition-title">{title}</p>\n' if title else ""
    return f'<div class="admonition {escape(name)}"{attributes}>{head}'


def _content_tab(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    begin = state.bMarks[start] + state.tShift[start]
    found = _TAB.match(state.src[begin : state.eMarks[start]])
    if found is None or state.is_code_block(start):
        return False
    if silent:
        return True
    indent = state.sCount[start] + _INDENT
    last = start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
        last += 1
    before, state.blkIndent = state.blkIndent, indent
    _nest(state, _tab(found["label"]), (start, start + 1, last))
    state.blkIndent = before
    state.line = last
    return True


def _tab(label: str) -> list[Token]:
    """Return what opens a set of one tab."""
    return [Token("tabs_open", "tabs", 1), Token("tabitem_open", "tabitem", 1, {"label": label})]


def _nest(state: StateBlock, opening: Sequence[Token], lines: tuple[int, int, int]) -> None:
    """Read lines as the content of new elements: that of the opening, the first, the last + 1."""
    start, first, last = lines
    for token in opening:
        token.map, token.block, token.level = [start, last], True, state.level
        state.level += 1
    state.tokens += opening
    before = state.lineMax, state.parentType
    state.lineMax, state.parentType = last, "container"
    state.md.block.tokenize(state, first, last)
    state.lineMax, state.parentType = before
    for token in reversed(opening):
        state.push(token.type.replace("open", "close"), token.tag, -1)


def _slashes(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a block of PyMdown: a line with the same number of slashes closes it."""
    begin = state.bMarks[start] + state.tShift[start]
    found = _BLOCK.match(state.src[begin : state.eMarks[start]])
    last = _closing(state, start, found["marks"]) if found else end
    if found is None or last >= end or state.is_code_block(start):
        return False
    if silent:
        return True
    first = start + 1
    while first < last and state.sCount[first] >= state.blkIndent + _INDENT:
        first += 1  # its options
    name, title = found["name"].lower(), found["title"] or ""
    info = "" if name in _UNTITLED else title or name.title()
    block = [Token("slashes_open", _element(name), 1, info=info)]
    _nest(state, _tab(title) if name == "tab" else block, (start, first, last))
    state.line = last + 1
    return True


def _closing(state: StateBlock, start: int, marks: str) -> int:
    """Return the next line of exactly these slashes outside code; the line count if none."""
    lines: dict[str, list[int]] | None = state.env.get("closing")
    if lines is None:
        lines, fence = state.env.setdefault("closing", {}), ""
        for number, (begin, end) in enumerate(zip(state.bMarks, state.eMarks, strict=True)):
            line = state.src[begin:end]
            mark = _FENCE.match(line)
            if mark and mark[1].startswith(fence):
                fence = "" if fence else mark[1]
            elif not fence and (found := _CLOSING.match(line)):
                lines.setdefault(found[1], []).append(number)
    own = lines.get(marks, [])
    at = bisect_right(own, start)
    return own[at] if at < len(own) else len(state.bMarks)
