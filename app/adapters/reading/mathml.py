"""MathML as TeX: fractions, roots, scripts and tables keep their structure."""

from __future__ import annotations

from lxml.html import HtmlElement

_SYMBOLS = {"\u2061": "", "\u2062": "", "\u2063": "", "\u2212": "-", "\u00a0": " "}
_TEMPLATES = {
    "mfrac": r"\frac{{{}}}{{{}}}",
    "mroot": r"\sqrt[{1}]{{{0}}}",
    "msub": "{{{}}}_{{{}}}",
    "msup": "{{{}}}^{{{}}}",
    "msubsup": "{{{}}}_{{{}}}^{{{}}}",
    "munder": "{{{}}}_{{{}}}",
    "mover": "{{{}}}^{{{}}}",
    "munderover": "{{{}}}_{{{}}}^{{{}}}",
}
"""TeX of elements with a fixed number of children."""
_CHILDREN = dict.fromkeys(_TEMPLATES, 2) | {"msubsup": 3, "munderover": 3}
_AROUND = {
    "msqrt": r"\sqrt{{{}}}",
    "mtr": r"{} \\ ",
    "mtable": r"\begin{{matrix}}{}\end{{matrix}}",
    "mtext": r"\text{{{}}}",
    "mfenced": "({})",
}
"""TeX of all children."""
_BETWEEN = {"mtr": " & ", "mfenced": ", "}


def tex_of_mathml(element: HtmlElement) -> str:
    """Return an element of MathML as TeX."""
    tag = str(element.tag).rpartition(":")[2]
    if tag in ("annotation", "annotation-xml"):
        return ""
    parts = [tex_of_mathml(one) for one in element if isinstance(one.tag, str)]
    if len(parts) == _CHILDREN.get(tag):
        return _TEMPLATES[tag].format(*parts)
    text = element.text_content() if tag == "mtext" else " ".join((element.text or "").split())
    own = "".join(_SYMBOLS.get(one, one) for one in text)
    return _AROUND.get(tag, "{}").format(_BETWEEN.get(tag, "").join(parts) or own)
