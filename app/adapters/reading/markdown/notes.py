"""What notes of Obsidian and of wikis add to Markdown: `> [!note] Title` and `[[Page|label]]`."""

from __future__ import annotations

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_CALLOUT = re.compile(r"\[!(?P<name>[\w-]{1,40})(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<title>[^\n]*)\n?")
_LINK = re.compile(
    r"(?P<embeds>!?)\[\[(?=[^\[\]|\n]{0,200}[^\W\d])(?P<target>[^\[\]|\n]{1,200}?)"
    r"(?:\\?\|(?P<label>[^\[\]\n]{0,200}))?\]\](?![(\[])"
)
_IMAGE = re.compile(r"\.(?:avif|gif|jpe?g|png|svg|webp)$", re.IGNORECASE)
_OWN_ID = re.compile(r"\S!?\[\[[\w-]+\]\]\Z", re.ASCII)
"""An id that an author gave to a heading, as the courses of Hugging Face have."""


def notes_plugin(md: MarkdownIt, has_wiki_links: bool) -> None:
    md.core.ruler.after("block", "callout", _callouts)
    if has_wiki_links:
        md.inline.ruler.before("link", "wiki_link", _wiki_link)


def _callouts(state: StateCore) -> None:
    """Make admonitions of the quotes that begin with a callout's mark; its title may be empty."""
    result: list[Token] = []
    are_callouts: list[bool] = []
    found = None
    for at, token in enumerate(state.tokens):
        result.append(token)
        if token.type == "blockquote_open":
            inside = state.tokens[at + 1 : at + 3]
            is_text = inside[0].type == "paragraph_open"
            found = _CALLOUT.match(inside[1].content) if is_text else None
            are_callouts.append(found is not None)
            if found:
                token.tag = "aside"
                token.attrSet("class", f"admonition {found['name'].lower()}")
                inside[0].attrSet("class", "admonition-title label")
        elif token.type == "blockquote_close" and are_callouts.pop():
            token.tag = "aside"
        elif token.type == "inline" and found:
            result += _set_title(token, found)
            found = None
    state.tokens = result


def _set_title(inline: Token, found: re.Match[str]) -> list[Token]:
    """Make a paragraph's first line the title; return what begins one of its other lines."""
    rest = inline.content[found.end() :]
    inline.content = found["title"] or found["name"].title()
    if not rest:
        return []
    return [
        Token("paragraph_close", "p", -1, level=inline.level - 1),
        Token("paragraph_open", "p", 1, map=inline.map, level=inline.level - 1),
        Token("inline", "", 0, content=rest, level=inline.level, children=[]),
    ]


def _wiki_link(state: StateInline, silent: bool) -> bool:
    found = _LINK.match(state.src, state.pos) if state.src[state.pos] in "![" else None
    if found is None or _OWN_ID.match(state.src, max(state.pos - 1, 0)):
        return False
    if not silent:
        target, label = found["target"].strip(), found["label"] or ""
        shown = label.strip() or target.strip("#^").replace("#", " > ")
        if not found["embeds"]:
            state.push("text", "", 0).content = shown
        elif _IMAGE.search(target):  # its label is its width, if it has one
            html = f'<img src="{escape(target)}" alt="{escape(_IMAGE.sub("", target))}">'
            state.push("html_inline", "", 0).content = html
        else:
            state.env["unknown"].append(found[0])
    state.pos = found.end()
    return True
