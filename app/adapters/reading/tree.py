"""Parses a page's HTML, bounded and without anything that a reader does not see; marks its tags."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape, unescape
from itertools import chain

import lxml.html
from lxml import etree
from lxml.html import HtmlElement

from app.adapters.reading.drafts import GAP, NO_SPAN, plain
from app.adapters.reading.formulas import mark_formulas
from app.adapters.reading.hidden_text import drop_hidden
from app.adapters.reading.themes import Roles, Theme
from app.domain.document import Span
from app.domain.errors import FileRefused

MAX_BYTES = 50_000_000
"""Largest page that is read."""
_HUGE = 10_000_000
"""Bytes of a page for which lxml's own limits on a tree are lifted."""
_TOO_DEEP = f"boolean({'/*' * 257})"
"""XPath: whether an element is nested over 256 deep."""
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_LATIN_1 = re.compile(rb"iso-?8859-1|latin-?1|(?:us-)?ascii", re.I)
"""Encodings that browsers read as Windows-1252."""
_REFERENCE = re.compile(r"&#(?:[xX][\da-fA-F]+|\d+);?", re.ASCII)
_LONGEST_REFERENCE = 20
_CONTROL = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
"""Controls that lxml refuses in what the program writes, besides the form feed."""
_UNCLOSED = re.compile(r"(<(d[dt])\b[^<]*+(?:<(?!/?d[dtl]\b)[^<]*+)*+)(?=<\2\b)", re.I)
"""A term or definition that the next one ends in a browser; lxml nests them."""
_IN_HEADING = re.compile(r"(<h[1-6]\b[^<>]*>)\s*<p\b[^<>]*>", re.I)
"""A heading that begins with a paragraph, before which lxml ends it."""
_FORMATTING = re.compile(r"</?(?:b|i|u|font|span)\b[^<>]*>")
INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rp rt"
    " ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
"""Every other element begins and ends a block. A text fragment cannot cross a block."""
SPAN = "data-span"
"""Attribute with the source span of an element that is rendered from Markdown: "start:end"."""
_GENERATED_ID = re.compile(
    r"^(?:id|index-|__\w+|cell-id|tab(?:set)?-?|radix-|:r|MathJax|(?:user-content-)?fnref|DOCF|FOOT\d|fr-\d|cb\d"
    r"|(?:user-content-)?(?:fn|footnotes?)(?:[:-]?\d|$)|\d+$|(?:exercise|solution)-content)\S*$"
)
"""Ids that a generator numbers: they change with the page."""
_TAG = re.compile(
    rb"<(?:!--.*?(?:-->|\Z)"
    rb"|(?P<raw>script|style|textarea|title|xmp|iframe|noframes)(?=[\s/>]).*?(?:</(?P=raw)|\Z)"
    rb"|(?P<name>[a-z][^\s/>]*+)"
    rb"(?P<attributes>(?:[^>\"']++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+)(?P<end>>|\Z))",
    re.IGNORECASE | re.DOTALL,
)
"""A start tag, or what holds no tags: a comment, a script."""
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")
_ID = re.compile(rb"(?:^|[\s\"/])id\s*=", re.IGNORECASE)
_PAGE = frozenset({b"html", b"head", b"body", b"main", b"article"})
"""Elements that are no block, whatever text is directly in them."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A page's content without furniture, and what its elements are."""

    content: HtmlElement
    roles: Roles
    hidden: tuple[str, ...]
    """Texts that no reader sees, by an inline style."""

    def has(self, role: str, element: HtmlElement) -> bool:
        return element in self.roles[role]


def parse(html: bytes, file: str) -> HtmlElement:
    """Parse a page; no entity or other resource outside it is ever read.

    Its encoding is UTF-16 by its mark, UTF-8 if it is that, else the declared one, else
    Windows-1252. FileRefused if it is too large or too deeply nested.
    """
    if len(html) > MAX_BYTES:
        raise FileRefused(f"the page has over {MAX_BYTES // 1_000_000} MB", file)
    text = _UNCLOSED.sub(r"\1</\2>", _without_controls(_decoded(html).strip()))
    data = _IN_HEADING.sub(r"\1", text).encode("utf-8", "replace")
    # By these limits, a tree ends before a script, picture or text of 10 MB.
    is_huge = len(data) >= _HUGE
    parser = lxml.html.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=is_huge
    )
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=HtmlElement))
    try:
        root = lxml.html.document_fromstring(data, parser=parser, ensure_head_body=True)
    except etree.ParserError:  # the page has no element
        return parse(b"<p>", file)
    excessive = any("xcessive depth" in one.message for one in parser.error_log)
    if excessive or (is_huge and root.xpath(_TOO_DEEP)):
        raise FileRefused("its elements are nested over 256 deep", file)
    return root


