"""Code of a page: its text without line numbers, and its language."""

import re
from itertools import islice, pairwise, takewhile

from lxml.html import HtmlElement

from app.adapters.reading.drafts import GAP

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:(?:language|lang|highlight|src|hl)-|brush:\s?|sourceCode\s|(?=Agda\b))([\w+#.-]+)"
)
"""Classes that name a language: those of pandoc are "sourceCode python"."""
_NO_LANGUAGE = (
    "text plaintext none default source highlight console-output output txt nohighlight "
    "plain wrapper notranslate myst-ansi ipythontb ipynb sourcecode numbersource".split()
)
_OTHER_NAMES = dict.fromkeys(_NO_LANGUAGE, "") | {"ipython3": "python", "ipython": "python"}
_ABOVE = 3
"""Elements around the code's outermost one that may name its language."""


def code_text(pre: HtmlElement) -> str:
    """Return the code as a browser shows it, with marks, without blank lines at its ends."""
    # Lines that are elements are lines of it. What is inside of them comes first.
    pairs = pairwise(pre.xpath(".//span[@class='line']"))
    spans = [one for one, other in pairs if one.getnext() is other and not one.tail]
    for one in reversed([*pre.iterdescendants("br", "div", "p", "li", "tr"), *spans]):
        ends = one.tag == "br" or one.getnext() is not None
        if ends and not str(one.text_content()).endswith("\n"):
            behind = one.tail or ""
            one.tail = "\n" + (behind if pre.tag == "pre" else behind.lstrip("\n"))
    lines = [line.rstrip() for line in pre.text_content().replace("\u00a0", " ").split("\n")]
    shown = [at for at, line in enumerate(lines) if line.strip(GAP)]
    return "\n".join(lines[shown[0] : shown[-1] + 1]) if shown else ""


def code_language(pre: HtmlElement, outer: HtmlElement) -> str:
    """Return the language in a class of the code or of an element around it; "" if none."""
    code = pre.find(".//code")
    inside = takewhile(lambda one: one is not outer, pre.iterancestors())
    above = islice(outer.iterancestors(), _ABOVE)
    for element in (pre, *([code] if code is not None else []), *inside, outer, *above):
        named = element.get("data-lang") or element.get("data-language") or ""
        for given in (named, *_LANGUAGE.findall(element.get("class") or "")):
            if name := _OTHER_NAMES.get(given.lower(), given.lower()):
                return str(name)
    return ""
