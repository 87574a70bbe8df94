"""Formulas of a page as TeX: KaTeX, MathJax 2 to 4, arithmatex, pandoc's spans and MathML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml.html import HtmlElement

from app.adapters.reading.mathml import tex_of_mathml

TAG = "x-tex"
"""The element that stands for a formula in a tree; its text is TeX, `display` is "1" or "0"."""

_DELIMITED = re.compile(
    r"^\s*(?:\$\$(?P<a>.*)\$\$|\\\[(?P<b>.*)\\\]|\\\((?P<c>.*)\\\)|\$(?P<d>[^$]+)\$)\s*$", re.DOTALL
)
_WHOLE = re.compile(
    r"\\\((?P<inline>(?:(?!\\\().)+?)\\\)|\\\[(?P<display>(?:(?!\\\[).)+?)\\\]", re.DOTALL
)
_COMMENT = re.compile(r"(?<!\\)%")
"""Begins a TeX comment, which would hide the rest; Markdown removes the backslash of `\\%`."""
_NUMBER = re.compile(r"\(([\w.]+)\)")


def mark_formulas(content: HtmlElement, formulas: Iterable[HtmlElement]) -> None:
    """Replace each of the formulas below `content` by an element `TAG` with its TeX."""
    done: set[HtmlElement] = set()
    for element in formulas:
        if element in done or element is content or element.getparent() is None:
            continue
        if (found := _tex_of(element)) is not None:
            done.update(element.iter())
            _replace(element, *found)
    if _has_delimiters(content.text_content()):
        _mark_delimited(content)


def _tex_of(element: HtmlElement) -> tuple[str, bool] | None:
    """Return the TeX and whether it is displayed; None if the element is no formula."""
    classes = f" {element.get('class') or ''} "
    display = (
        element.get("display") in ("true", "block")
        or any(word in classes for word in ("katex-display", " display "))
        or (element.tag in ("div", "p") and (" math " in classes or " arithmatex " in classes))
        or any("mode=display" in (one.get("type") or "") for one in element.iter("script"))
        or any(one.get("display") == "block" for one in element.iter("math"))
    )
    tex = _marked_tex(element)
    if tex is not None:
        return tex, display
    tag = _tag(element)
    found = _DELIMITED.match(element.text_content())
    if found is None:
        return None
    tex = next(part for part in found.groups() if part is not None) + tag
    return tex, display or found["a"] is not None or found["b"] is not None


def _marked_tex(element: HtmlElement) -> str | None:
    """Return the TeX that a typesetter keeps beside its output, or that of MathML."""
    for note in element.iter("annotation"):
        if (note.get("encoding") or "").endswith("tex"):
            return note.text or ""
    for script in element.iter("script"):
        if "tex" in (script.get("type") or ""):
            return script.text or ""
    latex = next(filter(None, (one.get("data-latex") for one in element.iter())), None)
    math = next(element.iter("math"), None)
    if latex is not None or math is None:
        return latex
    return math.get("alttext") or tex_of_mathml(math)


def parent_of(element: HtmlElement) -> HtmlElement:
    """Return the element around one that is not the root."""
    parent = element.getparent()
    if parent is None:
        message = "the root of a tree has no parent"
        raise ValueError(message)
    return parent


def _tag(element: HtmlElement) -> str:
    """Return the number that Sphinx shows beside a formula as TeX, and remove its element."""
    number = next(iter(element.find_class("eqno")), None)
    if number is None:
        return ""
    found = _NUMBER.search(number.text_content())
    number.drop_tree()
    return rf" \tag{{{found[1]}}}" if found else ""


def _replace(element: HtmlElement, tex: str, display: bool) -> None:
    tail, parent = element.tail, parent_of(element)
    formula = parent.makeelement(TAG, {"display": "1" if display else "0"})
    formula.text, formula.tail = "".join(filter(str.isprintable, " ".join(tex.split()))), tail
    if (ident := element.get("id") or parent.get("id")) and ident.isprintable():
        formula.set("id", ident)
    parent.replace(element, formula)


def _has_delimiters(text: str) -> bool:
    return r"\(" in text or r"\[" in text


def _mark_delimited(element: HtmlElement) -> None:
    r"""Replace `\(…\)` and `\[…\]` in the text of an element, which MathJax typesets in place."""
    for node in list(element.iter()):
        if node.tag in ("pre", "code", TAG) or not isinstance(node.tag, str):
            continue
        _mark_text(node)
        for child in list(node):
            _mark_tail(child)


def _mark_text(node: HtmlElement) -> None:
    if node.text and _has_delimiters(node.text):
        before, formulas = _split(node, node.text)
        node.text = before
        for at, formula in enumerate(formulas):
            node.insert(at, formula)


def _mark_tail(child: HtmlElement) -> None:
    if child.tail and _has_delimiters(child.tail):
        parent = parent_of(child)
        before, formulas = _split(parent, child.tail)
        child.tail = before
        at = parent.index(child) + 1
        for shift, formula in enumerate(formulas):
            parent.insert(at + shift, formula)


def _split(parent: HtmlElement, text: str) -> tuple[str, list[HtmlElement]]:
    """Return the text before the first formula, and the formulas with the texts behind them."""
    formulas: list[HtmlElement] = []
    before, at = text, 0
    for found in _WHOLE.finditer(text):
        between = text[at : found.start()]
        if formulas:
            formulas[-1].tail = between
        else:
            before = between
        display = found["display"] is not None
        formula = parent.makeelement(TAG, {"display": "1" if display else "0"})
        tex = " ".join((found["display"] if display else found["inline"]).split())
        formula.text = _COMMENT.sub(r"\\%", tex)
        formulas.append(formula)
        at = found.end()
    if formulas:
        formulas[-1].tail = text[at:]
    return before, formulas
