"""Ids of headings, as each site generator makes them from their texts."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias
from unicodedata import category, combining, normalize

from markdown_it.token import Token

from app.adapters.reading.markdown.unresolved import UNRESOLVED
from app.domain.document import Site

Slug: TypeAlias = Callable[[str], str]
"""Makes an id of a text."""
_OWN_ID = re.compile(
    r"\s*(?:\{:?\s*#([^\s{}]++)[^{}]*+\}|\{/\*\s*#([\w-]+)\s*\*/\}|\[\[([^\[\]\s]+)\]\]|\[#([\w-]+)\])"
    r"\s*$"
)
_SPELLED = str.maketrans(
    {"ß": "sz", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "ł": "l"}
)
"""Letters that docutils transliterates."""
_NO_TEXT = frozenset({"html_inline", "footnote_ref"})
"""Tokens of a heading that are not in its id; images and expressions are in Docusaurus's."""
_KEPT = ("L", "M", "Nd", "Nl", "Pc")
"""Categories of letters that GitHub keeps."""


def _github(text: str) -> str:
    """github-slugger 1.5.0: lower case, a fixed set of characters dropped, spaces to `-`."""
    kept = (one for one in text.lower() if one in "- " or category(one).startswith(_KEPT))
    return "".join(kept).replace(" ", "-")


def _mdbook(text: str) -> str:
    """mdBook: letters, digits, `_` and `-` in lower case; each blank is `-`."""
    kept = filter(_mdbook_keeps, text.strip().lower())
    return "".join("-" if one.isspace() else one for one in kept) or "section"


def _mdbook_keeps(letter: str) -> bool:
    vowel_sign = category(letter) in ("Mn", "Mc") and not combining(letter)
    return letter.isalnum() or letter in "_-" or letter.isspace() or vowel_sign


def _ascii(text: str) -> str:
    return normalize("NFKD", text).encode("ascii", "ignore").decode()


def _python_markdown(text: str) -> str:
    """Python-Markdown's `toc`: folded to ASCII."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", _ascii(text)).strip().lower())


def _docutils(text: str) -> str:
    """Docutils' `make_id`: ASCII letters and digits, other runs are one `-`."""
    spelled = _ascii(text.lower().translate(_SPELLED))
    return re.sub(r"[^a-z0-9]+", "-", spelled).strip("-").lstrip("0123456789-")


def _mystmd(text: str) -> str:
    """The ids of mystmd begin with a letter; other letters than ASCII's are a `-`."""
    kept = re.sub(r"[^a-z0-9]+", "-", re.sub(r"['‘’\"“”]", "", text.strip().lower()))
    return re.sub(r"^(?=[\d-])", "id-", kept).replace("--", "-").strip("-")


_STYLES: dict[Site, tuple[Slug, str]] = {
    Site.DOCUSAURUS: (_github, "{}-{}"),
    Site.PLAIN: (_github, "{}-{}"),
    Site.MDBOOK: (_mdbook, "{}-{}"),
    Site.MKDOCS: (_python_markdown, "{}_{}"),
    Site.MYST: (_docutils, "id{1}"),
}
"""The id of a text, and of another heading of the same text: of the first id and a number."""


def ids_of(site: Site, url: str) -> tuple[Slug, str]:
    """Return how the ids of a page are made: of a text, and of another heading of the same text.

    Addresses of mystmd have no ending.
    """
    is_mystmd = site is Site.MYST and url and not url.endswith(".html")
    return (_mystmd, "{}-{}") if is_mystmd else _STYLES[site]


def heading_ids(tokens: Sequence[Token], site: Site, slug: Slug, again: str) -> None:
    """Set the id of each heading, and remove the author's own from its text."""
    left_out = _NO_TEXT if site is Site.DOCUSAURUS else _NO_TEXT | {UNRESOLVED, "image"}
    # Where an empty id counts as taken, a heading without letters is only the number.
    used = {} if again == "{}-{}" else {"": 0}
    target = ""
    for opening, inline in pairwise(tokens):
        if opening.type == "myst_target":
            target = slug(str(opening.content))
        elif opening.type == "heading_open":
            own = str(opening.attrs.pop("id", "")) or ("" if site is Site.MYST else _own_id(inline))
            text = _text(inline.children or [], left_out)
            anchor = own or target or _unique(slug(text), used, again)
            if anchor and (opening.tag != "h1" or site is not Site.DOCUSAURUS):
                opening.attrSet("id", anchor)
        if opening.type not in ("myst_target", "inline"):
            target = ""


def _unique(slug: str, used: dict[str, int], again: str) -> str:
    made, counted = slug, slug if again != "id{1}" else ""
    while made in used:
        used[counted] += 1
        made = again.format(slug, used[counted])
    used[made] = 0
    return made


def _own_id(inline: Token) -> str:
    """Return the id written at the end of a heading, and remove it."""
    last = inline.children[-1] if inline.children else None
    found = _OWN_ID.search(last.content) if last and last.type in ("text", UNRESOLVED) else None
    if last is None or found is None:
        return ""
    last.content = last.content[: found.start()]
    return str(found[found.lastindex or 0])


def _text(children: Sequence[Token], left_out: frozenset[str]) -> str:
    """Return the text of a heading: that of links, emphasis and code, and of images."""
    return "".join(
        _text(one.children or [], left_out) if one.type == "image" else one.content
        for one in children
        if one.type not in left_out
    )