def _decoded(html: bytes) -> str:
    declared = _CHARSET.search(html, 0, 4096)
    named = declared[1].decode() if declared and not _LATIN_1.fullmatch(declared[1]) else "cp1252"
    marked = "utf-16" if html.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    for encoding in (marked, named):
        try:
            return html.decode(encoding)
        except (LookupError, UnicodeError):
            continue
    return html.decode("latin-1")


def _without_controls(html: str) -> str:
    """Remove control characters, which the program uses as marks."""

    def shown(reference: re.Match[str]) -> str:
        char = unescape(reference[0][:_LONGEST_REFERENCE])
        is_text = char not in ("", "\f") and (char.isprintable() or char.isspace())
        return reference[0] if is_text and len(reference[0]) <= _LONGEST_REFERENCE else ""

    return _CONTROL.sub("", _REFERENCE.sub(shown, html)).replace("\f", " ")


def page_tree(content: HtmlElement, theme: Theme) -> Tree:
    """Return the content of a page, which is changed, without furniture."""
    roles = theme.roles_in(content)
    for console in roles["console"]:
        show_console(console)
    mark_formulas(content, roles["formula"], roles["displayed"])
    for element in roles["drop"]:
        if element is not content and element.getparent() is not None:
            _drop(element, is_shown=element not in roles["unshown"])
    for heading in roles["heading"]:
        _clear_own_links(heading)
    hidden = (plain(one).strip() for one in drop_hidden(content))
    return Tree(content, roles, tuple(filter(None, hidden)))


def show_console(console: HtmlElement) -> None:
    """Give code that a script shows as mark-up the text that it then has."""
    for code in console.iter("code"):
        text = unescape(_FORMATTING.sub("", code.text_content()))
        del code[:]
        code.text = text


def _clear_own_links(heading: HtmlElement) -> None:
    """Empty the sign that links to the heading: "#", "¶". Its element stays, for its id."""
    for link in heading.iter("a"):
        sign = link.text_content().strip()
        is_sign = "#" in (link.get("href") or "") and sign and not any(map(str.isalnum, sign))
        if is_sign and heading.text_content().strip() != sign:
            del link[:]
            link.text = None


def _drop(element: HtmlElement, *, is_shown: bool) -> None:
    if is_shown and element.text_content().strip():
        element.tail = GAP + (element.tail or "")
    element.drop_tree()


def own_id(element: HtmlElement) -> str:
    """Return the id that an author gave to an element; "" if it has none."""
    ident = element.get("id") or ""
    return "" if _GENERATED_ID.match(ident) else ident


def source_span(element: HtmlElement) -> Span:
    """Return the span of the innermost element that has one; NO_SPAN if none has."""
    for one in chain((element,), element.iterancestors()):
        start, _, end = (one.get(SPAN) or "").partition(":")
        if end:
            return int(start), int(end)
    return NO_SPAN


def marked(html: bytes, span: str = "") -> bytes:
    """Return HTML with a source span in each start tag: this, or the tag's place in bytes."""

    def mark(tag: re.Match[bytes]) -> bytes:
        if not tag["end"] or tag["name"].lower() in _PAGE:
            return tag[0]
        place = f' {SPAN}="{span or f"{tag.start()}:{tag.end()}"}"'.encode()
        return b"<" + tag["name"] + place + tag["attributes"] + b">"

    return _TAG.sub(mark, html)


def stamped(html: bytes, ids: Mapping[int, str]) -> tuple[bytes, int]:
    """Write the ids into the start tags at these places; return the page and how many are new.

    A tag that has an id keeps it.
    """
    new = 0

    def stamp(tag: re.Match[bytes]) -> bytes:
        nonlocal new
        ident = ids.get(tag.start()) if tag["end"] else None
        if ident is None or _ID.search(_QUOTED.sub(b'""', tag["attributes"])):
            return tag[0]
        new += 1
        return b"<" + tag["name"] + f' id="{escape(ident)}"'.encode() + tag["attributes"] + b">"

    return _TAG.sub(stamp, html), new
