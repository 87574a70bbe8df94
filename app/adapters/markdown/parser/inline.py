"""Resolves inline mark-up into the text that a reader sees and the text that ids are made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.parser import inline_rules
from app.adapters.markdown.parser.anchors import SlugPolicy
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.quick_inline import QuickInline
from app.adapters.markdown.parser.running_text import Collector, Text, code_text, glued, on_one_line
from app.domain.document import RUN_BOUNDARY as BOUNDARY

_ALWAYS_SPECIAL = r"\\*_\[\]<~&"


class InlineReader:
    """Reads running text with one dialect's markdown-it instance."""

    def __init__(self, md: MarkdownIt, dialect: Dialect, footnotes: bool) -> None:
        self._md = md
        self._dialect = dialect
        special = _special_characters(dialect)
        self._special = re.compile(f"[{special}`]")
        self._special_but_code = re.compile(f"[{special}]")
        self._quick = QuickInline(dialect)
        ruler = md.inline.ruler
        ruler.at("html_inline", inline_rules.tag_rule)
        if dialect.inline_attributes:
            ruler.before("html_inline", "attributes", inline_rules.attributes_rule)
        if dialect.comment_expressions:
            ruler.before("html_inline", "comment_expression", inline_rules.comment_expression_rule)
        if dialect.template_tags:
            ruler.before("html_inline", "template_tag", inline_rules.template_tag_rule)
        if dialect.math:
            spaced = dialect.spaced_math
            math = inline_rules.spaced_math_rule if spaced else inline_rules.math_rule
            ruler.before("escape", "math", math)
        if dialect.loose_references:
            ruler.before("link", "loose_reference", inline_rules.loose_reference_rule)
        for rule in dialect.inline_rules:
            ruler.before(rule.before, rule.name, rule.read)
        if footnotes:
            ruler.before("link", "footnote_ref", inline_rules.footnote_rule)

    def read(self, content: str, env: EnvType) -> Text:
        """Resolve `content`, the raw inline source of one block."""
        content = self._rewritten(content)
        if "  \n" not in content:
            if not self._special.search(content):
                text = _flat(content)
                return Text(text, text, text)
            if "`" in content and self._is_code_alone(content):
                return _read_code_spans(content)
            quick = self._quick.read(_unwrapped(content), env["references"])
            if quick is not None:
                return quick.finish(self._dialect.marked_terms)
        return render(self._adapted(content, env), self._dialect.marked_terms)

    def _rewritten(self, content: str) -> str:
        rewrite = self._dialect.rewrite_code_spans
        return rewrite(content) if rewrite is not None and "`" in content else content

    def _adapted(self, content: str, env: EnvType) -> Sequence[Token]:
        tokens = self.parse(content, env)
        if self._dialect.adapt_tokens is None:
            return tokens
        return self._dialect.adapt_tokens(content, tokens, env)

    def _is_code_alone(self, content: str) -> bool:
        """True if all mark-up is code between single backticks."""
        return (
            "``" not in content
            and not self._special_but_code.search(content)
            and content.count("`") % 2 == 0
        )

    def parse(self, content: str, env: EnvType) -> list[Token]:
        """Return the inline tokens of `content`."""
        return self._md.inline.parse(content, self._md, env, [])

    def slug_text(self, content: str, env: EnvType, policy: SlugPolicy) -> str:
        """Return the text that a heading's anchor is made of."""
        if not self._special.search(content):
            return policy.rewrite(content)
        text = "".join(_slug_part(token, policy) for token in self.parse(content, env))
        return text.strip() if policy.strip else text


def _special_characters(dialect: Dialect) -> str:
    """Return the characters that may begin mark-up, without the backtick, for a regex class."""
    own = {character for rule in dialect.inline_rules for character in rule.characters}
    if dialect.attribute_lists:
        own.add("{")
    if dialect.math:
        own.add("$")
    return _ALWAYS_SPECIAL + re.escape("".join(sorted(own)))


def _flat(content: str) -> str:
    """Replace line ends and runs of blanks by one space."""
    if "\n" in content or "  " in content or "\t" in content:
        return " ".join(content.split())
    return content


def _unwrapped(content: str) -> str:
    """Replace line ends by blanks if that does not change the inline mark-up."""
    if "\n" not in content or "\\" in content or "<" in content:
        return content
    joined = content.replace("\n", " ")
    return content if "  " in joined or "\t" in joined else joined


def _read_code_spans(content: str) -> Text:
    """Read text whose only mark-up is code between single backticks."""
    pieces = content.split("`")
    pieces[::2] = map(on_one_line, pieces[::2])
    pieces[1::2] = map(code_text, pieces[1::2])
    text = "".join(pieces)
    return Text(text, text, glued(BOUNDARY.join(pieces)))


def render(tokens: Sequence[Token], explicit_terms: bool) -> Text:
    """Join inline tokens into text."""
    collector = Collector()
    for token in tokens:
        handler = _HANDLERS.get(token.type)
        if handler is not None:
            handler(collector, token)
        elif token.content:
            collector.text(token.content)
    return collector.finish(explicit_terms)


_HANDLERS: dict[str, Callable[[Collector, Token], None]] = {
    "text": lambda out, token: out.text(token.content),
    "text_special": lambda out, token: out.text(token.content),
    "code_inline": lambda out, token: out.code(token.content),
    "softbreak": lambda out, _: out.text(" "),
    "hardbreak": lambda out, _: out.hard_break(),
    "strong_open": lambda out, _: out.open_term(),
    "em_open": lambda out, _: out.open_term(),
    "strong_close": lambda out, _: out.close_term(),
    "em_close": lambda out, _: out.close_term(),
    "link_open": lambda out, token: out.link(str(token.attrs.get("href", ""))),
    "link_close": lambda out, _: out.boundary(),
    "s_open": lambda out, _: out.boundary(),
    "s_close": lambda out, _: out.boundary(),
    "image": lambda out, token: out.image(
        _alt_text(token), unescapeAll(str(token.attrs.get("title", "")))
    ),
    "tag": lambda out, token: out.tag(
        token.tag, token.meta.get("alt", ""), token.meta.get("title", "")
    ),
    "math_inline": lambda out, token: out.unquoted(token.content),
    "attributes": lambda out, token: out.attributes(token.content),
    "footnote_ref": lambda out, _: out.glue(),
    "boundary": lambda out, _: out.boundary(),
    "unquoted": lambda out, token: out.unquoted(token.content),
    "span": lambda out, token: out.span(token.content, defines=token.info == "term"),
}


def _slug_part(token: Token, policy: SlugPolicy) -> str:
    match token.type:
        case "image":
            return _alt_text(token) if policy.images else ""
        case "unquoted":
            return token.markup
        case "math_inline":
            return token.content if policy.raw_math else token.content.strip("$")
        case "softbreak" | "hardbreak":
            return " "
        case "tag" | "attributes" | "footnote_ref" | "boundary":
            return ""
    return policy.rewrite(token.content) if token.type == "text" else token.content


def _alt_text(token: Token) -> str:
    if token.children:
        return render(token.children, explicit_terms=False).text
    return token.content
