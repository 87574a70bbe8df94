"""Formulas of a page as TeX: KaTeX, MathJax 2 to 4, arithmatex, pandoc's spans and MathML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lxml.html import HtmlElement

TAG = "x-tex"
"""The element that stands for a formula in a tree; its text is TeX, `display` is "1" or "0"."""

_DELIMITED = re.compile(
    r"^\s*(?:\$\$(?P<a>.*)\$\$|\\\[(?P<b>.*)\\\]|\\\((?P<c>.*)\\\)|\$(?P<d>[^$]+)\$)\s*$", re.DOTALL
)
_WHOLE = re.compile(
    r"\\\((?P<inline>(?:(?!\\\().)+?)\\\)|\\\[(?P<display>(?:(?!\\\[).)+?)\\\]", re.DOTALL
)
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
    if element.tag == "script":
        return element.text or "", "mode=display" in (element.get("type") or "")
    classes = f" {element.get('class') or ''} "
    display = (
        element.get("display") in ("true", "block")
        or any(word in classes for word in ("katex-display", " display ", "MathJax_Display"))
        or (element.tag in ("div", "p") and (" math " in classes or " arithmatex " in classes))
    )
    for note in element.iter("annotation"):
        if (note.get("encoding") or "").endswith("tex"):
            shown = any((m.get("display") == "block") for m in element.iter("math"))
            return note.text or "", display or shown
    script = next((one for one in element.iter("script") if "tex" in (one.get("type") or "")), None)
    if script is not None:
        return script.text or "", display or "mode=display" in (script.get("type") or "")
    math = element if element.tag == "math" else next(element.iter("math"), None)
    if math is not None:
        tex = math.get("alttext") or "".join(_mathml(math))
        return tex, display or math.get("display") == "block"
    found = _DELIMITED.match(element.text_content())
    if found is None:
        return None
    tex = next(part for part in found.groups() if part is not None)
    return tex, display or found["a"] is not None or found["b"] is not None


def _replace(element: HtmlElement, tex: str, display: bool) -> None:
    tail, parent = element.tail, element.getparent()
    formula = parent.makeelement(TAG, {"display": "1" if display else "0"})
    formula.text, formula.tail = "".join(filter(str.isprintable, " ".join(tex.split()))), tail
    if (ident := element.get("id") or parent.get("id")) and ident.isprintable():
        formula.set("id", ident)
    parent.replace(element, formula)


_SYMBOLS = {"\u2061": "", "\u2062": "", "\u2063": "", "\u2212": "-", "\u00a0": " "}


def _mathml(element: HtmlElement) -> Iterator[str]:
    """Yield MathML as TeX: fractions, roots, scripts and tables keep their structure."""
    children = [one for one in element if isinstance(one.tag, str)]
    parts = ["".join(_mathml(one)) for one in children]
    tag = str(element.tag).rpartition(":")[2]
    if tag in ("annotation", "annotation-xml"):
        return
    if tag in _TEMPLATES and len(parts) == _TEMPLATES[tag].count("%s"):
        yield _TEMPLATES[tag] % tuple(parts)
    elif tag == "msqrt":
        yield rf"\sqrt{{{''.join(parts)}}}"
    elif tag == "mtr":
        yield " & ".join(parts) + r" \\ "
    elif tag == "mtable":
        yield rf"\begin{{matrix}}{''.join(parts)}\end{{matrix}}"
    elif tag == "mtext":
        yield rf"\text{{{element.text_content()}}}"
    elif tag == "mspace":
        yield " "
    elif tag == "mfenced":
        opening, closing = element.get("open", "("), element.get("close", ")")
        yield f"{opening}{', '.join(parts)}{closing}"
    elif children:
        yield "".join(parts)
    else:
        text = " ".join((element.text or "").split())
        yield "".join(_SYMBOLS.get(one, one) for one in text)


_TEMPLATES = {
    "mfrac": r"\frac{%s}{%s}",
    "mroot": r"\sqrt{%s}^{1/{%s}}",
    "msub": "{%s}_{%s}",
    "msup": "{%s}^{%s}",
    "msubsup": "{%s}_{%s}^{%s}",
    "munder": "{%s}_{%s}",
    "mover": "{%s}^{%s}",
    "munderover": "{%s}_{%s}^{%s}",
}


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
        parent = child.getparent()
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
        formula.text = " ".join((found["display"] if display else found["inline"]).split())
        formulas.append(formula)
        at = found.end()
    if formulas:
        formulas[-1].tail = text[at:]
    return before, formulas

