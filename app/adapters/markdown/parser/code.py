"""Fenced code: language, title and the lines a reader sees."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it.token import Token

from app.adapters.markdown.parser.markup import Dialect

_LANGUAGE = re.compile(r"\{?[.]?([^\s,{}=]+)")
_TITLE = re.compile(
    r"\b(?:title|filename|file|name|caption|lst-cap)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s}]+))"
)
_HIDDEN = re.compile(r"^[ \t]*#(?:[ \t].*)?$")
_ESCAPED = re.compile(r"^([ \t]*)##", re.M)
_HIGHLIGHT = re.compile(
    r"^[ \t]*(?://|#|--|%|;|\{?/\*|<!--)\s*"
    r"(?:highlight-next-line|highlight-start|highlight-end|prettier-ignore)"
    r"\s*(?:\*/\}?|-->)?[ \t]*$"
)


@dataclass(frozen=True, slots=True)
class Code:
    """A code block's info string, read, and its raw content."""

    text: str
    language: str
    title: str
    hides_lines: bool
    highlights: bool

    def visible(self, text: str) -> str:
        """Drop the lines that the page does not show: mdBook's `# ` and highlight comments."""
        text = text.strip("\n")
        if self.hides_lines and "#" in text:
            text = "\n".join(line for line in text.split("\n") if not _HIDDEN.match(line))
            if "##" in text:
                text = _ESCAPED.sub(r"\1#", text)
        elif self.highlights and "highlight-" in text:
            text = "\n".join(line for line in text.split("\n") if not _HIGHLIGHT.match(line))
        return text.rstrip()


def read_fence(token: Token, dialect: Dialect) -> Code:
    """Read a `fence` or `code_block` token."""
    info = token.info.strip()
    match = _LANGUAGE.match(info)
    language = match.group(1) if match else ""
    title = _TITLE.search(info, match.end()) if match else None
    shown = next((group for group in title.groups() if group), "") if title else ""
    return Code(
        token.content,
        language,
        shown,
        hides_lines=dialect.mdbook and language == "rust",
        highlights=dialect.mdx,
    )
