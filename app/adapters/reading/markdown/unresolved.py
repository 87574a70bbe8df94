"""What only the site's generator can resolve: it is left out of the text, counted and named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.reading.inline import UNKNOWN
from app.domain.document import Site

UNRESOLVED = "unresolved"
"""Type of the token of what is left out of a line; a heading's id may need it."""
_MUSTACHE = re.compile(r"\{\{[^{}\n]{0,400}\}\}|\{%[^%\n]{0,400}%\}")
_COMMENT = re.compile(r"\{/\*.*?\*/\}", re.DOTALL)
_ATTRIBUTES = re.compile(r"\{:[^{}\n]{0,400}\}")
"""kramdown's attribute list."""
_ID = re.compile(r"#([^\s{}]+)")
_EXPRESSION = re.compile(r"\{[^{}\n]{0,400}\}")
_BLANK = re.compile(r"\{\s*(['\"`])\s*\1\s*\}")
_LINE = re.compile(
    r"(?:\{\{[^{}]*\}\}|\{%.*%\}|-{1,2}8<-{1,2} .*|\{[#:/@](?:if|else|each|key|await|html)\b.*\}"
    r"|\*\[[^\]\n]+\]:.*|\[TOC\]|\[\[toc\]\]|\^)\s*$",
    re.IGNORECASE,
)
_SILENT = re.compile(
    r"\{[#:/@]|\*|\[\[?toc|\^|\{% *(?:raw|endraw|comment|endcomment)", re.IGNORECASE
)
"""Lines that are left out without being counted."""
_BEGINS = frozenset("{-[^*")
_MARKERS = re.compile(r"(?:@[A-Z]\w{0,40}(?:\[\w{0,40}\])?\{[^{}\n]{1,80}\})+")
"""Markers of mdBook's preprocessors, such as mdbook-aquascope's permissions."""
_MARKER = re.compile(r"\{([^{}]*)\}")
_MODULE = re.compile(r"(?:import|export)\s[^\n]*")


def unresolved_plugin(md: MarkdownIt) -> None:
    md.block.ruler.before(
        "fence", "unresolved", _line, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    md.block.ruler.before("fence", "module", _module)
    md.inline.ruler.before("escape", "unresolved", _inline)
    md.add_render_rule(UNRESOLVED, lambda _renderer, *arguments: _shown(*arguments))


def _shown(tokens: Sequence[Token], index: int, *_: object) -> str:
    """Render what is left out of a line: nothing, a gap, or the id that it gives to the block."""
    token = tokens[index]
    if token.meta["unknown"]:
        named = ", ".join(_MARKER.findall(token.content)) if token.content[0] == "@" else ""
        return f"<{UNKNOWN}>{escape(named)}</{UNKNOWN}>"
    ident = _ID.search(token.content) if token.content.startswith("{:") else None
    return f'<span id="{escape(ident[1])}"></span>' if ident else ""


def _line(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    begin = state.bMarks[start] + state.tShift[start]
    text = state.src[begin : state.eMarks[start]]
    found = _LINE.match(text) if text[:1] in _BEGINS else None
    if found is None:
        return False
    if not silent:
        if not _SILENT.match(text):
            state.env["unknown"].append((start + 1, text.strip()))
        state.line = start + 1
    return True


def _module(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Leave out `import` and `export` of MDX, up to the next empty line."""
    if state.env.get("site") is not Site.DOCUSAURUS or state.level:
        return False
    if not _MODULE.match(state.src, state.bMarks[start], state.eMarks[start]):
        return False
    if not silent:
        while start < end and not state.isEmpty(start):
            start += 1
        state.line = start
    return True


def _inline(state: StateInline, silent: bool) -> bool:
    source, at = state.src, state.pos
    if source[at] not in "{@" or (source[at] == "@" and state.env["site"] is not Site.MDBOOK):
        return False
    found = _COMMENT.match(source, at) or _ATTRIBUTES.match(source, at)
    unknown = None
    if found is None:
        unknown = found = _MUSTACHE.match(source, at) or _MARKERS.match(source, at)
    is_mdx = state.env.get("site") is Site.DOCUSAURUS
    if found is None and is_mdx and (found := _BLANK.match(source, at)) and not silent:
        state.pending += " "
    if found is None and is_mdx and not source.startswith("{#", at):
        unknown = found = _EXPRESSION.match(source, at)
    if found is None:
        return False
    if not silent:
        token = state.push(UNRESOLVED, "", 0)
        token.content, token.meta = found.group(), {"unknown": unknown is not None}
        if unknown is not None:
            state.env["unknown"].append((0, found.group()))
    state.pos = found.end()
    return True


def inline_html(md: MarkdownIt, text: str, env: EnvType) -> str:
    """Render a title or cell, without the footnotes, which are at the end of the page."""
    own = {key: env[key] for key in ("unknown", "site", "file")}
    return str(md.renderInline(text, own))
