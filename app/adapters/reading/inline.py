"""Running text of an element, as a reader sees it and as a text fragment may quote it."""

import re

from lxml.html import HtmlElement

from app.adapters.reading.drafts import BEGIN, EDGE, END, GAP, Draft, plain, unshown
from app.adapters.reading.formulas import TAG as FORMULA
from app.adapters.reading.formulas import delimited
from app.adapters.reading.tree import Tree
from app.domain.document import BlockKind, Figure

_BREAK = "\x04"
_AROUND_BREAK = re.compile(r" ?\x04 ?")
_SUPERSCRIPTS = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_EXPONENT = re.compile(r"[+\u2212-]?[0-9]+|[^\W\d_]")
_BASE = re.compile(r"(?:\d|\)|(?<![^\W_])[^\W\d_])$")
"""The end of a text that an exponent may follow: a digit, a bracket or a letter alone."""
MAX_TERM_WORDS = 6
"""A longer emphasised phrase is not a term."""
UNKNOWN = "x-unknown"
"""Element for a place that only the site's generator can resolve."""
_BLOCKISH = frozenset("p div li td th dd dt section article figure h1 h2 h3 h4 h5 h6 pre".split())


def inline(nodes: HtmlElement | list[HtmlElement | str], tree: Tree) -> Draft:
    """Return the running text of an element, or of a run of texts and elements, as a paragraph.

    Its figure is the first image, whose address may be "".
    """
    reading = _Reading(tree)
    if isinstance(nodes, list):
        for node in nodes:
            reading.text(node) if isinstance(node, str) else reading.element(node)
    else:
        reading.children(nodes)
    return reading.result()


class _Reading:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._out: list[str] = []
        self._terms: dict[str, None] = {}
        self._image: Figure | None = None
        self._last_picture = ""
        self._in_code = False

    def text(self, text: str | None) -> None:
        if not text:
            return
        if self._in_code or not ("\\" in text or "$$" in text):
            self._out.append(text)
            return
        for tex, display, behind in delimited(text):
            self._formula(tex, display=display)
            self._out.append(behind)

    def children(self, element: HtmlElement) -> None:
        outer = self._in_code
        self._in_code = outer or element.tag in ("code", "pre")
        self.text(element.text)
        for child in element:
            self.element(child)
            self.text(child.tail)
        self._in_code = outer

    def element(self, element: HtmlElement) -> None:
        """Add an element's text, without what follows it."""
        tag = element.tag
        if tag == "br":
            self._out.append(_BREAK)
        elif tag == FORMULA:
            self._formula(element.text or "", display=element.get("display") == "1")
        elif tag == "img":
            self._picture(element)
        elif self._tree.has("checkbox", element):
            self._shown("☐" if element.get("checked") is None else "☑")
            self._out.append(" ")
        elif tag == UNKNOWN or self._tree.has("footnote_mark", element):
            self._out.append(GAP)
        elif tag == "sup" and self._is_exponent(element):
            self._shown(_raised((element.text or "").strip()))
        elif tag in _BLOCKISH:
            self._out.append(" ")
            self.children(element)
            self._out.append(" ")
        elif self._tree.has("sidenote", element):
            self._out.append(unshown(" ("))
            self.children(element)
            self._out.append(unshown(")"))
        elif self._tree.has("term", element):
            self._term(element)
        else:
            self.children(element)

    def _picture(self, element: HtmlElement) -> None:
        """Add an image's texts, once if the page has a light and a dark variant of it."""
        src, alt, title = ((element.get(name) or "").strip() for name in ("src", "alt", "title"))
        folder, _, name = alt.rpartition("/")
        if (folder or "." in name.strip(".")) and name and src.endswith(name):
            alt = ""  # a path that Sphinx or Texinfo wrote, or a file's name
        if alt and title.startswith(":"):
            title = ""  # an emoji's short code
        self._image = self._image or Figure(src, alt, title)
        text = " ".join(filter(None, dict.fromkeys((alt, title))))
        if text != self._last_picture:
            self._shown(text)
        self._last_picture = text

    def _is_exponent(self, element: HtmlElement) -> bool:
        """Whether a raised text is an exponent: "n" and a raised "2" are not "n2"."""
        before = next((one for one in reversed(self._out) if one), "")
        is_number = _EXPONENT.fullmatch((element.text or "").strip()) is not None
        return is_number and not len(element) and _BASE.search(before[-2:]) is not None

    def _formula(self, tex: str, *, display: bool) -> None:
        mark = "$$" if display else "$"
        if tex:
            self._shown(f"{mark}{tex}{mark}")

    def _shown(self, text: str) -> None:
        self._out.append(f"{BEGIN}{text}{END}" if text else GAP)

    def _term(self, element: HtmlElement) -> None:
        before = len(self._out)
        self.children(element)
        text = plain("".join(self._out[before:])).strip()
        if text and text.count(" ") < MAX_TERM_WORDS:
            self._terms[text.rstrip(":.")] = None

    def result(self) -> Draft:
        text = " ".join("".join(self._out).split())
        if not text.isprintable():
            text = text.replace(f"{BEGIN} ", f" {BEGIN}").replace(f" {END}", f"{END} ").strip()
            text = _without_loose_gaps(text).replace(f" {GAP} ", f"{EDGE} {EDGE}")
            text = _AROUND_BREAK.sub("\n", text).strip()
        return Draft(BlockKind.PARAGRAPH, text, terms=tuple(self._terms), figure=self._image)


def _without_loose_gaps(text: str) -> str:
    """Remove gaps at the ends of a text that a blank separates from its words."""
    inner = text.strip(f" {GAP}")
    before, _, behind = text.partition(inner) if inner else ("", "", "")
    return before.rpartition(" ")[2] + inner + behind.partition(" ")[0]


def _raised(exponent: str) -> str:
    return f"^{exponent}" if exponent.isalpha() else exponent.translate(_SUPERSCRIPTS)
