"""MyST's roles, and the text that each shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.parser.dialect import CrossReferences, InlineRule

INLINE_OPTIONS = (
    r"(?P<options>(?:[ \t]+(?:[.#][\w-]+|[\w-]+=(?:\"(?:\\.|[^\"\\\n])*\"|[^\s\"{}]+)))*)[ \t]*"
)
"""mystmd's options in the braces of a role or directive."""
_ROLE = re.compile(
    rf"\{{(?P<name>[A-Za-z][\w:+-]*){INLINE_OPTIONS}\}}"
    r"(?P<ticks>`+)(?P<content>[^`]|[^`].*?[^`])(?P=ticks)(?!`)",
    re.DOTALL,
)
_CITATION = re.compile(
    r"@(?P<target>\w(?:[\w:.#$%&+?~/-]*\w)?)"
    r"|\[(?P<keys>@\w[\w:.#$%&+?~/-]*(?:;[ ]*@\w[\w:.#$%&+?~/-]*)*)\](?!\()"
)
_TERM_ROLES = frozenset({"term", "dfn", "index"})
_REFERENCES = frozenset({"ref", "doc", "numref", "eq", "prf:ref", "math:numref"})
_COMPUTED = "\N{HORIZONTAL ELLIPSIS}"
"""Placeholder for a value that is only computed when the book's code runs."""
_ICONS = re.compile(r"(?:fa[srlbd]?|octicon|material-\w+|bdg-?\w*)$")
_KINDS = {"fig": "figure", "tab": "table", "tbl": "table", "sec": "section", "eq": "equation"}
"""Kind by a label's prefix (`fig:knn`), for unknown targets."""
_SCHEME = re.compile(r"(?:project|path|inv):")
"""MyST's own schemes of link targets."""
_TARGET_LINK = re.compile(rf"<{_SCHEME.pattern}")
_TARGET_NAME = re.compile(r"([^/#:?]+?)(?:\.md)?$")


def role(state: StateInline, silent: bool) -> bool:
    """Read a role. Generated text, such as a number, is not part of ids."""
    match = _ROLE.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        _push(state, match["name"], match["content"].strip())
    state.pos = match.end()
    return True


def _push(state: StateInline, name: str, content: str) -> None:
    title, target = _titled(content)
    token = state.push("span", "", 0)
    if name == "math":
        token.type, token.content = "unquoted", f"${content}$"
    elif name in _REFERENCES or name.startswith("cite"):
        if title and name != "numref":
            token.content = title
        else:
            token.type, token.content = "unquoted", _referred(state.env, name, title, target)
    elif name.startswith("glue"):
        token.type, token.content = "unquoted", _COMPUTED
    elif name.startswith("footcite") or _ICONS.match(name):
        token.type = "boundary"
    else:
        token.content = _shown(name, title or target)
        token.info = "term" if name in _TERM_ROLES else ""
    token.markup = token.content


def _titled(content: str) -> tuple[str, str]:
    """Split `title <target>`; the title is "" if there is none."""
    at = content.rfind("<")
    if at >= 0 and content.find(">", at) == len(content) - 1 and content[:at].strip():
        return content[:at].rstrip(), content[at + 1 : -1].strip()
    return "", content


def _referred(env: EnvType, name: str, template: str, target: str) -> str:
    """Return the text of a cross-reference; if its target is unknown, a description."""
    found = _title_of(env, name, target, template)
    if found or name.startswith("cite"):
        return found or target
    if template:
        return " ".join(re.sub(r"%s|\{number\}|\{name\}", "", template).split())
    return _KINDS.get(re.split("[:_-]", target)[0], target) if name == "numref" else target


def _title_of(env: EnvType, name: str, target: str, template: str = "") -> str:
    """Return the text of a reference of this role; "" if its target is unknown."""
    references: CrossReferences | None = env.get("cross_references")
    return references.shown(name, target, env["file"], template) if references else ""


def _shown(name: str, content: str) -> str:
    """Return the visible part of a role's text: for an abbreviation, the short form."""
    if name == "abbr":
        return content.partition(" (")[0]
    if name.startswith(("py:", "c:", "cpp:", "js:")):
        return content.rpartition(".")[2] if content.startswith("~") else content.lstrip("!")
    return content


def citation(state: StateInline, silent: bool) -> bool:
    """Read mystmd's `@target` and `[@key; @key]` if the works or targets are known."""
    match = _CITATION.match(state.src, state.pos)
    if match is None or state.src[max(state.pos - 1, 0) : state.pos].isalnum():
        return False
    target, keys = match["target"], match["keys"]
    if target:
        shown = _title_of(state.env, "cite:t", target) or _title_of(state.env, "link", f"#{target}")
    else:
        shown = _title_of(state.env, "cite:p", keys.replace("@", ""))
    if not shown:
        return False
    if not silent:
        state.push("unquoted", "", 0).content = shown
    state.pos = match.end()
    return True


def name_targets(content: str, tokens: Sequence[Token], env: EnvType) -> Sequence[Token]:
    """Give each link without text its target's title, or the target's name if unknown.

    The text of `<project:#target>` is only its target, so it counts as none.
    """
    if "[](" not in content and _TARGET_LINK.search(content) is None:
        return tokens
    named: list[Token] = []
    target = ""
    for index, token in enumerate(tokens):
        if target and token.type == "text":
            named.extend(_link_text(target, env))
            target = ""
            continue
        named.append(token)
        if token.type != "link_open":
            continue
        href = str(token.attrs.get("href", ""))
        if tokens[index + 1].type == "link_close":
            named.extend(_link_text(href, env))
        elif token.markup == "autolink" and _SCHEME.match(href):
            target = href
    return named


def _link_text(target: str, env: EnvType) -> list[Token]:
    target = target.removeprefix("project:")
    if title := _title_of(env, "link", target):
        return [Token("unquoted", "", 0, content=title, markup=title)]
    name = _TARGET_NAME.search(target)
    return [Token("text", "", 0, content=name.group(1))] if name else []


ROLES = InlineRule("role", "{", role)
CITATIONS = InlineRule("citation", "@[", citation, before="link")
