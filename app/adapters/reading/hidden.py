"""Which elements of a page its own attributes hide from readers. Style sheets are not read."""

from __future__ import annotations

import re

from lxml.html import HtmlElement
from lxml.html.defs import tags as HTML_TAGS  # noqa: N812 - a constant

_ZERO = r"0*\.?0*(?:[a-z]+|%)?"
_HIDING = re.compile(
    rf"display:none|visibility:(?:hidden|collapse)|(?:fontsize|opacity):{_ZERO}|color:(?:transparent"
    r"|#\w{6}00|#\w{3}0|(?:rgba?|hsla?)\(.*[,/;]0*\.?0*%?\))"
)
"""A declaration of a style, without dashes and blanks."""
_WHITE = re.compile(r"white|#(?:f{3,4}|f{6}|f{8})|rgb\(255[,;]255[,;]255\)")
_DECLARATION = re.compile(r"[^;(]*(?:\([^)]*\))?[^;]*")
_SWITCHED = re.compile(r"(?:^|[\s_-])(?:tab(?!le)|collaps|toggle)")
"""In the class or role of content that a reader opens: tabs, accordions."""


def drop_hidden(content: HtmlElement) -> list[str]:
    """Drop what readers do not see; return the texts that a style hides.

    White text counts as hidden only if its element has no class and no style of the page names a
    background.
    """
    found = content.xpath(".//*[@style or @hidden or self::font]")
    plain = not any("background" in (one.get("style") or "") for one in found)
    texts = []
    for element in [one for one in found if _is_hidden(one, plain=plain)]:
        if not _by_attribute(element):
            texts.append(" ".join(element.text_content().split()))
        if element.getparent() is not None:
            element.drop_tree()
    return [text for text in texts if text]


def _is_hidden(element: HtmlElement, *, plain: bool) -> bool:
    if _SWITCHED.search(f"{element.get('class') or ''} {element.get('role') or ''}"):
        return False
    return _by_attribute(element) or _by_style(element, on_white=plain and not element.get("class"))


def _by_attribute(element: HtmlElement) -> bool:
    """Whether it is hidden by the attribute, which may mean something else on a component."""
    return element.get("hidden") in ("", "hidden", "true") and element.tag in HTML_TAGS


def _by_style(element: HtmlElement, *, on_white: bool) -> bool:
    style = f"{element.get('style') or ''};color:{element.get('color') or ''}".lower()
    dense = re.sub(r"!\s*important|[\s-]", "", style)
    rules = [one for one in _DECLARATION.findall(dense) if one]
    if any(map(_HIDING.fullmatch, rules)):
        return True
    values = dict(one.partition(":")[::2] for one in reversed(rules))
    colour = values.get("color", "")
    ground = values.get("backgroundcolor") or values.get("background") or ""
    if _WHITE.fullmatch(colour):
        return bool(_WHITE.fullmatch(ground)) if ground else on_white
    return bool(colour) and colour == ground
