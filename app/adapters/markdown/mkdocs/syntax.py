"""Markdown of MkDocs and Material: admonitions, tabs, PyMdown's inline marks, anchors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from app.adapters.markdown.mkdocs import formulas
from app.adapters.markdown.mkdocs.snippets import (
    FILE_INCLUDES,
    SNIPPETS,
    snippet,
    snippets,
    with_file_includes,
)
from app.adapters.markdown.parser.anchors import SlugPolicy, SlugStyle
from app.adapters.markdown.parser.block_rules import (
    emit,
    first_of,
    html_block,
    line_of,
    mark_rule,
    push_found,
    read_inside,
    stray_definition,
)
from app.adapters.markdown.parser.container_kinds import admonition_name
from app.adapters.markdown.parser.dialect import BlockRule, Dialect, InlineRule
from app.adapters.markdown.parser.drafts import Markup, MarkupClass
from app.adapters.markdown.parser.inline_rules import read_marked
from app.adapters.markdown.parser.tags import HtmlTag
from app.adapters.markdown.source import yaml_table

_OPENING = re.compile(
    r"(?P<slashes>/{3,})[ \t]*(?P<name>[\w-]+)[ \t]*(?:\|[ \t]*(?P<argument>[^\n]*))?$", re.M
)
_AUTODOC = re.compile(r":::[ \t]+[\w.:/-]+[ \t]*$", re.M)
_UNTITLED = frozenset({"html", "tab", "define", "definition", "caption", "latex"})
"""Blocks whose argument is not a title but a tag, a number or a navigation label."""


def _slash_block(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `/// name | argument`, indented options, and content up to the closing slashes."""
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
        default = "note" if name == "admonition" else "details"
        name = admonition_name(options["type"]) if "type" in options else default
    title = "" if name in _UNTITLED else (match["argument"] or "").rstrip(" \t")
    header = state.eMarks[first - 1]
    slashes = match["slashes"]
    opening = Markup(MarkupClass.DIRECTIVE, position, header, None, slashes, "", name, title)
    push_found(state, opening, start, start + 1)
    read_inside(state, first, last)
    state.line = min(last + 1, end)
    stop = state.eMarks[state.line - 1]
    begin = state.bMarks[last] + state.tShift[last] if last < end else stop
    closing = Markup(MarkupClass.DIRECTIVE, min(begin, stop), stop, closes=slashes)
    push_found(state, closing, state.line - 1, state.line)
    return True


def _closing_line(state: StateBlock, slashes: str, line: int, end: int) -> int:
    """Return the line of the closing slashes, or `end`.

    A failed search is remembered, so all searches together take linear time.
    """
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
    """Return the first line of the content, and the indented YAML options before it."""
    stop = line
    while stop < last and not state.isEmpty(stop) and state.sCount[stop] >= state.blkIndent + 4:
        stop += 1
    if stop == line or (stop < last and not state.isEmpty(stop)):
        return line, {}
    written = state.getLines(line, stop, state.blkIndent + 4, False)
    options = yaml_table(written, state.env["file"], line + 1)
    return stop if options else line, {str(key): str(value) for key, value in options.items()}


