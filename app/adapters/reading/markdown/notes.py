"""What notes of Obsidian and of wikis add to Markdown: `> [!note] Title` and `[[Page|label]]`."""

from __future__ import annotations

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.adapters.reading.markdown.unresolved import inline_html

_CALLOUT = re.compile(
    r"\[!(?P<name>[\w-]{1,40})(?:\|[^\]\n]*)?\](?P<fold>[+-]?)[ \t]*(?P<title>[^\n]*)\n?"
)
_LINK = re.compile(
    r"(?P<embeds>!?)\[\[(?=[^\[\]|\n]{0,200}[^\W\d])(?P<target>[^\[\]|\n]{1,200}?)"
    r"(?:\\?\|(?P<label>[^\[\]\n]{0,200}))?\]\](?![(\[])"
)
_IMAGE = re.compile(r"\.(?:avif|gif|jpe?g|png|svg|webp)(?:#.*)?$", re.IGNORECASE)
_OWN_ID = re.compile(r"\S!?\[\[[\w-]+\]\]\Z", re.ASCII)
"""An id that an author gave to a heading, as the courses of Hugging Face have."""


def notes_plugin(md: MarkdownIt, has_wiki_links: bool) -> None:
    md.core.ruler.after("block", "callout", _callouts)
    if has_wiki_links:
        md.inline.ruler.before("link", "wiki_link", _wiki_link)


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
                token.attrSet("class", f"admonition {name}")
                inside[1].content = inside[1].content[found.end() :]
                shown = inline_html(state.md, found["title"] or name.title(), state.env)
                # A title hides a hint like a solution; this one is a tip, unless it is folded.
                is_tip = name == "hint" and found["fold"] != "-"
                classes = "label" if is_tip else "admonition-title label"
                title = f'<p class="{classes}">{shown}</p>'
                result.append(Token("html_block", "", 0, content=title))
        if token.type.startswith("blockquote"):
            token.tag = tags[-1] if token.nesting > 0 else tags.pop()
    state.tokens = result


def _wiki_link(state: StateInline, silent: bool) -> bool:
    found = _LINK.match(state.src, state.pos)
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
