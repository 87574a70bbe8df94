"""Running text: inline mark-up resolved into what a reader sees, and what an id is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown import inline_mkdocs, inline_rules
from app.adapters.markdown.anchors import SlugPolicy
from app.adapters.markdown.marks import Dialect
from app.adapters.markdown.tags import BLOCK_NAMES, TagScanner
from app.domain.document import RUN_BOUNDARY as BOUNDARY
from app.domain.document import RUN_GLUE

_ALWAYS_SPECIAL = r"\\*_\[\]<~&"
_BLANKS = re.compile(r"[ \t]*\n[ \t]*|[ \t]{2,}|\t")
_TARGET_NAME = re.compile(r"([^/#:?]+?)(?:\.md)?$")
"""What a link without text shows for want of its target's title."""
_ATTRIBUTE_ID = re.compile(r"#([\w:.-]+)")
_GLUED_BOUNDARY = f"{RUN_GLUE}{BOUNDARY}{RUN_GLUE}"
"""Where something stands that is no part of the runs: the words beside it may go on in it."""
_WITHIN_WORD = re.compile(rf"(?<=\w){BOUNDARY}+(?=\w)")
_TERM_ROLES = frozenset({"term", "dfn", "index"})

_TEXT = ("text", "text_special")

MAX_TERM_WORDS = 6
"""An emphasised phrase of more words is a stressed sentence, not a term."""


@dataclass(slots=True)
class Text:
    """A stretch of running text."""

    text: str
    """What a reader sees."""
    id_text: str
    """`text` without what an id leaves out: maths, images, expressions, footnote references."""
    runs: str
    """`text` as far as the page shows it in line, with a BOUNDARY wherever mark-up changes."""
    terms: tuple[str, ...] = ()
    """The phrases the author sets off as defined here."""
    only_images: bool = False
    tags: tuple[str, ...] = ()
    """Opening (`div`) and closing (`/div`) HTML tags met, in order."""
    anchor: str = ""
    """An id that an attribute list gives."""
    links: tuple[str, ...] = ()


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
        special += inline_mkdocs.special_characters(extensions)
        self._extensions = extensions
        self._special = re.compile(f"[{special}`]")
        self._special_but_code = re.compile(f"[{special}]")
        self._explicit_terms = dialect.kramdown
        self._fills_links = dialect.myst
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
        inline_mkdocs.install(ruler, extensions)
        if footnotes:
            ruler.before("link", "footnote_ref", inline_rules.footnote_rule)

    def read(self, content: str, env: EnvType) -> Text:
        """Resolve `content`, the raw inline source of one block."""
        if "`" in content and "inlinehilite" in self._extensions:
            content = inline_mkdocs.without_languages(content)
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
        text = "".join(_slug_piece(token, policy) for token in self.parse(content, env))
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


def _read_code_spans(content: str) -> Text:
    """The common case of text whose only mark-up is code between single backticks."""
    pieces = content.split("`")
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = _code_text(piece)
        elif "\n" in piece or "  " in piece or "\t" in piece:
            pieces[index] = _BLANKS.sub(" ", piece)
    text = "".join(pieces)
    return Text(text, text, _WITHIN_WORD.sub(_GLUED_BOUNDARY, BOUNDARY.join(pieces)))


def render(tokens: Sequence[Token], explicit_terms: bool) -> Text:
    """Join inline tokens into text."""
    collector = _Collector()
    out, marked = collector.out, collector.marked
    for token in tokens:
        kind = token.type
        if kind in _TEXT:
            out.append(token.content)
            marked.append(token.content)
        elif kind == "softbreak":
            out.append(" ")
            marked.append(" ")
        elif kind == "code_inline":
            shown = _code_text(token.content)
            out.append(shown)
            marked += (BOUNDARY, shown, BOUNDARY)
        else:
            handler = _HANDLERS.get(kind)
            if handler is not None:
                handler(collector, token)
            elif token.content:
                out.append(token.content)
                marked.append(token.content)
    return collector.finish(explicit_terms)


