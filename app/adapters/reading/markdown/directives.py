"""MyST's directives, as far as one table of names goes: ```` ```{note} ```` and `:::{note}`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from app.adapters.reading.markdown.unresolved import inline_html

_INFO = re.compile(r"^\{(?P<name>[\w:.+-]+)\}\s*(?P<argument>.*)$", re.DOTALL)
_OPTION = re.compile(r"^:(?P<key>[\w-]+):[ \t]*(?P<value>.*)$")
_CODE = frozenset("code code-block code-cell sourcecode literalinclude highlight prompt".split())
_DROPPED = frozenset(
    "toctree contents tableofcontents index only raw include bibliography glue:figure "
    "currentmodule module automodule autoclass mermaid graphviz iframe video youtube".split()
)
_FIGURES = frozenset("figure image figure-md".split())
_TRANSPARENT = frozenset(
    "div container grid grid-item grid-item-card card rst-class margin sidebar aside tab-set "
    "list-table table csv-table parsed-literal epigraph proof theorem definition lemma example "
    "algorithm axiom corollary remark property observation assumption proposition".split()
)
_ELEMENTS = {"dropdown": "details", "epigraph": "blockquote", "pull-quote": "blockquote"}
_DEFINITION = re.compile(r"^(?P<term>\S[^\n]*)\n[ \t]{2,}(?=\S)", re.MULTILINE)
_LEFT_OUT = "-"
_OF_LIST_TABLE = {("ul", 1): "table", ("li", 1): "tr", ("ul", 2): _LEFT_OUT, ("li", 2): "td"}
"""Tag and depth of an element of a list of lists -> the tag of its table's element."""
_DEPTH = 12
"""Deepest nesting of directives."""


@dataclass(slots=True)
class Directive:
    """A directive's parts; `line` is the line of the page on which its body begins, from 0."""

    name: str
    argument: str
    body: str
    line: int
    options: dict[str, str] = field(default_factory=dict)

    @property
    def header_rows(self) -> int:
        """Rows of a table that are its header."""
        given = self.options.get("header-rows", "")
        return int(given) if given.isdecimal() and len(given) < 4 else 0


def directives_plugin(md: MarkdownIt) -> None:
    md.core.ruler.after("block", "directive", _directives)


def _directives(state: StateCore) -> None:
    state.tokens = _replaced(state.tokens, state, 0)


def _replaced(tokens: list[Token], state: StateCore, depth: int) -> list[Token]:
    result: list[Token] = []
    for token in tokens:
        found = _INFO.match(token.info.strip()) if token.type in ("fence", "colon_fence") else None
        if found is None or token.map is None or depth > _DEPTH:
            result.append(token)
        else:
            result += _tokens(
                _directive(found["name"], found["argument"], token), token, state, depth
            )
    return result


def _directive(name: str, argument: str, token: Token) -> Directive:
    """Read the options, which begin the body as `:key: value` lines or between `---`."""
    lines = token.content.split("\n")
    options: dict[str, str] = {}
    at = 0
    if lines[:1] == ["---"]:
        end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
        pairs = (line.partition(":") for line in lines[1:end])
        options = {key.strip(): value.strip() for key, colon, value in pairs if colon}
        at = end + 1 if end else 0
    while at < len(lines) and (found := _OPTION.match(lines[at])):
        options[found["key"]] = found["value"].strip()
        at += 1
    first = token.map[0] + 1 + at if token.map else 0
    return Directive(name.lower(), argument.strip(), "\n".join(lines[at:]), first, options)


