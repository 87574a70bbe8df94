"""Directives and containers: ```` ```{note} ````, `:::{note}`, `::: note Title`, `=== "Tab"`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin

from app.adapters.reading.markdown.unresolved import inline_html

_FENCE = re.compile(r"\s*\{(?P<name>[A-Za-z][\w:.+-]*)\}(?P<argument>.*)", re.DOTALL)
_CONTAINER = re.compile(
    r"\s*(?:\{\s*)?\.?(?P<name>[A-Za-z][\w:.+-]*)?(?:[^{}\[\]\n]*\})?(?P<argument>.*)", re.DOTALL
)
_ATTRIBUTES = re.compile(r"\{[^{}]*\}\Z")
_OPTION = re.compile(r"^:(?P<key>[\w-]+):[ \t]*(?P<value>.*)$")
_NAMES = {
    "code": "code code-block code-cell sourcecode highlight prompt",
    "formula": "math",
    "left out": "toctree contents tableofcontents index only raw bibliography glue:figure "
    "currentmodule module automodule autoclass mermaid graphviz iframe video youtube",
    "unknown": "include literalinclude csv-table",
    "glossary": "glossary",
    "figure": "figure image",
    "figure around": "figure-md",
    "table": "table list-table",
    "tab": "tab-item",
    "details": "dropdown details",
    "blockquote": "epigraph pull-quote",
    "frame": "div container grid grid-item grid-item-card card rst-class margin sidebar aside "
    "tab-set parsed-literal proof theorem definition lemma example algorithm axiom corollary "
    "remark property observation assumption proposition",
}
"""What becomes of directives; those of other names are admonitions."""
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()} | {"": "frame"}
_FRAMES = {
    "admonition": ('<div class="admonition {classes}"{id}>{head}', "</div>"),
    "blockquote": ("<blockquote{id}>", "</blockquote>"),
    "details": ("<details{id}><summary>{title}</summary>", "</details>"),
    "figure": ('<figure{id}><img src="{argument}" alt="{alt}"><figcaption>',
               "</figcaption></figure>"),
    "figure around": ("<figure{id}>", "</figure>"),
    "frame": ('<div class="{classes}"{id}>', "</div>"),
    "tab": ('<tabs><tabitem label="{argument}">', "</tabitem></tabs>"),
    "table": ("<div{id}><p>{title}</p>", "</div>"),
}  # fmt: skip
"""The start and the end of the element that a directive becomes, by its role."""
_DEFINITION = re.compile(r"^(?P<term>\S[^\n]*)\n[ \t]{2,}(?=\S)", re.MULTILINE)
_DEPTH = 8
"""Deepest nesting of directives."""
_MARKERS = frozenset("!?=")
_INDENTED = re.compile(
    r"(?:===[!+]{0,2}(?= +\")|(?:!!!|\?\?\?\+?) *(?P<name>[\w-]+)[^\"]*+)"
    r"(?: *\"(?P<title>.*)\")?\s*$"
)
"""The first line of an admonition or tab of MkDocs, whose body is indented."""
_INDENT = 4


@dataclass(slots=True)
class Directive:
    """A directive's parts; `line` is the line of the page on which its body begins, from 0."""

    name: str
    argument: str
    body: str
    line: int
    options: dict[str, str] = field(default_factory=dict)

    @property
    def role(self) -> str:
        return _ROLES.get(self.name, "admonition")


def directives_plugin(md: MarkdownIt) -> None:
    """Read directives, also those that MkDocs writes with `!!!`, `???` and `===`."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.use(colon_fence_plugin)
    md.block.ruler.before("fence", "indented", _indented, ends)
    md.core.ruler.after("block", "directive", _directives)


def _directives(state: StateCore) -> None:
    state.tokens = _replaced(state.tokens, state, 0)


def _replaced(tokens: list[Token], state: StateCore, depth: int) -> list[Token]:
    result: list[Token] = []
    for token in tokens:
        pattern = {"fence": _FENCE, "colon_fence": _CONTAINER}.get(token.type)
        found = pattern.match(token.info) if pattern and depth <= _DEPTH else None
        if found is None:
            result.append(token)
        else:
            one = _directive((found["name"] or "").lower(), _title(found["argument"]), token)
            result += _tokens(one, token, state, depth)
    return result


def _title(argument: str) -> str:
    """Return a directive's argument without the attributes behind it and the brackets around it."""
    text = _ATTRIBUTES.sub("", argument.strip()).rstrip()
    return text[1:-1] if text[:1] == "[" and text.endswith("]") else text


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
    return Directive(name, argument, "\n".join(lines[at:]), first, options)


def _tokens(one: Directive, token: Token, state: StateCore, depth: int) -> list[Token]:
    if one.role == "unknown":
        state.env["unknown"].append(f"{{{one.name}}} {one.argument}")
    if one.role in ("unknown", "left out"):
        return []
    if one.role == "code":
        token.type, token.info, token.content = "fence", one.argument, one.body.lstrip("\n")
        return [token]
    if one.role == "formula":
        token.type, token.tag, token.info, token.content = "math_block", "", "", one.body
        return [token]
    if one.role == "glossary":  # terms and indented definitions
        one.body = _DEFINITION.sub(r"\g<term>\n: ", one.body)
        return _nested(one, state, depth)
    opening, closing = _frame(one, state)
    return [_html(opening, token), *_nested(one, state, depth), _html(closing)]


def _nested(one: Directive, state: StateCore, depth: int) -> list[Token]:
    tokens: list[Token] = []
    state.md.block.parse(one.body, state.md, state.env, tokens)
    for token in tokens:
        if token.map is not None:
            token.map = [token.map[0] + one.line, token.map[1] + one.line]
    return _replaced(tokens, state, depth + 1)


def _html(content: str, of: Token | None = None) -> Token:
    token = Token("html_block", "", 0, content=content)
    token.map = of.map if of is not None else None
    return token


def _frame(one: Directive, state: StateCore) -> tuple[str, str]:
    """Return the start and the end of the element that a directive becomes."""
    is_inline = one.argument and one.role not in ("tab", "figure")
    title = inline_html(state.md, one.argument, state.env) if is_inline else ""
    shown = title if "solution" not in one.name else ""  # it names the exercise
    role = "admonition" if one.role == "frame" and title else one.role
    opening, closing = _FRAMES[role]
    name = one.options.get("name") or one.options.get("label") or ""
    return opening.format(
        id=f' id="{escape(name)}"' if name else "",
        classes=escape(f"{one.name} {one.options.get('class', '')}".strip()),
        argument=escape(one.argument),
        alt=escape(one.options.get("alt", "")),
        title=title,
        head=f'<p class="admonition-title">{shown}</p>' if shown else "",
    ), closing


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a block of MkDocs, whose body is indented, as a directive."""
    begin = state.bMarks[start] + state.tShift[start]
    if state.src[begin : begin + 1] not in _MARKERS:
        return False
    found = _INDENTED.match(state.src[begin : state.eMarks[start]])
    if found is None or state.is_code_block(start):
        return False
    if silent:
        return True
    indent = state.sCount[start] + _INDENT
    last = start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
        last += 1
    name = found["name"] or "tab-item"
    title = found["name"].title() if found["title"] is None else found["title"]
    token = state.push("colon_fence", "", 0)
    token.info, token.map = f"{name} [{title}]", [start, last]
    token.content = state.getLines(start + 1, last, indent, True)
    state.line = last
    return True
