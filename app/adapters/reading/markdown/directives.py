"""MyST's directives, as far as one table of names goes: ```` ```{note} ```` and `:::{note}`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from app.adapters.reading.markdown.unresolved import inline_html

_INFO = re.compile(r"^\{(?P<name>[\w:.+-]+)\}\s*(?P<argument>.*)$", re.DOTALL)
_OPTION = re.compile(r"^:(?P<key>[\w-]+):[ \t]*(?P<value>.*)$")
_NAMES = {
    "code": "code code-block code-cell sourcecode literalinclude highlight prompt",
    "formula": "math",
    "left out": "toctree contents tableofcontents index only raw include bibliography glue:figure "
    "currentmodule module automodule autoclass mermaid graphviz iframe video youtube",
    "glossary": "glossary",
    "figure": "figure image figure-md",
    "table": "table list-table csv-table",
    "tab": "tab-item",
    "details": "dropdown",
    "blockquote": "epigraph pull-quote",
    "frame": "div container grid grid-item grid-item-card card rst-class margin sidebar aside "
    "tab-set parsed-literal proof theorem definition lemma example algorithm axiom corollary "
    "remark property observation assumption proposition",
}
"""What becomes of directives; those of other names are admonitions."""
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
_NEEDS_FILE = frozenset("literalinclude include csv-table".split())
_DEFINITION = re.compile(r"^(?P<term>\S[^\n]*)\n[ \t]{2,}(?=\S)", re.MULTILINE)
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
    def role(self) -> str:
        return _ROLES.get(self.name, "admonition")


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
    if one.name in _NEEDS_FILE:
        state.env["unknown"].append((one.line, f"{{{one.name}}} {one.argument}"))
    if one.role == "left out":
        return []
    if one.role == "code":
        token.type, token.info, token.content = "fence", one.argument, one.body.lstrip("\n")
        if one.name == "literalinclude":  # the listing says which file it shows
            token.info, token.content = one.options.get("language", ""), one.argument
        return [token]
    if one.role == "formula":
        token.type, token.tag, token.info, token.content = "math_block", "", "", one.body
        return [token]
    if one.role == "glossary":
        return _nested(_glossary(one.body), one.line, state, depth)
    inside = _nested(one.body, one.line, state, depth)
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


def _html(content: str, of: Token | None = None) -> Token:
    token = Token("html_block", "", 0, content=content)
    token.map = of.map if of is not None else None
    return token


def _id(one: Directive) -> str:
    name = one.options.get("name") or one.options.get("label") or ""
    return f' id="{escape(name)}"' if name else ""


def _opening(one: Directive, state: StateCore) -> str:
    if one.role == "tab":
        return f'<tabs><tabitem label="{escape(one.argument)}">'
    if one.role == "figure":
        alt = escape(one.options.get("alt", ""))
        image = f'<img src="{escape(one.argument)}" alt="{alt}">'
        return f"<figure{_id(one)}>{image}<figcaption>"
    title = inline_html(state.md, one.argument, state.env) if one.argument else ""
    if one.role == "blockquote":
        return f"<blockquote{_id(one)}>"
    if one.role == "details":
        return f"<details{_id(one)}><summary>{title}</summary>"
    if one.role == "table":
        return f"<div{_id(one)}>" + (f"<p>{title}</p>" if title else "")
    shown = title if "solution" not in one.name else ""  # it names the exercise
    head = f'<p class="admonition-title">{shown}</p>' if shown else ""
    kind = "" if one.role == "frame" and not title else "admonition"
    classes = escape(f"{kind} {one.name} {one.options.get('class', '')}".strip())
    return f'<div class="{classes}"{_id(one)}>{head}'


def _closing(one: Directive) -> str:
    ends = {"tab": "</tabitem></tabs>", "figure": "</figcaption></figure>"}
    named = one.role if one.role in ("blockquote", "details") else "div"
    return ends.get(one.role, f"</{named}>")
