"""Block rules for MkDocs: admonitions, tabs, snippets, abbreviations."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.mkdocs.pymdown import autodoc, slash_block
from app.adapters.markdown.parser.block_rules import emit
from app.adapters.markdown.parser.markup import BlockRule, Markup, MarkupClass

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
