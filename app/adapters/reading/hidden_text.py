"""Text that is not meant for readers: hidden by a page's own attributes, or said to a model.

Style sheets are not read. A book about prompting may quote prompt injections, so they stay in the
text; an ingest warns with the line.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from lxml.html import HtmlElement
from lxml.html.defs import tags as HTML_TAGS  # noqa: N812 - a constant

from app.domain.document import SourceWarning

_ZERO = r"(?:0+\.?0*|\.0+)(?:[a-z]+|%)?"
_HIDING = re.compile(
    rf"display:none|visibility:(?:hidden|collapse)|(?:fontsize|opacity):{_ZERO}|color:(?:transparent"
    rf"|#\w{{6}}00|#\w{{3}}0|(?:rgba?|hsla?)\((?:(?:[^,;]*[,;]){{3}}|[^/]*/){_ZERO}\))"
)
"""A declaration of a style, without dashes and blanks."""
_WHITE = re.compile(r"white|#(?:f{3,4}|f{6}|f{8})|rgb\(255[,;]255[,;]255\)")
_DECLARATION = re.compile(r"[^;(]*(?:\([^)]*\))?[^;]*")
_SWITCHED = re.compile(r"(?:^|[\s_-])(?:tab(?!le)|collaps|toggle)")
"""In the class or role of content that a reader opens: tabs, accordions."""
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
"""The flag of a subdivision, such as Scotland."""
_SIGNS = tomllib.loads(Path(__file__).with_name("injections.toml").read_text("utf-8"))
_PATTERNS = {what: (words, re.compile(sign, re.X)) for what, (words, sign) in _SIGNS.items()}
"""What a text does -> words, of which it must have one, and a pattern; both for lower case."""
_LONGEST = 60
"""Characters of the text that a warning quotes."""


def drop_hidden(content: HtmlElement) -> list[str]:
    """Drop what readers do not see; return the texts that a style hides.

    White text counts as hidden only if its element has no class and no style of the page names a
    background.
    """
    found = content.xpath(".//*[@style or @hidden or self::font]")
    plain = not any("background" in (one.get("style") or "") for one in found)
    texts = []
    for element in found:
        if _SWITCHED.search(f"{element.get('class') or ''} {element.get('role') or ''}"):
            continue
        # The attribute may mean something else on a component.
        hidden = element.get("hidden") in ("", "hidden", "true") and element.tag in HTML_TAGS
        if not hidden and _by_style(element, on_white=plain and not element.get("class")):
            texts.append(" ".join(element.text_content().split()))
            hidden = True
        if hidden and element.getparent() is not None:
            element.drop_tree()
    return texts


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


def prompt_injections(text: str, file: str) -> Iterator[SourceWarning]:
    """Yield a warning of each kind of injection in the text, with its first line."""
    text = text.lower()  # patterns that ignore the case take twice the time
    for meaning, (words, pattern) in _PATTERNS.items():
        signs = pattern.finditer(text) if any(map(text.__contains__, words)) else ()
        found = [one for one in signs if not _FLAG.fullmatch(one[0])]
        if found:
            said = " ".join(found[0][0].split())[:_LONGEST]
            quoted = f'"{said}"' if said.isprintable() else ascii(said)
            more = f", and {len(found) - 1:,} more in this file" if found[1:] else ""
            message = f"the text {meaning} ({quoted}){more}: it may be meant for a language model"
            yield SourceWarning(message, file, text.count("\n", 0, found[0].start()) + 1)