class _Collector:
    """Accumulates the text of inline tokens."""

    __slots__ = (
        "anchor", "explicit", "images", "last_span", "links", "marked", "open_terms", "out",
        "silent", "tags", "terms",
    )  # fmt: skip

    def __init__(self) -> None:
        self.out: list[str] = []
        self.marked: list[str] = []
        """The text with a BOUNDARY wherever mark-up begins or ends."""
        self.silent: list[int] = []
        """Places in `out` that no id is made of."""
        self.terms: list[str] = []
        self.explicit: list[str] = []
        self.open_terms: list[int] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.images = 0
        self.anchor = ""
        self.last_span = ""

    def hard_break(self, _: Token) -> None:
        self.out.append("\n")
        self.marked.append(f"{BOUNDARY} ")

    def open_term(self, _: Token) -> None:
        self.marked.append(BOUNDARY)
        self.open_terms.append(len(self.out))

    def close_term(self, _: Token) -> None:
        self.marked.append(BOUNDARY)
        if self.open_terms:
            phrase = " ".join("".join(self.out[self.open_terms.pop() :]).split())
            self.last_span = phrase
            if phrase and phrase.count(" ") < MAX_TERM_WORDS and phrase not in self.terms:
                self.terms.append(phrase)

    def boundary(self, _: Token) -> None:
        self.marked.append(BOUNDARY)

    def glue(self, _: Token) -> None:
        self.marked.append(_GLUED_BOUNDARY)

    def link(self, token: Token) -> None:
        self.marked.append(BOUNDARY)
        self.links.append(str(token.attrs.get("href", "")))

    def image(self, token: Token) -> None:
        self.images += 1
        alt = _alt_text(token)
        title = unescapeAll(str(token.attrs.get("title", "")))
        self._silent(" ".join(part for part in (alt, title if title != alt else "") if part))

    def _silent(self, text: str) -> None:
        """Text that the reader gets, but that a search on the page does not find in line."""
        self.marked.append(BOUNDARY)
        if text:
            self.silent.append(len(self.out))
            apart = self.out and not self.out[-1][-1:].isspace()
            self.out.append(f" {text}" if apart else text)

    def tag(self, token: Token) -> None:
        name = token.tag
        lower = name.lstrip("/").lower()
        if lower == "br":
            self.hard_break(token)
            return
        self.marked.append(BOUNDARY)
        if lower == "img":
            self.images += 1
            self._silent(" ".join((token.meta.get("alt", ""), token.meta.get("title", ""))).strip())
        elif lower in BLOCK_NAMES:
            self.marked.append(" ")
            if self.out and not self.out[-1][-1:].isspace():
                self.out.append(" ")
        elif lower in ("dfn", "strong", "b", "em", "i"):
            (self.close_term if name.startswith("/") else self.open_term)(token)
            if name == "/dfn" and self.last_span:
                self.explicit.append(self.last_span)
        self.tags.append(name)

    def unquoted(self, token: Token) -> None:
        """Maths and expressions: shown, but part of no id."""
        self.marked.append(_GLUED_BOUNDARY)
        self.silent.append(len(self.out))
        self.out.append(token.content)

    def attributes(self, token: Token) -> None:
        self.marked.append(BOUNDARY)
        if 'data-type="term"' in token.content and self.last_span:
            self.explicit.append(self.last_span)
        match = _ATTRIBUTE_ID.search(token.content)
        if match:
            self.anchor = match.group(1)

    def role(self, token: Token) -> None:
        if token.info in ("math", "eq") or token.info.startswith("cite"):
            self.unquoted(token)
            return
        self.out.append(token.content)
        self.marked += (BOUNDARY, token.content, BOUNDARY)
        if token.info in _TERM_ROLES:
            self.explicit.append(token.content)

    def finish(self, explicit_terms: bool) -> Text:
        text = "".join(self.out)
        id_text = text
        if self.silent:
            skipped = set(self.silent)
            id_text = "".join(part for at, part in enumerate(self.out) if at not in skipped)
        if "  " in text or "\n" in text or "\t" in text:
            text = _BLANKS.sub(_one_blank, text)
        text = text.strip()
        terms = self.explicit if self.explicit or explicit_terms else self.terms
        if terms == [text]:
            terms = []  # all of it is stressed
        return Text(
            text,
            id_text,
            _WITHIN_WORD.sub(_GLUED_BOUNDARY, "".join(self.marked)),
            tuple(dict.fromkeys(terms)) if terms else (),
            bool(self.images) and (not id_text or id_text.isspace()),
            tuple(self.tags),
            self.anchor,
            tuple(self.links),
        )


_HANDLERS: dict[str, Callable[[_Collector, Token], None]] = {
    "hardbreak": _Collector.hard_break,
    "strong_open": _Collector.open_term,
    "em_open": _Collector.open_term,
    "strong_close": _Collector.close_term,
    "em_close": _Collector.close_term,
    "link_open": _Collector.link,
    "link_close": _Collector.boundary,
    "s_open": _Collector.boundary,
    "s_close": _Collector.boundary,
    "image": _Collector.image,
    "tag": _Collector.tag,
    "math_inline": _Collector.unquoted,
    "expression": _Collector.unquoted,
    "attributes": _Collector.attributes,
    "footnote_ref": _Collector.glue,
    "boundary": _Collector.boundary,
    "emoji": _Collector.unquoted,
    "keys": _Collector.unquoted,
    "role": _Collector.role,
}


def _slug_piece(token: Token, policy: SlugPolicy) -> str:
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


def _one_blank(match: re.Match[str]) -> str:
    return "\n" if "\n" in match.group() else " "


def _code_text(content: str) -> str:
    """What a code span shows: CommonMark's stripping of one space a side, line ends as spaces."""
    flat = content.replace("\n", " ") if "\n" in content else content
    if flat[:1] == " " == flat[-1:] and len(flat) > 2 and flat.strip():
        return flat[1:-1]
    return flat


def _alt_text(token: Token) -> str:
    if token.children:
        return render(token.children, explicit_terms=False).text
    return token.content
