"""Running text: inline mark-up resolved into what a reader sees, and what an id is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.parser import inline_extensions, inline_rules
from app.adapters.markdown.parser.anchors import SlugPolicy
from app.adapters.markdown.parser.markup import Dialect
from app.adapters.markdown.parser.running_text import Collector, Text, code_text, glued, on_one_line
from app.adapters.markdown.parser.speed.quick_inline import QuickInline
from app.adapters.markdown.parser.tags import TagScanner
from app.domain.document import RUN_BOUNDARY as BOUNDARY

_ALWAYS_SPECIAL = r"\\*_\[\]<~&"
_TARGET_NAME = re.compile(r"([^/#:?]+?)(?:\.md)?$")
"""What a link without text shows for want of its target's title."""


class InlineReader:
    """Reads running text with one dialect's markdown-it instance."""

    def __init__(self, md: MarkdownIt, dialect: Dialect, footnotes: bool) -> None:
        self._md = md
        special = _ALWAYS_SPECIAL
        if dialect.mdx or dialect.kramdown or dialect.attribute_lists or dialect.myst:
            special += "{"
        if dialect.math:
            special += "$"
        extensions = dialect.extensions
        special += inline_extensions.special_characters(extensions)
        self._extensions = extensions
        self._special = re.compile(f"[{special}`]")
        self._special_but_code = re.compile(f"[{special}]")
        self._explicit_terms = dialect.kramdown
        self._fills_links = dialect.myst
        self._quick = QuickInline(dialect)
        ruler = md.inline.ruler
        ruler.at("html_inline", inline_rules.tag_rule)
        if dialect.mdx:
            ruler.before("html_inline", "expression", inline_rules.expression_rule)
        if dialect.kramdown or (dialect.attribute_lists and not dialect.mdbook):
            ruler.before("html_inline", "attributes", inline_rules.attributes_rule)
        if dialect.myst:
            ruler.before("html_inline", "role", inline_rules.role_rule)
        if dialect.math:
            ruler.before("escape", "math", inline_rules.math_rule)
        inline_extensions.install(ruler, extensions)
        if footnotes:
            ruler.before("link", "footnote_ref", inline_rules.footnote_rule)

    def read(self, content: str, env: EnvType) -> Text:
        """Resolve `content`, the raw inline source of one block."""
        if "`" in content and "inlinehilite" in self._extensions:
            content = inline_extensions.without_languages(content)
        if "  \n" not in content:
            if not self._special.search(content):
                text = _flat(content)
                return Text(text, text, text)
            if (
                "`" in content
                and "``" not in content
                and not self._special_but_code.search(content)
                and content.count("`") % 2 == 0
            ):
                return _read_code_spans(content)
            quick = None
            if not self._extensions:
                quick = self._quick.read(_unwrapped(content), env["references"])
            if quick is not None:
                return quick.finish(self._explicit_terms)
        tokens = self.parse(content, env)
        if self._fills_links and "[](" in content:
            tokens = list(_fill_links(tokens))
        return render(tokens, self._explicit_terms)

    def parse(self, content: str, env: EnvType) -> list[Token]:
        """Return the inline tokens of `content`."""
        env["inline_scanner"] = TagScanner(content)
        if self._extensions:
            env["extensions"], env["inline_closers"] = self._extensions, {}
        return self._md.inline.parse(content, self._md, env, [])

    def slug_text(self, content: str, env: EnvType, policy: SlugPolicy) -> str:
        """Return the text that a heading's anchor is made of."""
        if not self._special.search(content):
            return content
        text = "".join(_slug_part(token, policy) for token in self.parse(content, env))
        return text.strip() if policy.strip else text


def _fill_links(tokens: Sequence[Token]) -> Iterator[Token]:
    """Give each link without text its target's name; MyST shows the target's title there."""
    for index, token in enumerate(tokens):
        yield token
        following = tokens[index + 1].type if index + 1 < len(tokens) else ""
        if token.type == "link_open" and following == "link_close":
            name = _TARGET_NAME.search(str(token.attrs.get("href", "")))
            if name:
                yield Token("text", "", 0, content=name.group(1))


def _flat(content: str) -> str:
    """Show line ends and runs of blanks as one space."""
    if "\n" in content or "  " in content or "\t" in content:
        return " ".join(content.split())
    return content


def _unwrapped(content: str) -> str:
    """Join lines where a line's end is nothing but a blank: most mark-up takes either."""
    if "\n" not in content or "\\" in content or "<" in content:
        return content
    joined = content.replace("\n", " ")
    return content if "  " in joined or "\t" in joined else joined


def _read_code_spans(content: str) -> Text:
    """The common case of text whose only mark-up is code between single backticks."""
    pieces = content.split("`")
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = code_text(piece)
        else:
            pieces[index] = on_one_line(piece)
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
    "expression": lambda out, token: out.unquoted(token.content),
    "attributes": lambda out, token: out.attributes(token.content),
    "footnote_ref": lambda out, _: out.glue(),
    "boundary": lambda out, _: out.boundary(),
    "emoji": lambda out, token: out.unquoted(token.content),
    "keys": lambda out, token: out.unquoted(token.content),
    "role": lambda out, token: out.role(token.info, token.content),
}


def _slug_part(token: Token, policy: SlugPolicy) -> str:
    match token.type:
        case "image":
            return _alt_text(token) if policy.images else ""
        case "expression":
            return token.markup[1:-1] if policy.expressions else ""
        case "math_inline":
            shown = {"raw": token.content, "tex": token.content.strip("$")}
            return shown.get(policy.math, "")
        case "softbreak" | "hardbreak":
            return " "
        case "tag" | "attributes" | "footnote_ref" | "boundary" | "emoji":
            return ""
    return token.content


def _alt_text(token: Token) -> str:
    if token.children:
        return render(token.children, explicit_terms=False).text
    return token.content