def _autodoc(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `::: package.module` with its indented options: documentation generated from code."""
    match = _AUTODOC.match(state.src, position)
    if match is None:
        return False
    if silent:
        return True
    _, stop = _indented_lines(state, start, end)
    return emit(state, Markup(MarkupClass.DIRECTIVE, position, stop), start, end)


def _indented_lines(state: StateBlock, start: int, end: int) -> tuple[int, int]:
    """Return the line after those indented by four columns, and the offset where their text ends.

    Line `start` is above them. Empty lines belong to them.
    """
    line = start + 1
    while line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent + 4):
        line += 1
    last = line - 1
    while last > start and state.isEmpty(last):
        last -= 1
    begin = state.bMarks[last]
    return line, begin + len(state.src[begin : state.eMarks[last]].rstrip())


_ADMONITION = re.compile(
    r"(?:!!!|\?\?\?\+?)[ \t]+(?P<name>[\w-]+)(?:[ \t]+[\w-]+)*"
    r"(?:[ \t]+\"(?P<argument>[^\n]*?)\")?[ \t]*$",
    re.M,
)
_TAB = re.compile(r"===[!+]?[ \t]+\"[^\n]*?\"[ \t]*$", re.M)
_ABBREVIATION = re.compile(r"\*\[[^\]\n]+\]:[^\n]*$", re.M)
_TABLE_OF_CONTENTS = re.compile(r"\[TOC\][ \t]*$", re.M)


def _admonition_opening(
    state: StateBlock, position: int, start: int, end: int, silent: bool
) -> bool:
    match = _ADMONITION.match(state.src, position)
    if match is None or silent:
        return match is not None
    name, title = admonition_name(match["name"]), match["argument"] or ""
    mark = Markup(MarkupClass.DIRECTIVE, *match.span(), None, "!!!", "", name, title)
    return emit(state, mark, start, end)


def _container_rule(read_opening: BlockRule, opens: str) -> BlockRule:
    """Return a rule that reads a container whose content is indented by four columns."""

    def read(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
        found = read_opening(state, position, start, end, silent)
        if found and not silent:
            stop, at = _indented_lines(state, start, end)
            read_inside(state, start + 1, stop, indent=4)
            last = line_of(state, at, start, end)
            push_found(state, Markup(MarkupClass.DIRECTIVE, at, at, closes=opens), last, last + 1)
            state.line = stop
        return found

    return read


def _dedent_element(state: StateBlock, tag: HtmlTag, start: int, end: int) -> None:
    """Remove the common indentation of the lines inside `<tag markdown>`."""
    if "markdown" not in tag.attributes:
        return
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


_read_admonition = _container_rule(_admonition_opening, "!!!")
_read_tab = _container_rule(mark_rule(_TAB, MarkupClass.DIRECTIVE, opens="===", name="tab"), "===")


# --- inline marks -------------------------------------------------------------------------------

_INLINE_EXTENSIONS = formulas.EXTENSIONS | {
    "autorefs", "caret", "critic", "emoji", "keys", "mark", "tilde"
}  # fmt: skip
_PAIRS = (("==", "mark"), ("^^", "caret"), ("^", "caret"), ("~", "tilde"))
_SHORT_NAME = re.compile(r":(?P<name>[a-z0-9+][\w+-]*):(?!\w)")
_ICON = re.compile(r"(?:material|fontawesome|octicons|simple|lucide)-")
_KEYS = re.compile(r"\+\+(?P<keys>[\w-]+(?:\+[\w-]+)*|\"[^\"\n]+\")\+\+")
_CRITIC = re.compile(r"\{(?P<mark>\+\+|--|==)(?P<text>[^{}]+)(?P=mark)\}")
_IDENTIFIER = re.compile(r"\[(?P<identifier>[^\[\]\s]*)\]")
_HIGHLIGHTED = re.compile(r"(?<!`)(`+)[ ]?[#:]![\w+-]+[ ]+")
_KEY_NAMES = {"ctrl": "Ctrl", "cmd": "Cmd", "del": "Del", "esc": "Esc", "ins": "Ins"}


@cache
def inline_rules(extensions: frozenset[str]) -> tuple[InlineRule, ...]:
    """Return the rules for these extensions.

    Cached because a parser is cached by its rules, and partial objects compare by identity.
    """
    rules = [formulas.INLINE] if extensions & formulas.EXTENSIONS else []
    marks = tuple(mark for mark, extension in _PAIRS if extension in extensions)
    if marks:
        characters = "".join(dict.fromkeys(mark[0] for mark in marks))
        rules.append(InlineRule("pair", characters, partial(_pair, marks), "strikethrough"))
    if "emoji" in extensions:
        rules.append(InlineRule("emoji", ":", _emoji))
    if "critic" in extensions:
        rules.append(InlineRule("critic", "{", _critic))
    if "keys" in extensions:
        rules.append(InlineRule("keys", "+", _keys))
    if "autorefs" in extensions:
        rules.append(InlineRule("autorefs", "[", _autoref))
    return tuple(rules)


def _pair(marks: Sequence[str], state: StateInline, silent: bool) -> bool:
    """Read `==marked==`, `^^inserted^^`, `^super^` and `~sub~`, whose marks are not shown."""
    closers: dict[int, int] = state.env["inline_closers"]
    width = closers.get(state.pos) or _opening_width(marks, state, closers)
    if not width:
        return False
    if not silent:
        state.push("boundary", "", 0)
    state.pos += width
    return True


def _opening_width(marks: Sequence[str], state: StateInline, closers: dict[int, int]) -> int:
    """Return the width of the mark that opens a pair here, and record where the pair closes."""
    source, position = state.src, state.pos
    mark = next((mark for mark in marks if source.startswith(mark, position)), "")
    width = len(mark)
    after = position + width
    if not mark or source[after : after + 1] in (mark[0], "", " ", "\n"):
        return 0
    close = state.env["inline_scanner"].find(mark, after + 1)
    if close < 0 or source[close - 1].isspace() or (width == 1 and " " in source[after:close]):
        return 0
    closers[close] = width
    return width


def _emoji(state: StateInline, silent: bool) -> bool:
    """Read `:name:`. The name of an icon is not shown; anchors contain neither."""
    source, position = state.src, state.pos
    match = _SHORT_NAME.match(source, position)
    if match is None or (
        position and (source[position - 1].isalnum() or source[position - 1] == ":")
    ):
        return False
    if not silent:
        token = state.push("unquoted", "", 0)
        token.content = "" if _ICON.match(match["name"]) else match.group()
    state.pos = match.end()
    return True


def _keys(state: StateInline, silent: bool) -> bool:
    """Read `++ctrl+alt+del++`."""
    match = _KEYS.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        names = match["keys"].strip('"').split("+")
        token = state.push("unquoted", "", 0)
        token.content = token.markup = "+".join(
            _KEY_NAMES.get(name, name.replace("-", " ").title()) for name in names
        )
    state.pos = match.end()
    return True


def _critic(state: StateInline, silent: bool) -> bool:
    """Read `{++added++}`, `{--deleted--}` and `{==marked==}`; the page shows their text."""
    match = _CRITIC.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        read_marked(state, *match.span("text"))
    state.pos = match.end()
    return True


def _autoref(state: StateInline, silent: bool) -> bool:
    """Read `[text][package.name]` and `[package.name][]`, links to documentation of code."""
    start = state.pos
    if start and (state.src[start - 1].isalnum() or state.src[start - 1] in "_`])"):
        return False  # an index: `a[i][j]`
    end = state.md.helpers.parseLinkLabel(state, start)
    match = _IDENTIFIER.match(state.src, end + 1, state.posMax) if end > start + 1 else None
    if match is None or not (match["identifier"] or len(state.src[start:end].split()) == 1):
        return False
    if not silent:
        read_marked(state, start + 1, end)
    state.pos = match.end()
    return True


def without_languages(content: str) -> str:
    """Drop the languages of highlighted code spans: `#!python x` shows `x`."""
    return _HIGHLIGHTED.sub(r"\1", content)


# --- anchors ------------------------------------------------------------------------------------

_NOT_MKDOCS = re.compile(r"[^\w\s-]")
_COUNTED = re.compile(r"^(.*)_([0-9]{1,18})$")
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def mkdocs_slug(text: str) -> str:
    """`markdown.extensions.toc.slugify`: folded to ASCII."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", _NOT_MKDOCS.sub("", folded).strip().lower())


