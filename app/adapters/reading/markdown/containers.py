"""Containers, `::: name Title`, and the tabs of MkDocs, `=== "Label"`."""

from __future__ import annotations

import re
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
_TAB = re.compile(r"===[!+]{0,2} +\"(?P<label>[^\"]*)\"\s*$")
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

    container_plugin(
        md, "any", validate=lambda params, *_: bool(_CONTAINER.match(params)), render=render
    )
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.block.ruler.before("fence", "content_tab", _content_tab, ends)


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
    before = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = indent, last, "container"
    for tag, attributes in (("tabs", {}), ("tabitem", {"label": found["label"]})):
        token = state.push(f"{tag}_open", tag, 1)
        token.map, token.attrs = [start, last], dict(attributes)
    state.md.block.tokenize(state, start + 1, last)
    for tag in ("tabitem", "tabs"):
        state.push(f"{tag}_close", tag, -1)
    state.blkIndent, state.lineMax, state.parentType = before
    state.line = last
    return True
