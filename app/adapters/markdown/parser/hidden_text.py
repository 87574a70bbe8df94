"""Finds the text of a page that its source hides from readers.

Style sheets are not read. White text counts as hidden only if nothing gives it a background: its
element has no class, and `background` occurs nowhere in the file. Annotations of MathML are hidden.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from app.adapters.markdown.parser.tags import VOID_NAMES, HtmlTag, TagScanner
from app.domain.document import Span

_CANDIDATE = re.compile(
    r"<(?:[A-Za-z][\w.:-]*\s[^<]*?(?:hidden|style\s*=|color\s*=)|annotation(?:-xml)?[\s>])"
)
_ANNOTATIONS = frozenset({"annotation", "annotation-xml"})
"""MathML's copies of a formula in other notations."""
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)*?[^`]\1(?!`)", re.DOTALL)
_OPEN_COMMENT = re.compile(r"^[ \t>]*(<!--)", re.MULTILINE)
"""A comment that is never closed: it hides the rest of the page."""
_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*((?:[^;,{}()]|\([^()]*\))+)")
_ZERO = re.compile(r"0*\.?0*(?:[a-z]+|%)?")
_NO_ALPHA = re.compile(r"transparent|#\w{6}00|#\w{3}0|(?:rgba?|hsla?)\(.*[,/]0*\.?0*%?\)")
_WHITE = frozenset({"white", "#fff", "#ffff", "#ffffff", "#ffffffff", "rgb(255,255,255)"})
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")
_OPTIONAL_END_TAG = frozenset("dd dt li option p td th tr".split())
"""Elements whose closing tag may be omitted."""


class Hidden(NamedTuple):
    """An element at `source[start:end]`; `closed` is False if it runs to the file's end."""

    start: int
    end: int
    closed: bool = True


def _hides(tag: HtmlTag, plain: bool) -> bool:
    return tag.name in _ANNOTATIONS or is_hidden(tag, plain=plain)


def _hidden_by(source: str, scanner: TagScanner, tag: HtmlTag) -> Hidden | None:
    if tag.name in _ANNOTATIONS:
        return _annotation(scanner, tag)
    return _element(source, scanner, tag)


def hidden_elements(source: str, code_blocks: Callable[[], Sequence[Span]]) -> list[Hidden]:
    """Return the outermost hidden elements in order, and a comment that is never closed.

    Tags in code are text. `code_blocks` is called only if there is a candidate; most files have
    none.
    """
    found: list[Hidden] = []
    scanner, reached = TagScanner(source), 0
    plain = "background" not in source
    code = cache(lambda: _code(source, code_blocks()))
    for match in _CANDIDATE.finditer(source):
        start = match.start()
        tag = scanner.tag_at(start) if start >= reached else None
        if tag is None or not _hides(tag, plain):
            continue
        if _within(start, code()):
            continue
        element = _hidden_by(source, scanner, tag)
        if element is not None:
            found.append(element)
            reached = element.end
    opened = _OPEN_COMMENT.search(source, max(reached, source.rfind("-->")))
    if opened and not _within(opened.start(1), code()):
        found.append(Hidden(opened.start(1), len(source), closed=False))
    return found


def _code(source: str, blocks: Sequence[Span]) -> list[Span]:
    """Return blocks and spans of code in order."""
    spans = (match.span() for match in _CODE_SPAN.finditer(source))
    return sorted([*blocks, *(span for span in spans if not _within(span[0], blocks))])


def blank_out(source: str, hidden: Sequence[Hidden]) -> str:
    """Replace hidden elements by blanks, so offsets stay the same."""
    parts: list[str] = []
    position = 0
    for start, end, _ in hidden:
        parts += (source[position:start], re.sub(r"\S", " ", source[start:end]))
        position = end
    return "".join([*parts, source[position:]])


def is_hidden(tag: HtmlTag, *, plain: bool = True) -> bool:
    """Whether a tag's attributes hide its element. `plain`: no background around it is coloured."""
    attributes = tag.attributes
    value = attributes.get("hidden")
    # A component may give the attribute another meaning; an expression may be false.
    if value in ("", "hidden", "true", "{true}") and not tag.is_component:
        return True
    rules = _style_rules(tag.name, attributes)
    if rules.get("display") == "none" or rules.get("visibility") in ("hidden", "collapse"):
        return True
    if any(name in rules and _ZERO.fullmatch(rules[name]) for name in ("fontsize", "opacity")):
        return True
    return _is_invisible(rules, plain and not attributes.keys() & {"class", "className"})


def _style_rules(tag_name: str, attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that a tag's `style` sets, without dashes and blanks."""
    style = re.sub(r"[\"'`]|!important", "", attributes.get("style", "").lower())
    rules = {
        name.replace("-", ""): re.sub(r"\s+", "", text)
        for name, text in _DECLARATION.findall(style)
    }
    if tag_name.lower() == "font" and "color" in attributes:
        rules.setdefault("color", attributes["color"].lower())
    return rules


def _is_invisible(rules: dict[str, str], plain: bool) -> bool:
    colour = rules.get("color", "")
    if not colour:
        return False
    ground = rules.get("backgroundcolor") or rules.get("background") or ""
    same = _canonical(colour) == _canonical(ground or ("white" if plain else ""))
    return same or _NO_ALPHA.fullmatch(colour) is not None


def _canonical(colour: str) -> str:
    return "white" if colour in _WHITE else colour


def _within(position: int, spans: Sequence[Span]) -> bool:
    """Whether one of these sorted spans contains the position."""
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return index >= 0 and position < spans[index][1]


def _annotation(scanner: TagScanner, tag: HtmlTag) -> Hidden | None:
    """Return an annotation to the first closing tag; None if it is never closed."""
    closing = f"</{tag.name}>"
    end = scanner.find(closing, tag.end)
    return Hidden(tag.start, end + len(closing)) if end > 0 else None


def _element(source: str, scanner: TagScanner, tag: HtmlTag) -> Hidden:
    """Return an element with its content: to its closing tag, or to where a browser ends it."""
    if tag.void or tag.name.lower() in VOID_NAMES:
        return Hidden(tag.start, tag.end)
    _, end = scanner.element_end(tag, len(source))
    if end > 0:
        return Hidden(tag.start, end)
    if tag.name.lower() in _OPTIONAL_END_TAG:
        blank = _BLANK_LINE.search(source, tag.end)
        return Hidden(tag.start, blank.start() if blank else len(source))
    return Hidden(tag.start, len(source), closed=False)
