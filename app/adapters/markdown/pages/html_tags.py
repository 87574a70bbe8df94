"""HTML and JSX tags in a book's source: which are allowed, and the HTML of components.

The allow-list is the whole policy. A tag that is not on it is dropped and its text, escaped, stays;
no attribute passes that could run a script or load from elsewhere. A tag passes only with its
partner in the same list item, aside or emphasis; otherwise the HTML would not be well nested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from urllib.parse import urlsplit

from markdown_it.token import Token

_ATTRIBUTE = r"""\s+(?P<name>[A-Za-z_][\w.:-]*)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|\{[^{}]*\}))?"""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_UNNAMED = re.sub(r"\(\?P<\w+>", "(?:", _ATTRIBUTE)
TAG = re.compile(
    rf"<(?P<close>/?)(?P<name>[A-Za-z][\w.-]*)(?P<attributes>(?:{_UNNAMED})*)\s*(?P<void>/?)>"
)

VOID = frozenset({"br", "hr", "img", "wbr"})
# fmt: off
_INLINE = frozenset({
    "abbr", "b", "br", "cite", "code", "dfn", "em", "i", "img", "ins", "kbd", "mark", "q", "s",
    "samp", "small", "span", "strong", "sub", "sup", "u", "var", "wbr",
})
BLOCK = frozenset({
    "blockquote", "center", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "hr", "li",
    "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})
# fmt: on
ALLOWED = (_INLINE | BLOCK) - {"center"}
RAW = frozenset({"iframe", "object", "script", "style", "template", "textarea"})
"""Elements that are dropped with their content."""

# fmt: off
_ATTRIBUTES_ALLOWED = frozenset({
    "alt", "colspan", "dir", "height", "id", "lang", "open", "reversed", "rowspan", "scope", "src",
    "start", "title", "width",
})
# fmt: on
_ID = re.compile(r"[\w.:-]+")
_COMPONENTS = {
    # component: (element, class, attribute shown as its label)
    "Tabs": ("div", "tabs", ""),
    "TabItem": ("section", "tab", "label"),
    "Admonition": ("aside", "admonition", "title"),
    "Details": ("details", "", "summary"),
}


@dataclass(frozen=True, slots=True)
class Tag:
    name: str
    attributes: dict[str, str]
    closing: bool
    empty: bool
    """True for `<X />` and for elements that HTML never closes."""


def parse_tag(match: re.Match[str]) -> Tag:
    name = match["name"]
    attributes = {
        found["name"]: _value(found["value"]) for found in _ATTRIBUTES.finditer(match["attributes"])
    }
    return Tag(name, attributes, bool(match["close"]), bool(match["void"]) or name in VOID)


def _value(raw: str | None) -> str:
    if raw is None:
        return ""
    inner = raw[1:-1].strip()
    return unescape(inner.strip("\"'`") if raw.startswith("{") else inner)


def is_component(name: str) -> bool:
    return name[:1].isupper()


def opening_html(tag: Tag, extra: dict[str, str]) -> str:
    """Return the HTML of an opening or empty tag that passes."""
    if tag.name in _COMPONENTS:
        return _component_html(tag, extra)
    attributes = {name: value for name, value in tag.attributes.items() if _passes(name, value)}
    if "src" in attributes:
        attributes["src"] = image_address(attributes["src"])
    return f"<{tag.name}{attributes_html(attributes | extra)}>"


def image_address(source: str) -> str:
    """Return an image's address on the site; "" for an image of another site."""
    parts = urlsplit(source)
    if parts.scheme or parts.netloc:
        return ""
    return source.removeprefix("@site/static").removeprefix("pathname://")


def closing_html(tag: Tag) -> str:
    return f"</{_COMPONENTS[tag.name][0] if tag.name in _COMPONENTS else tag.name}>"


def _is_allowed(tag: Tag, *, inline: bool) -> bool:
    """Whether the tag is allowed here; a paragraph contains no block-level element."""
    return tag.name in _INLINE if inline else tag.name in _COMPONENTS or tag.name in ALLOWED


def _component_html(tag: Tag, extra: dict[str, str]) -> str:
    element, css, label_attribute = _COMPONENTS[tag.name]
    attributes = ({"class": css} if css else {}) | extra
    label = tag.attributes.get(label_attribute) or tag.attributes.get("value", "")
    if element == "details":
        label = f"<summary>{escape(label or 'Details')}</summary>"
    elif label:
        label = f'<p class="label">{escape(label)}</p>'
    return f"<{element}{attributes_html(attributes)}>{label}"


def _passes(name: str, value: str) -> bool:
    return name in _ATTRIBUTES_ALLOWED and (name != "id" or bool(_ID.fullmatch(value)))


def attributes_html(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def tag_of(token: Token) -> Tag | None:
    tag = token.meta.get("tag")
    return tag if isinstance(tag, Tag) else None


def nesting(token: Token) -> int:
    """`Token.nesting`, also for tags of the source."""
    tag = tag_of(token)
    if tag is None:
        return token.nesting
    return 0 if tag.empty else -1 if tag.closing else 1


def pair_tags(tokens: Sequence[Token]) -> None:
    """Keep the tags that pass and have a partner, in blocks and in inline text; drop others."""
    _pair(tokens, inline=False)
    for token in tokens:
        children = token.children or []
        for child in children:
            if child.type == "html_inline" and (match := TAG.fullmatch(child.content)):
                child.meta["tag"] = parse_tag(match)
        _pair(children, inline=True)


def _pair(tokens: Sequence[Token], *, inline: bool) -> None:
    """Drop the tags that do not pass, and those that are neither empty nor have a partner."""
    scopes: list[list[Token]] = [[]]
    kept: set[int] = set()
    for token in tokens:
        tag = tag_of(token)
        if tag is None:
            _follow(token.nesting, scopes)
        elif not _is_allowed(tag, inline=inline):
            continue
        elif tag.empty:
            kept.add(id(token))
        elif not tag.closing:
            scopes[-1].append(token)
        elif (opening := _partner(tag.name, scopes[-1])) is not None:
            kept |= {id(opening), id(token)}
    for token in tokens:
        if id(token) not in kept:
            token.meta.pop("tag", None)


def _follow(step: int, scopes: list[list[Token]]) -> None:
    if step > 0:
        scopes.append([])
    elif step < 0 and len(scopes) > 1:
        scopes.pop()


def _partner(name: str, opened: list[Token]) -> Token | None:
    """Remove and return the nearest opening tag of this name; unclosed tags inside it are removed
    too.
    """
    for position in range(len(opened) - 1, -1, -1):
        tag = tag_of(opened[position])
        if tag is not None and tag.name == name:
            opening = opened[position]
            del opened[position:]
            return opening
    return None
