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
    r"(?P<embeds>!?)\[\[(?![\d\W]+[\]|])(?P<target>[^\[\]|\n]{1,200}?)"
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
    tokens = state.tokens
    for at, opening in enumerate(tokens):
        if opening.type != "blockquote_open" or tokens[at + 1].type != "paragraph_open":
            continue
        found = _CALLOUT.match(tokens[at + 2].content)
        if found is None:
            continue
        closing = next(one for one in tokens[at:] if one.level == opening.level and one.nesting < 0)
        opening.tag = closing.tag = "aside"
        opening.attrSet("class", f"admonition {found['name'].lower()}")
        _set_title(tokens, at + 1, found)


def _set_title(tokens: list[Token], at: int, found: re.Match[str]) -> None:
    """Make the paragraph's first line the title, and its other lines a paragraph behind it."""
    title, inline, closing = tokens[at : at + 3]
    rest = inline.content[found.end() :]
    if rest:
        content = Token("inline", "", 0, content=rest, level=inline.level, children=[])
        behind = Token("paragraph_open", "p", 1, map=title.map, level=title.level)
        tokens[at + 3 : at + 3] = [behind, content, closing]
    title.attrSet("class", "admonition-title label")
    inline.content = found["title"] or found["name"].title()


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
