"""Callouts of GitHub and Obsidian: `> [!note] Title`."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from app.adapters.reading.markdown.unresolved import inline_html

_CALLOUT = re.compile(
    r"\[!(?P<name>[\w-]{1,40})(?:\|[^\]\n]*)?\](?P<fold>[+-]?)[ \t]*(?P<title>[^\n]*)\n?"
)


def callouts_plugin(md: MarkdownIt) -> None:
    md.core.ruler.after("block", "callout", _callouts)


def _callouts(state: StateCore) -> None:
    """Make admonitions of the quotes that begin with a callout's mark; its title may be empty."""
    result: list[Token] = []
    tags: list[str] = []
    for at, token in enumerate(state.tokens):
        result.append(token)
        if token.type == "blockquote_open":
            inside = state.tokens[at + 1 : at + 3]
            is_text = inside[0].type == "paragraph_open"
            found = _CALLOUT.match(inside[1].content) if is_text else None
            tags.append("aside" if found else token.tag)
            if found:
                name = found["name"].lower()
                folded = " dropdown" if found["fold"] == "-" else ""
                token.attrSet("class", f"admonition {name}{folded}")
                inside[1].content = inside[1].content[found.end() :]
                shown = inline_html(state.md, found["title"] or name.title(), state.env)
                title = f'<p class="admonition-title label">{shown}</p>'
                result.append(Token("html_block", "", 0, content=title))
        if token.type.startswith("blockquote"):
            token.tag = tags[-1] if token.nesting > 0 else tags.pop()
    state.tokens = result
