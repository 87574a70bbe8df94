"""Block rules for `/// name` blocks (PyMdown Extensions) and `::: identifier` (mkdocstrings)."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.parser.block_rules import emit, stray_definition
from app.adapters.markdown.parser.markup import Markup, MarkupClass
from app.adapters.markdown.yaml_source import UNREADABLE, load_yaml

_OPENING = re.compile(
    r"(?P<slashes>/{3,})[ \t]*(?P<name>[\w-]+)[ \t]*(?:\|[ \t]*(?P<argument>[^\n]*))?$", re.M
)
_AUTODOC = re.compile(r":::[ \t]+[\w.:/-]+[ \t]*$", re.M)
_UNTITLED = frozenset({"html", "tab", "define", "definition", "caption", "latex"})
"""Blocks whose argument is a tag, a number or a label of the page's furniture."""


def slash_block(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `/// name | argument`, indented options and content up to as many slashes."""
    match = _OPENING.match(state.src, position)
    if match is None:
        return False
    if silent:
        return True
    last = _closing_line(state, match["slashes"], start + 1, end)
    first, options = _options(state, start + 1, last)
    name = match["name"].lower()
    if name.endswith("-caption"):
        name = "caption"
    elif name in ("admonition", "details"):
        name = options.get("type", "note" if name == "admonition" else "details")
    title = "" if name in _UNTITLED else (match["argument"] or "").rstrip(" \t")
    header = state.eMarks[first - 1]
    slashes = match["slashes"]
    opening = Markup(MarkupClass.DIRECTIVE, position, header, None, slashes, "", name, title)
    _push(state, opening, start)
    old_max, old_parent = state.lineMax, state.parentType
    state.lineMax, state.parentType = last, "blockquote"
    state.level += 1
    state.md.block.tokenize(state, first, last)
    state.level -= 1
    state.lineMax, state.parentType = old_max, old_parent
    state.line = min(last + 1, end)
    stop = state.eMarks[state.line - 1]
    begin = state.bMarks[last] + state.tShift[last] if last < end else stop
    closing = Markup(MarkupClass.DIRECTIVE, min(begin, stop), stop, closes=slashes)
    _push(state, closing, state.line - 1)
    return True


def _push(state: StateBlock, mark: Markup, line: int) -> None:
    token = state.push("mark", "", 0)
    token.map, token.meta = [line, line + 1], {"found": mark}


def _closing_line(state: StateBlock, slashes: str, line: int, end: int) -> int:
    """Return the line of the closing slashes, or `end`; what is not closed is not sought again."""
    missing: dict[str, int] = state.env.setdefault("unclosed_slashes", {})
    if line >= missing.get(slashes, end + 1):
        return end
    fence = ""
    for at in range(line, end):
        text = state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]].rstrip()
        if fence:
            fence = "" if text.startswith(fence) and not text.strip(fence[0]) else fence
        elif text.startswith(("```", "~~~")):
            fence = text[: len(text) - len(text.lstrip(text[0]))]
        elif text == slashes:
            return at
    missing[slashes] = line
    return end


def _options(state: StateBlock, line: int, last: int) -> tuple[int, dict[str, str]]:
    """Return the first line of the content, and the YAML options indented in front of it."""
    stop = line
    while stop < last and not state.isEmpty(stop) and state.sCount[stop] >= state.blkIndent + 4:
        stop += 1
    if stop == line or (stop < last and not state.isEmpty(stop)):
        return line, {}
    try:
        written = state.getLines(line, stop, state.blkIndent + 4, False)
        loaded = load_yaml(written, state.env["file"], line + 1)
    except UNREADABLE:
        return line, {}
    if not isinstance(loaded, dict):
        return line, {}
    return stop, {str(key): str(value) for key, value in loaded.items()}


def autodoc(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `::: package.module` with its indented options: documentation made from code."""
    match = _AUTODOC.match(state.src, position)
    if match is None:
        stray = not silent and state.src[position + 1 : position + 2] in (" ", "\t")
        return stray and stray_definition(state, start, end)
    if silent:
        return True
    indent, line, last = state.blkIndent + 4, start + 1, start
    while line < end and (state.isEmpty(line) or state.sCount[line] >= indent):
        last = last if state.isEmpty(line) else line
        line += 1
    begin = state.bMarks[last]
    stop = begin + len(state.src[begin : state.eMarks[last]].rstrip())
    return emit(state, Markup(MarkupClass.DIRECTIVE, position, stop), start, end)
