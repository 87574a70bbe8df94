"""Inline rules for markdown-it that dialects share: tags, attribute lists, maths, footnotes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline import StateInline

from app.adapters.markdown.parser.dialect import InlineRule
from app.adapters.markdown.parser.tags import HtmlTag, TagScanner, plain_text

_INLINE_ATTRIBUTES = re.compile(
    r"\{:?[ \t]*(?:(?P<marked>[#.]|data-(?=\w)|(?=[\w:-]+=))?[\w:-][^{}\n]*)?\}"
)
_FOOTNOTE = re.compile(r"\[\^([^\]\s]+)\]")
LOOSE_REFERENCE = re.compile(r"[ \n]\[(?P<label>[^\[\]]*+)\]|(?P<note>\[\^[^\]\s]+\])")
"""What follows `[text]`."""
_TASK = frozenset({" ", "x", "X"})
_BRACKETS = {"\\\\(": "\\\\)", "\\\\[": "\\\\]"}
"""TeX's `\\(` and `\\[` as mdBook requires them: with an escaped backslash."""
RAW_INLINE = frozenset({"math", "svg", "script", "style"})
"""Inline elements that are read whole, as HTML."""
_LIQUID = r"\{%-?[ \t]*+"
TEMPLATE_TAG = (
    rf"{_LIQUID}comment[ \t]*-?%\}}(?:[^{{\n]|\{{(?!%))*+{_LIQUID}endcomment[ \t]*-?%\}}"
    r"|\{%(?:[^%{\n]|%(?!\})|\{(?!%))*+%\}"
    r"|\{\{(?:<(?:[^>{\n]|>(?!\}\})|\{(?!\{))*+>|%(?:[^%{\n]|%(?!\}\})|\{(?!\{))*+%)\}\}"
)
"""A tag of Liquid or Nunjucks (`{% tag %}`), or Hugo's shortcode (`{{< name >}}`)."""
_TEMPLATE_TAG = re.compile(TEMPLATE_TAG)
_INVISIBLE = (("<!--", "-->"), ("<?", ">"), ("<!", ">"))


def tag_rule(state: StateInline, silent: bool) -> bool:
    """Read HTML and JSX tags, comments, declarations, MathML and other raw inline elements."""
    source, start = state.src, state.pos
    scanner: TagScanner = state.env["inline_scanner"]
    if source[start + 1 : start + 2] in ("!", "?"):
        stop = _invisible_end(source, start, scanner)
        state.pos = max(stop, start)
        return stop >= 0
    tag = scanner.tag_at(start)
    if tag is None:
        return False
    if tag.name.lower() in RAW_INLINE and not tag.closing and not tag.void:
        inner_end, stop = scanner.element_end(tag, len(source))
        if stop > 0:
            if not silent:
                _push_raw(state, tag, inner_end)
            state.pos = stop
            return True
    if not silent:
        token = state.push("tag", ("/" if tag.closing else "") + (tag.name or "_"), 0)
        token.content = source[start : tag.end]
        token.meta = {"alt": tag.get("alt"), "title": tag.get("title")}
    state.pos = tag.end
    return True


def _invisible_end(source: str, start: int, scanner: TagScanner) -> int:
    """Return where a comment, a declaration or a processing instruction ends, or -1."""
    opening, closing = next(pair for pair in _INVISIBLE if source.startswith(pair[0], start))
    close = scanner.find(closing, start + len(opening))
    return close + len(closing) if close >= 0 else -1


def _push_raw(state: StateInline, tag: HtmlTag, inner_end: int) -> None:
    if tag.name.lower() == "math":
        token = state.push("math_inline", "", 0)
        token.content = plain_text(state.src[tag.end : inner_end])
    else:
        state.push("tag", tag.name.lower(), 0)


def read_marked(state: StateInline, start: int, stop: int) -> None:
    """Read the text that marks surround, which are not shown."""
    limit = state.posMax
    state.push("boundary", "", 0)
    state.pos, state.posMax = start, stop
    state.md.inline.tokenize(state)
    state.posMax = limit


