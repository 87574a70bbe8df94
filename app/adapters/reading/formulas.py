"""Formulas of a page as TeX: KaTeX, MathJax 2 to 4, arithmatex, pandoc's spans and MathML."""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from lxml.html import HtmlElement

TAG = "x-tex"
"""The element that stands for a formula in a tree; its text is TeX, `display` is "1" or "0"."""

_DELIMITED = re.compile(
    r"(?:\((?P<number>[\w.]+)\)\W?\s*)?"
    r"(?:\$\$(?P<dollars>.*)\$\$|\\\[(?P<display>.*)\\\]|\\\((?P<inline>.*)\\\)|\$(?P<dollar>[^$]+)\$)",
    re.DOTALL,
)
"""A formula between marks; before it the number that Sphinx shows beside it."""
FORMULA = re.compile(
    r"\\\((?P<inline>(?:(?!\\\().)+?)\\\)|\\\[(?P<display>(?:(?!\\\[).)+?)\\\]"
    r"|\$\$(?P<dollars>[^$]+)\$\$"
    r"|(?P<environment>\\begin\{(?P<name>(?:equation|eqnarray|align|gather|multline)\*?)\}"
    r"(?:(?!\\begin\{(?P=name)\}).)+?\\end\{(?P=name)\})",
    re.DOTALL,
)
_TEX = re.compile(r"[-/]tex\b")
"""In the type of what is TeX."""
_COMMENT = re.compile(r"(?<!\\)%")
"""Begins a TeX comment, which would hide the rest; Markdown removes the backslash of `\\%`."""
_MATHML = tomllib.loads(Path(__file__).with_name("mathml.toml").read_text("utf-8"))
"""TeX of elements of MathML."""


def delimited(text: str) -> Iterator[tuple[str, bool, str]]:
    r"""Yield what MathJax typesets in a text: `\(…\)`, `\[…\]`, `$$…$$`, `\begin{align}…`.

    Each is its TeX, whether it is displayed, and the text behind it; the first one is no formula.
    """
    at, tex, display = 0, "", False
    for found in FORMULA.finditer(text):
        yield tex, display, text[at : found.start()]
        at, display = found.end(), found["inline"] is None
        tex = _COMMENT.sub(r"\\%", " ".join(found[found.lastgroup or 0].split()))
    yield tex, display, text[at:]


def mark_formulas(
    content: HtmlElement, formulas: Iterable[HtmlElement], displayed: Collection[HtmlElement]
) -> None:
    """Replace each of the formulas below `content` by an element `TAG` with its TeX."""
    done: set[HtmlElement] = set()
    for element in formulas:
        parent = element.getparent()
        if element in done or element is content or parent is None:
            continue
        if (found := _tex_of(element)) is None:
            continue
        done.update(element.iter())
        tex, display = found
        is_displayed = display or element in displayed
        formula = parent.makeelement(TAG, {"display": "1" if is_displayed else "0"})
        formula.text = "".join(filter(str.isprintable, " ".join(tex.split())))
        formula.tail = element.tail
        if (ident := element.get("id") or parent.get("id")) and ident.isprintable():
            formula.set("id", ident)
        parent.replace(element, formula)


def _tex_of(element: HtmlElement) -> tuple[str, bool] | None:
    """Return the TeX and whether its marks display it; None if the element is no formula."""
    if (tex := _marked_tex(element)) is not None:
        return tex, False
    found = _DELIMITED.fullmatch(element.text_content().strip())
    if found is None:
        return None
    tag = rf" \tag{{{found['number']}}}" if found["number"] else ""
    return found[found.lastgroup or 0] + tag, found.lastgroup in ("dollars", "display")


def _marked_tex(element: HtmlElement) -> str | None:
    """Return the TeX that a typesetter keeps beside its output, or that of MathML."""
    for one in element.iter("annotation", "script"):
        if _TEX.search(one.get("encoding") or one.get("type") or ""):
            return one.text or ""
    latex = next(filter(None, (one.get("data-latex") for one in element.iter())), None)
    math = next(element.iter("math"), None)
    if latex is not None or math is None:
        return latex
    return math.get("alttext") or _tex_of_mathml(math)


def _tex_of_mathml(element: HtmlElement) -> str:
    tag = str(element.tag).rpartition(":")[2]
    parts = [_tex_of_mathml(one) for one in element if isinstance(one.tag, str)]
    if template := _MATHML.get(str(len(parts)), {}).get(tag):
        return str(template).format(*parts)
    text = element.text_content() if tag == "mtext" else " ".join((element.text or "").split())
    own = "".join(_MATHML["symbols"].get(one, one) for one in text)
    inside = _MATHML["between"].get(tag, "").join(parts) or own
    return str(_MATHML["around"].get(tag, "{}")).format(inside)
