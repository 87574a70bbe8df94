"""Block rules for MkDocs: admonitions, tabs, snippets, abbreviations."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.parser.block_rules import emit, stray_definition
from app.adapters.markdown.parser.markup import BlockRule, Markup, MarkupClass
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


_ADMONITION = re.compile(
    r"(?:!!!|\?\?\?\+?)[ \t]+(?P<name>[\w-]+)(?:[ \t]+[\w-]+)*"
    r"(?:[ \t]+\"(?P<title>[^\n]*?)\")?[ \t]*$",
    re.M,
)
_TAB = re.compile(r"===[!+]?[ \t]+\"(?P<title>[^\n]*?)\"[ \t]*$", re.M)
_SNIPPET = re.compile(r";*-+8<-+[ \t]+\"(?P<path>[^\"\n]+)\"[ \t]*$", re.M)
_SNIPPETS = re.compile(r"-+8<-+[ \t]*\n(?P<paths>(?:[^\n]*\n)*?)[ \t]*-+8<-+[ \t]*$", re.M)
_ABBREVIATION = re.compile(r"\*\[[^\]\n]+\]:[^\n]*$", re.M)
_TABLE_OF_CONTENTS = re.compile(r"\[TOC\][ \t]*$", re.M)


def _container(state: StateBlock, mark: Markup, start: int, end: int) -> bool:
    """Emit a container whose content is indented by four more columns than its header."""
    emit(state, mark, start, end)
    indent = state.blkIndent + 4
    stop = start + 1
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= indent):
        stop += 1
    old_max, old_parent = state.lineMax, state.parentType
    state.lineMax, state.parentType = stop, "blockquote"
    state.blkIndent += 4
    state.level += 1
    state.md.block.tokenize(state, start + 1, stop)
    state.level -= 1
    state.blkIndent -= 4
    state.lineMax, state.parentType = old_max, old_parent
    last = stop
    while last > start + 1 and state.isEmpty(last - 1):
        last -= 1
    state.line = last
    begin = state.bMarks[last - 1]
    at = begin + len(state.src[begin : state.eMarks[last - 1]].rstrip())
    token = state.push("mark", "", 0)
    token.map = [last - 1, last]
    token.meta = {"found": Markup(MarkupClass.DIRECTIVE, at, at, closes=mark.opens)}
    state.line = stop
    return True


def _admonition(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _ADMONITION.match(state.src, position)
    if match is None:
        return False
    if silent:
        return True
    title = match["title"] or ""
    mark = Markup(
        MarkupClass.DIRECTIVE, position, match.end(), None, "!!!", "", match["name"].lower(), title
    )
    return _container(state, mark, start, end)


def _tab(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _TAB.match(state.src, position)
    if match is None:
        return False
    mark = Markup(MarkupClass.DIRECTIVE, position, match.end(), None, "===", "", "tab", "")
    return silent or _container(state, mark, start, end)


def _snippet(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _SNIPPET.match(state.src, position)
    if match:
        mark = Markup(
            MarkupClass.INCLUDE, position, match.end(), name="snippet", argument=match["path"]
        )
        return silent or emit(state, mark, start, end)
    match = _SNIPPETS.match(state.src, position)
    if match is None or match.end() > state.eMarks[end - 1]:
        return False
    paths = "\n".join(line.strip() for line in match["paths"].splitlines() if line.strip())
    mark = Markup(MarkupClass.INCLUDE, position, match.end(), name="snippet", argument=paths)
    return silent or emit(state, mark, start, end)


def _abbreviation(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _ABBREVIATION.match(state.src, position)
    if match is None:
        return False
    mark = Markup(MarkupClass.REFERENCE_DEFINITION, position, match.end())
    return silent or emit(state, mark, start, end)


def _contents(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _TABLE_OF_CONTENTS.match(state.src, position)
    if match is None:
        return False
    return silent or emit(state, Markup(MarkupClass.DIRECTIVE, position, match.end()), start, end)


BLOCK_RULES: dict[str, BlockRule] = {
    "!": _admonition,
    "?": _admonition,
    "=": _tab,
    "-": _snippet,
    ";": _snippet,
    "*": _abbreviation,
    "[": _contents,
    "/": slash_block,
    ":": autodoc,
}
