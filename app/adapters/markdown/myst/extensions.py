"""MyST-Parser's optional extensions that change ids or texts (`myst_enable_extensions`)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from markdown_it.rules_core.replacements import replace_rare, replace_scoped
from markdown_it.token import Token

from app.adapters.markdown.myst.syntax import DIALECT, STYLE
from app.adapters.markdown.parser.anchors import SlugPolicy, SlugStyle
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.inline_rules import BRACKETED_SPAN

# Next to a blank or to punctuation, it makes no difference whether a quote is replaced.
_APOSTROPHE = re.compile(r"(?<!\W)'(?!\W)")


def dialect_with(extensions: Collection[str]) -> Dialect:
    """Return the dialect of a site with these extensions."""
    dialect = replace(DIALECT, spaced_math="dollarmath" in extensions)
    if "attrs_inline" not in extensions:
        return dialect
    return replace(dialect, inline_rules=(*dialect.inline_rules, BRACKETED_SPAN))


def style_with(extensions: Collection[str]) -> SlugStyle:
    """Return the style of heading ids: docutils drops characters that are not ASCII."""

    def rewrite(text: str) -> str:
        if "replacements" in extensions:
            text = _replaced(text)
        return _APOSTROPHE.sub("’", text) if "smartquotes" in extensions else text

    return replace(STYLE, policy=SlugPolicy(rewrite=rewrite))


def _replaced(text: str) -> str:
    """Replace `(c)`, `--` and the like as markdown-it does."""
    token = Token("text", "", 0, content=text)
    replace_scoped([token])
    replace_rare([token])
    return token.content
