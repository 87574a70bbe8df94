"""Inline mark-up of Markdown: what a cut must not go through, and how to read past it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from app.domain.document import Span

# Every repeat is bounded, so that hostile text costs linear time.
_PROTECTED = re.compile(
    r"""
      (?<!`)(`{1,3})(?!`) (?:[^`]|(?!\1)`|`(?=``)){1,400}? (?<!`)\1(?!`)      # code span
    | !?\[ (?:\\.|[^\[\]\\]|\[[^\[\]]{0,200}\]){0,400} \]
        (?: \([^()\n]{0,400} (?:\([^()]{0,200}\)[^()\n]{0,200})? \) | \[[^\[\]]{0,200}\] )?  # link
    | \$\$ [^$]{1,800} \$\$ | \$(?=\S) [^$\n]{1,300} (?<=\S)\$(?!\d)       # maths
    | \\\( .{1,400}? \\\)
    | <[^\s<>][^<>]{0,400}>                                                # tag or autolink
    | \{[^{}\n]{0,300}\}                                                   # attributes, expression
    | https?://[^\s<>()]{1,400}
    """,
    re.VERBOSE | re.DOTALL,
)
_LINK = re.compile(
    r"!?\[((?:\\.|[^\[\]\\]){0,400})\](?:\([^()]{0,400}(?:\([^()]{0,200}\)[^()]{0,200})?\)|\[[^\[\]]{0,200}\])"
)
_TAG = re.compile(r"<[^<>]{0,400}>|\{:[^{}\n]{0,300}\}")
_EMPHASIS = re.compile(r"(?<![\\\w])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def sentence_spans(
    text: str, language: str, split_sentences: Callable[[str, str], list[Span]]
) -> list[Span]:
    """Spans of the sentences of a paragraph's source; none ends inside inline mark-up."""
    spans = split_sentences(text, language)
    if len(spans) < 2:
        return spans
    protected = [match.span() for match in _PROTECTED.finditer(text)]
    joined = [spans[0]]
    at = 0
    for start, end in spans[1:]:
        while at < len(protected) and protected[at][1] <= start:
            at += 1
        if at < len(protected) and protected[at][0] < start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def reader_text(source: str) -> str:
    """A guess at what a reader sees of a piece of a paragraph's source."""
    text = _LINK.sub(r"\1", source)
    text = _EMPHASIS.sub("", _TAG.sub("", text))
    return squeeze(html.unescape(_ESCAPE.sub(r"\1", text)))


def squeeze(text: str) -> str:
    """Runs of blanks to one space, none at the ends."""
    return " ".join(text.split())
