"""Which elements of a page its own attributes hide from readers. Style sheets are not read."""

from __future__ import annotations

import re

from lxml.html import HtmlElement
from lxml.html.defs import tags as HTML_TAGS  # noqa: N812 - a constant

_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*((?:[^;,{}()]|\([^()]*\))+)")
_ZERO = re.compile(r"0*\.?0*(?:[a-z]+|%)?")
_NO_ALPHA = re.compile(r"transparent|#\w{6}00|#\w{3}0|(?:rgba?|hsla?)\(.*[,/]0*\.?0*%?\)")
_WHITE = frozenset({"white", "#fff", "#ffff", "#ffffff", "#ffffffff", "rgb(255,255,255)"})
_SWITCHED = re.compile(r"(?:^|[\s_-])(?:tab(?!le)|collaps|toggle)")
"""In the class or role of content that a reader opens: tabs, accordions."""


def hidden_elements(content: HtmlElement) -> list[tuple[HtmlElement, bool]]:
    """Return the hidden elements, each with whether it is its style that hides it.

    White text counts as hidden only if its element has no class and no style of the page names a
    background.
    """
    found = content.xpath(".//*[@style or @hidden or self::font]")
    plain = not any("background" in (one.get("style") or "") for one in found)
    return [(one, not _by_attribute(one)) for one in found if _is_hidden(one, plain=plain)]


def _is_hidden(element: HtmlElement, *, plain: bool) -> bool:
    if _SWITCHED.search(f"{element.get('class') or ''} {element.get('role') or ''}"):
        return False
    return _by_attribute(element) or _by_style(element, plain=plain)


def _by_attribute(element: HtmlElement) -> bool:
    """Whether it is hidden by the attribute, which may mean something else on a component."""
    return element.get("hidden") in ("", "hidden", "true") and element.tag in HTML_TAGS


def _by_style(element: HtmlElement, *, plain: bool) -> bool:
    rules = _rules(element)
    if rules.get("display") == "none" or rules.get("visibility") in ("hidden", "collapse"):
        return True
    if any(_ZERO.fullmatch(rules.get(name, "1")) for name in ("fontsize", "opacity")):
        return True
    return _is_invisible(rules, plain=plain and not element.get("class"))


def _rules(element: HtmlElement) -> dict[str, str]:
    """Return the properties of the element's style, without dashes and blanks."""
    style = re.sub(r"!\s*important", "", (element.get("style") or "").lower())
    rules = {
        name.replace("-", ""): re.sub(r"\s+", "", text)
        for name, text in _DECLARATION.findall(style)
    }
    if element.tag == "font":
        rules.setdefault("color", (element.get("color") or "").lower())
    return rules


def _is_invisible(rules: dict[str, str], *, plain: bool) -> bool:
    colour = rules.get("color", "")
    ground = rules.get("backgroundcolor") or rules.get("background") or ("white" if plain else "")
    if not colour:
        return False
    return _canonical(colour) == _canonical(ground) or _NO_ALPHA.fullmatch(colour) is not None


def _canonical(colour: str) -> str:
    return "white" if colour in _WHITE else colour