def pymdownx_slug(text: str) -> str:
    """`pymdownx.slugs.slugify(case="lower")`: Unicode kept."""
    collapsed = " ".join(text.split())
    plain = _HTML_TAG.sub("", unicodedata.normalize("NFC", collapsed)).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _unique_mkdocs(base: str, used: dict[str, int]) -> str:
    if base and base not in used:
        used[base] = 0
        return base
    match = _COUNTED.match(base)
    stem, first = (match[1], int(match[2])) if match else (base, 0)
    reached = f"\0{base}"
    number = used.get(reached, first) + 1
    while f"{stem}_{number}" in used:
        number += 1
    used[f"{stem}_{number}"], used[reached] = 0, number
    return f"{stem}_{number}"


DIALECT = Dialect(
    attribute_lists=True,
    inline_attributes=True,
    math=True,
    definition_lists=True,
    loose_references=True,
    closing_hashes=True,  # as Python-Markdown's attr_list does
    block_rules=(
        ("<", partial(html_block, opened=_dedent_element)),
        ("!", _read_admonition),
        ("?", _read_admonition),
        ("=", _read_tab),
        ("-", first_of(snippet, snippets)),
        (";", snippet),
        ("*", mark_rule(_ABBREVIATION, MarkupClass.REFERENCE_DEFINITION)),
        ("[", mark_rule(_TABLE_OF_CONTENTS, MarkupClass.DIRECTIVE)),
        ("/", _slash_block),
        (":", first_of(_autodoc, stray_definition)),
    ),
    includes=SNIPPETS,
)
STYLE = SlugStyle(mkdocs_slug, _unique_mkdocs, SlugPolicy(raw_math=True), registers_explicit=True)
PYMDOWNX = replace(STYLE, slug=pymdownx_slug)


def dialect_with(extensions: frozenset[str], include_folders: tuple[str, ...]) -> Dialect:
    """Return the dialect of a site with these Markdown extensions, or `autorefs`.

    `include_folders` are the folders and files that included files are relative to.
    """
    dialect = replace(
        DIALECT,
        includes=replace(DIALECT.includes, bases=include_folders),
        inline_rules=inline_rules(extensions & _INLINE_EXTENSIONS),
        rewrite_code_spans=without_languages if "inlinehilite" in extensions else None,
    )
    if extensions & formulas.EXTENSIONS:
        dialect = replace(dialect, block_rules=(*dialect.block_rules, formulas.BLOCK))
    return with_file_includes(dialect) if extensions & FILE_INCLUDES else dialect
