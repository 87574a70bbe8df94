"""MathML as TeX: fractions, roots, scripts and tables keep their structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lxml.html import HtmlElement

_SYMBOLS = {"\u2061": "", "\u2062": "", "\u2063": "", "\u2212": "-", "\u00a0": " "}
_TEMPLATES = {
    "mfrac": r"\frac{%s}{%s}",
    "msub": "{%s}_{%s}",
    "msup": "{%s}^{%s}",
    "msubsup": "{%s}_{%s}^{%s}",
    "munder": "{%s}_{%s}",
    "mover": "{%s}^{%s}",
    "munderover": "{%s}_{%s}^{%s}",
}
_ROOT = 2
"""Children of a root with a degree."""


def tex_of_mathml(element: HtmlElement) -> str:
    """Return an element of MathML as TeX."""
    tag = str(element.tag).rpartition(":")[2]
    if tag in ("annotation", "annotation-xml"):
        return ""
    parts = [tex_of_mathml(one) for one in element if isinstance(one.tag, str)]
    if tag in _TEMPLATES and len(parts) == _TEMPLATES[tag].count("%s"):
        return _TEMPLATES[tag] % tuple(parts)
    if tag in _RULES:
        return _RULES[tag](element, parts)
    return "".join(parts) or _symbols(element)


def _symbols(element: HtmlElement) -> str:
    text = " ".join((element.text or "").split())
    return "".join(_SYMBOLS.get(one, one) for one in text)


def _root(_: HtmlElement, parts: Sequence[str]) -> str:
    if len(parts) == _ROOT:
        return rf"\sqrt[{parts[1]}]{{{parts[0]}}}"
    return rf"\sqrt{{{''.join(parts)}}}"


def _fenced(element: HtmlElement, parts: Sequence[str]) -> str:
    return f"{element.get('open', '(')}{', '.join(parts)}{element.get('close', ')')}"


_RULES: Mapping[str, Callable[[HtmlElement, Sequence[str]], str]] = {
    "msqrt": lambda _, parts: rf"\sqrt{{{''.join(parts)}}}",
    "mroot": _root,
    "mtr": lambda _, parts: " & ".join(parts) + r" \\ ",
    "mtable": lambda _, parts: rf"\begin{{matrix}}{''.join(parts)}\end{{matrix}}",
    "mtext": lambda element, _: rf"\text{{{element.text_content()}}}",
    "mspace": lambda *_: " ",
    "mfenced": _fenced,
}