def _tokens(one: Directive, token: Token, state: StateCore, depth: int) -> list[Token]:
    if one.name in _CODE:
        token.type, token.info, token.content = "fence", one.argument, one.body.lstrip("\n")
        if one.name == "literalinclude":  # the listing says which file it shows
            state.env["unknown"].append((one.line, f"{{{one.name}}} {one.argument}"))
            token.info, token.content = one.options.get("language", ""), one.argument
        return [token]
    if one.name == "math":
        token.type, token.tag, token.info = "math_block", "", ""
        token.content = one.body
        return [token]
    if one.name in _DROPPED:
        return []
    if one.name == "glossary":
        return _nested(_glossary(one.body), one.line, state, depth)
    if one.name == "csv-table" and not {"file", "url"}.isdisjoint(one.options):
        state.env["unknown"].append((one.line, f"{{{one.name}}} {one.argument}"))
    if one.name == "csv-table":
        inside = [_html(_csv_table(one, state))]
    else:
        inside = _nested(one.body, one.line, state, depth)
    if one.name == "list-table":
        inside = list(_list_table(inside, one.header_rows))
    if one.name in _FIGURES:
        return [_html(f"<figure{_id(one)}>{_image(one)}<figcaption>", token), *inside,
                _html("</figcaption></figure>")]  # fmt: skip
    return [_html(_opening(one, state), token), *inside, _html(_closing(one))]


def _nested(body: str, line: int, state: StateCore, depth: int) -> list[Token]:
    tokens: list[Token] = []
    state.md.block.parse(body, state.md, state.env, tokens)
    for token in tokens:
        if token.map is not None:
            token.map = [token.map[0] + line, token.map[1] + line]
    return _replaced(tokens, state, depth + 1)


def _glossary(body: str) -> str:
    """Return a glossary's terms and indented definitions as a definition list of Markdown."""
    return _DEFINITION.sub(r"\g<term>\n: ", body)


def _csv_table(one: Directive, state: StateCore) -> str:
    """Return the table of lines of comma-separated cells."""
    header = one.options.get("header")
    lines = [*([header] if header else []), *one.body.splitlines()]
    html = ""
    try:
        rows = list(csv.reader(lines, skipinitialspace=True))
    except csv.Error:  # a cell of over 131,072 characters
        return ""
    for number, cells in enumerate(rows):
        tag = "th" if number < max(one.header_rows, bool(header)) else "td"
        shown = (inline_html(state.md, cell, state.env) for cell in cells)
        html += f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in shown)}</tr>"
    return f"<table>{html}</table>"


def _list_table(tokens: list[Token], header_rows: int) -> Iterator[Token]:
    """Yield the table whose rows are the items of a list, and whose cells are those of theirs."""
    depth = rows = 0
    for token in tokens:
        depth += token.type == "bullet_list_open"
        tag = _OF_LIST_TABLE.get((token.tag, depth), token.tag)
        depth -= token.type == "bullet_list_close"
        rows += (tag, token.nesting) == ("tr", 1)
        if tag != _LEFT_OUT:
            token.tag = "th" if tag == "td" and rows <= header_rows else tag
            yield token


def _html(content: str, of: Token | None = None) -> Token:
    token = Token("html_block", "", 0, content=content)
    token.map = of.map if of is not None else None
    return token


def _id(one: Directive) -> str:
    name = one.options.get("name") or one.options.get("label") or ""
    return f' id="{escape(name)}"' if name else ""


def _image(one: Directive) -> str:
    alt = escape(one.options.get("alt", ""))
    return f'<img src="{escape(one.argument)}" alt="{alt}">'


def _opening(one: Directive, state: StateCore) -> str:
    title = inline_html(state.md, one.argument, state.env) if one.argument else ""
    if one.name == "tab-item":
        return f'<tabs><tabitem label="{escape(one.argument)}">'
    if one.name in _ELEMENTS:
        head = f"<summary>{title}</summary>" if one.name == "dropdown" else ""
        return f"<{_ELEMENTS[one.name]}{_id(one)}>{head}"
    if one.name in ("table", "list-table", "csv-table"):
        return f"<div{_id(one)}>" + (f"<p>{title}</p>" if title else "")
    shown = title if "solution" not in one.name else ""  # it names the exercise
    head = f'<p class="admonition-title">{shown}</p>' if shown else ""
    kind = "" if one.name in _TRANSPARENT and not title else "admonition"
    classes = escape(f"{kind} {one.name} {one.options.get('class', '')}".strip())
    return f'<div class="{classes}"{_id(one)}>{head}'


def _closing(one: Directive) -> str:
    if one.name == "tab-item":
        return "</tabitem></tabs>"
    return f"</{_ELEMENTS.get(one.name, 'div')}>"
