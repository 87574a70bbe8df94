"""Containers: `::: name Title`, MkDocs' `/// name | Title` and its tabs, `=== "Label"`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin

_CONTAINER = re.compile(
    r"^\s*\{?\s*\.?(?P<name>[A-Za-z][\w-]*)(?P<attributes>[^{}\[\]\n]*\})?\s*"
    r"(?:\[(?P<label>.*)\]|(?P<title>[^{\n]*))?"
)
_BLOCK = re.compile(r"^\s*(?P<name>[A-Za-z][\w-]*)\s*(?:\|\s*(?P<title>.*))?$")
_TAB = re.compile(r"===[!+]{0,2} +\"(?P<label>[^\"]*)\"\s*$")
_UNTITLED = frozenset({"define", "caption", "figure-caption"})
"""Blocks of PyMdown that have no title of their own."""
_TAB_END = "</tabitem></tabs>\n"
_INDENT = 4


def containers_plugin(md: MarkdownIt) -> None:
    """Render containers as elements that the builder of blocks knows."""

    def render(_: object, tokens: Sequence[Token], index: int, *_rest: object) -> str:
        token = tokens[index]
        found = _CONTAINER.match(token.info)
        name = found["name"].lower() if found else ""
        if token.nesting < 0:
            return f"</{_element(name)}>\n"
        title = ((found["label"] or found["title"] or "") if found else "").strip()
        return _opening(name, md.renderInline(title) if title else "", token)

    def render_block(_: object, tokens: Sequence[Token], index: int, *_rest: object) -> str:
        token = tokens[index]
        found = _BLOCK.match(token.info)
        name, title = (found["name"].lower(), found["title"] or "") if found else ("", "")
        if name == "tab":
            return f'<tabs><tabitem label="{escape(title)}">\n' if token.nesting > 0 else _TAB_END
        if token.nesting < 0:
            return f"</{_element(name)}>\n"
        shown = "" if name == "html" else title or (name.title() if name not in _UNTITLED else "")
        return _opening(name, md.renderInline(shown), token)

    container_plugin(
        md, "slashes", "/", lambda params, *_: bool(_BLOCK.match(params)), render_block
    )
    container_plugin(
        md, "any", validate=lambda params, *_: bool(_CONTAINER.match(params)), render=render
    )
    md.block.ruler.before(
        "fence",
        "content_tab",
        _content_tab,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )


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
    for kind, attrs in (("tabs", {}), ("tabitem", {"label": found["label"]})):
        opening = state.push(f"{kind}_open", kind, 1)
        opening.attrs, opening.map = dict(attrs), [start, last]
    before = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = indent, last, "container"
    state.md.block.tokenize(state, start + 1, last)
    state.blkIndent, state.lineMax, state.parentType = before
    for kind in ("tabitem", "tabs"):
        state.push(f"{kind}_close", kind, -1)
    state.line = last
    return True