def attributes_rule(state: StateInline, silent: bool) -> bool:
    """Read kramdown's `{: ...}` anywhere, `{#id .class}` after a span or at the end."""
    match = attribute_list(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("attributes", "", 0)
        token.content = match.group()
    state.pos = match.end()
    return True


def _bracketed_span(state: StateInline, silent: bool) -> bool:
    """Read the brackets of `[text]{#id .class}`, a span of Pandoc and MyST."""
    end = state.md.helpers.parseLinkLabel(state, state.pos)
    if end < 0 or attribute_list(state.src, end + 1) is None:
        return False
    if not silent:
        read_marked(state, state.pos + 1, end)
    state.pos = end + 1
    return True


BRACKETED_SPAN = InlineRule("bracketed_span", "[", _bracketed_span, before="image")


def comment_expression_rule(state: StateInline, silent: bool) -> bool:
    """Read MDX's `{/* note */}`."""
    if not state.src.startswith("{/*", state.pos):
        return False
    scanner: TagScanner = state.env["inline_scanner"]
    close = scanner.find("*/}", state.pos + 3)
    if close < 0:
        return False
    if not silent:
        state.push("boundary", "", 0)
    state.pos = close + 3
    return True


def template_tag_rule(state: StateInline, silent: bool) -> bool:
    """Read a tag of a template language; the text around it is shown."""
    match = _TEMPLATE_TAG.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("boundary", "", 0)
    state.pos = match.end()
    return True


def attribute_list(source: str, start: int) -> re.Match[str] | None:
    """Match an attribute list at `start`; None if these braces are text."""
    match = _INLINE_ATTRIBUTES.match(source, start)
    if match is None or match.group()[1:2] == "}":
        return None
    if not source.startswith("{:", start):
        attached = start > 0 and source[start - 1] in ")`*_~]>:^=+"
        ends = match["marked"] and match.end() == len(source)
        if match["marked"] is None or not (attached or ends):
            return None
    return match


def math_rule(state: StateInline, silent: bool) -> bool:
    """Read a formula in dollars or in escaped TeX brackets."""
    return _math(state, silent, _dollar_end)


def spaced_math_rule(state: StateInline, silent: bool) -> bool:
    """Also read `$ x $` and `$5 and $`, as MyST-Parser does."""
    return _math(state, silent, _spaced_dollar_end)


def _math(state: StateInline, silent: bool, dollar_end: Callable[[StateInline, int], int]) -> bool:
    source, start = state.src, state.pos
    if source[start] == "$":
        end = dollar_end(state, start)
        shown = source[start:end]
    else:
        end = _bracket_end(state, start)
        shown = f"{source[start + 1 : end - 3]}{source[end - 2 : end]}"
    if end < 0:
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = html.unescape(shown)
    state.pos = end
    return True


def _bracket_end(state: StateInline, start: int) -> int:
    """Return where a formula in escaped TeX brackets ends, or -1."""
    closing = _BRACKETS.get(state.src[start : start + 3])
    if closing is None:
        return -1
    scanner: TagScanner = state.env["inline_scanner"]
    close = scanner.find(closing, start + 3)
    return close + 3 if close > start + 3 else -1


def _dollar_end(state: StateInline, start: int) -> int:
    """Return where a formula in dollars ends, by pandoc's rule, or -1.

    No blank after the first dollar or before the last one, and no digit after the last one:
    `$5 and $6` is not a formula.
    """
    source = state.src
    scanner: TagScanner = state.env["inline_scanner"]
    width = 2 if source.startswith("$$", start) else 1
    begin = start + width
    if begin >= len(source) or (source[begin].isspace() and width == 1):
        return -1
    close = _find_unescaped(source, scanner, "$" * width, begin)
    if close <= begin:
        return -1
    end = close + width
    if width == 1 and (source[close - 1].isspace() or source[end : end + 1].isdigit()):
        return -1
    return end


def _spaced_dollar_end(state: StateInline, start: int) -> int:
    """Return where a formula in dollars ends, or -1: at the next dollar."""
    end = _dollar_end(state, start)
    if end >= 0 or state.src.startswith("$$", start):
        return end
    return _find_unescaped(state.src, state.env["inline_scanner"], "$", start + 1) + 1 or -1


def _find_unescaped(source: str, scanner: TagScanner, mark: str, start: int) -> int:
    close = scanner.find(mark, start)
    while close > 0 and source[close - 1] == "\\":
        close = scanner.find(mark, close + 1)
    return close


def loose_reference_rule(state: StateInline, silent: bool) -> bool:
    """Read Python-Markdown's `[text] [label]`, and `[label]` before a footnote's number."""
    source, start = state.src, state.pos
    references = state.env.get("references")
    if not references or source[max(start - 1, 0)] == "!":
        return False
    end = state.md.helpers.parseLinkLabel(state, start)
    match = LOOSE_REFERENCE.match(source, end + 1, state.posMax) if end > start + 1 else None
    text = source[start + 1 : end]
    if match is None or (start == 0 and text in _TASK):
        return False
    definition = references.get(normalizeReference(match["label"] or text))
    if definition is None:
        return False
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": definition["href"]}
        read_marked(state, start + 1, end)
        state.push("link_close", "a", -1)
    state.pos = end + 1 if match["note"] else match.end()
    return True


def footnote_rule(state: StateInline, silent: bool) -> bool:
    match = _FOOTNOTE.match(state.src, state.pos)
    if match is None or match.group(1).lower() not in state.env["footnotes"]:
        return False
    if not silent:
        token = state.push("footnote_ref", "", 0)
        token.meta = {"label": match.group(1)}
    state.pos = match.end()
    return True
