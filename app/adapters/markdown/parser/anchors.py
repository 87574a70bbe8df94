"""Heading anchors as each site generator makes them.

Checked against cases made by the generators themselves: Docusaurus 3 (github-slugger 1.5.0),
MkDocs (Python-Markdown's toc extension; pymdownx slugify), Sphinx and Jupyter Book (docutils ids),
MyST's extra heading targets, pandoc (also as GFM) and mdBook.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.adapters.markdown.parser.markup import Dialect
from app.domain.fast_dataclass import fast_dataclass

# Each is matched at the last bracket of its kind in a heading.
_BRACE_ID = re.compile(r"\{#(?P<id>[^{}\s]+)\}\s*$")
# `{/* #id */}` of Docusaurus and `{/*id*/}` of other MDX sites; `{/* note */}` is a comment.
_COMMENT_ID = re.compile(r"\{/\*(?:\s*#)?(?P<id>[\w-]+)\s*\*/\}\s*$")
_BRACKET_ID = re.compile(r"\[\[(?P<id>[^\[\]\s]+)\]\]\s*$")
_ATTRIBUTES = re.compile(r"\{:?(?P<list>[ \t]*+(?:[#.:\w][^{}]*)?)\}\s*$")
_LIST_ID = re.compile(r"(?:^|\s)(?:#|id=\"?)(?P<id>[^\s\"}]+)")


@fast_dataclass(frozen=True, slots=True)
class HeadingSource:
    """A heading's inline source without the mark-up that gives its id."""

    content: str
    explicit_id: str = ""


@dataclass(frozen=True, slots=True)
class SlugPolicy:
    """What of a heading's inline content goes into the text that a slug is made of."""

    images: bool = False
    """Alternative text of images."""
    expressions: bool = False
    """The source of `{expressions}`, JSX comments included."""
    math: str = "tex"
    """"tex": without delimiters; "raw": with them; "": left out."""
    strip: bool = True


def heading_source(content: str, dialect: Dialect) -> HeadingSource:
    """Split an explicit id, in any notation the dialect knows, from a heading's content."""
    patterns: list[re.Pattern[str]] = []
    if dialect.mdx:
        patterns.append(_BRACE_ID)
    if dialect.mdx or dialect.foreign_ids:
        patterns.append(_COMMENT_ID)
    if dialect.foreign_ids:
        patterns.append(_BRACKET_ID)
    for pattern in patterns:
        last = content.rfind("[[" if pattern is _BRACKET_ID else "{")
        match = pattern.match(content, last) if last >= 0 else None
        if match:
            return HeadingSource(content[:last].rstrip(), match["id"])
    if (dialect.kramdown or dialect.attribute_lists) and content.endswith("}"):
        last = max(content.rfind("{"), 0)
        match = _ATTRIBUTES.match(content, last)
        if match:
            found = _LIST_ID.search(match["list"])
            before = content[:last].rstrip()
            if dialect.mkdocs:
                before = before.rstrip("#").rstrip()  # so does Python-Markdown's attr_list
            return HeadingSource(before, found["id"] if found else "")
    return HeadingSource(content)


class Slugger:
    """Gives the headings of one page their anchors, in order."""

    def __init__(self, style: SlugStyle) -> None:
        self._style = style
        self._used: dict[str, int] = {}

    @property
    def policy(self) -> SlugPolicy:
        return self._style.policy

    def anchor(self, text: str, level: int, explicit_id: str = "") -> str:
        """Return the anchor of the page's next heading; "" where the generator makes none."""
        style = self._style
        if explicit_id:
            if style.registers_explicit:
                self._used.setdefault(explicit_id, 0)
            return "" if level == 1 and style.title_has_none else explicit_id
        slug = style.unique(style.slug(text), self._used)
        return "" if level == 1 and style.title_has_none else slug


Unique: TypeAlias = Callable[[str, dict[str, int]], str]


@dataclass(frozen=True, slots=True)
class SlugStyle:
    """One generator's way from a heading's text to its anchor."""

    slug: Callable[[str], str]
    unique: Unique
    policy: SlugPolicy = SlugPolicy()
    registers_explicit: bool = False
    title_has_none: bool = False


# --- github-slugger -----------------------------------------------------------------------------

_NOT_GITHUB = re.compile(r"[^\w\- ]")


def _is_github(character: str) -> bool:
    """Letters, marks, decimal and letter numbers, connectors and other alphabetic symbols."""
    category = unicodedata.category(character)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or character in _ALPHABETIC_SYMBOLS


_ALPHABETIC_SYMBOLS = frozenset(
    [chr(code) for code in range(0x24B6, 0x24EA)]
    + [chr(code) for code in range(0x1F130, 0x1F14A)]
    + [chr(code) for code in range(0x1F150, 0x1F16A)]
    + [chr(code) for code in range(0x1F170, 0x1F18A)]
)


def github_slug(text: str) -> str:
    """github-slugger 1.5.0: lower case, a fixed set of characters dropped, spaces to `-`."""
    lowered = text.lower()
    if lowered.isascii():
        return _NOT_GITHUB.sub("", lowered).replace(" ", "-")
    kept = [char for char in lowered if char in "- " or _is_github(char)]
    return "".join(kept).replace(" ", "-")


def _unique_github(base: str, used: dict[str, int]) -> str:
    slug = base
    while slug in used:
        used[base] += 1
        slug = f"{base}-{used[base]}"
    used[slug] = 0
    return slug


# --- Python-Markdown ----------------------------------------------------------------------------

_NOT_MKDOCS = re.compile(r"[^\w\s-]")
_COUNTED = re.compile(r"^(.*)_([0-9]{1,18})$")
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def mkdocs_slug(text: str) -> str:
    """`markdown.extensions.toc.slugify`: folded to ASCII."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", _NOT_MKDOCS.sub("", folded).strip().lower())


def pymdownx_slug(text: str) -> str:
    """`pymdownx.slugs.slugify(case="lower")`: Unicode kept."""
    collapsed = " ".join(text.split())
    plain = _HTML_TAG.sub("", unicodedata.normalize("NFC", collapsed)).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _unique_mkdocs(base: str, used: dict[str, int]) -> str:
    if base and base not in used:
        used[base] = 0
        return base
    match = _COUNTED.match(base)
    stem, first = (match[1], int(match[2])) if match else (base, 0)
    reached = f"\0{base}"
    number = used.get(reached, first) + 1
    while f"{stem}_{number}" in used:
        number += 1
    used[f"{stem}_{number}"], used[reached] = 0, number
    return f"{stem}_{number}"


# --- docutils -----------------------------------------------------------------------------------

_DIGRAPHS = {0xDF: "sz", 0xE6: "ae", 0x153: "oe", 0x238: "db", 0x239: "qp"}
_STROKED = dict(
    zip(
        (ord(char) for char in "øđħıłŧƀƃƈƌƒƙƚƞƥƫƭƴƶǥȥȴȵȶȷȼȿɀɇɉɋɍɏ"),
        "odhiltbbcdfklnpttyzgzlntjcszejqry",
        strict=True,
    )
)


def docutils_slug(text: str) -> str:
    """`docutils.nodes.make_id`."""
    lowered = text.lower().translate(_DIGRAPHS).translate(_STROKED)
    folded = unicodedata.normalize("NFKD", lowered).encode("ascii", "ignore").decode("ascii")
    dashed = re.sub(r"[^a-z0-9]+", "-", " ".join(folded.split()))
    return re.sub(r"^[-0-9]+|-+$", "", dashed)


def _unique_docutils(base: str, used: dict[str, int]) -> str:
    slug = base
    while not slug or slug in used:
        used["\0id"] = used.get("\0id", 0) + 1
        slug = f"id{used[chr(0) + 'id']}"
    used[slug] = 0
    return slug


def myst_slug(text: str) -> str:
    """MyST-Parser's `default_slugify`, made for `heading_anchors` beside the docutils id."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _unique_counted(base: str, used: dict[str, int]) -> str:
    slug, count = base, 0
    while slug in used:
        count = max(count, used[base]) + 1
        slug = f"{base}-{count}"
    used[base] = count if base in used else 0
    used.setdefault(slug, 0)
    return slug


def _unique_myst(base: str, used: dict[str, int]) -> str:
    return _unique_counted(base, used) if base else ""


# --- pandoc -------------------------------------------------------------------------------------

_SMART = ((re.compile(r"(?<!-)---(?!-)"), "—"), (re.compile(r"(?<!-)--(?!-)"), "–"))


def pandoc_slug(text: str) -> str:
    """Pandoc's `auto_identifiers`: words joined by `-`, all before the first letter dropped."""
    for pattern, dash in _SMART:
        text = pattern.sub(dash, text)
    kept = "".join(
        char for char in text.lower() if char.isalnum() or char in "_-." or char.isspace()
    )
    joined = "-".join(kept.split())
    first = next((index for index, char in enumerate(joined) if char.isalpha()), len(joined))
    return joined[first:] or "section"


def pandoc_gfm_slug(text: str) -> str:
    """Pandoc's `gfm_auto_identifiers`: as GitHub, but emoji are spelled out."""
    spelled = "".join(_emoji_name(char) for char in " ".join(text.split()).lower())
    return "".join(
        "-" if char.isspace() else char
        for char in spelled
        if char.isalnum() or char in "_-" or char.isspace() or unicodedata.category(char)[0] == "M"
    )


def _emoji_name(character: str) -> str:
    if unicodedata.category(character) == "So" and ord(character) >= 0x1F000:
        return unicodedata.name(character, "").lower().replace(" ", "_")
    return character


def _unique_pandoc_gfm(base: str, used: dict[str, int]) -> str:
    count = used.get(base, -1) + 1
    used[base] = count
    return f"{base}-{count}" if count else base


# --- mdBook -------------------------------------------------------------------------------------


def mdbook_slug(text: str) -> str:
    """As mdBook's `normalize_id`: alphanumerics, `_` and `-` kept, each white space to `-`."""
    kept = [
        "-" if char.isspace() else char
        for char in text.lower()
        if char in "_-" or char.isspace() or char.isalnum() or _is_alphabetic_mark(char)
    ]
    return "".join(kept) or "section"


_ALPHABETIC_MARKS = frozenset(
    chr(code)
    for first, last in (
        (0x345, 0x345), (0x363, 0x36F), (0x610, 0x617), (0x653, 0x657), (0x659, 0x65F),
        (0x6D6, 0x6DC), (0x6E1, 0x6E8), (0x6ED, 0x6ED), (0xC55, 0xC56), (0xE38, 0xE3A),
    )
    for code in range(first, last + 1)
)  # fmt: skip
_ODD_MARKS = re.compile(
    "[\u0300-\u036f\u0610-\u0617\u0653-\u065f\u06d6-\u06ed\u0c55\u0c56\u0e38-\u0e3a\u0e47\u0e4c\u0e4e"
    "\u0ecc\ufe00-\ufe0f]"
)
"""Where the combining class alone does not tell."""


def _is_alphabetic_mark(character: str) -> bool:
    """Vowel signs count as alphabetic; viramas, nuktas and accents do not."""
    if unicodedata.category(character) not in ("Mn", "Mc"):
        return False
    if _ODD_MARKS.match(character):
        return character in _ALPHABETIC_MARKS
    order = unicodedata.combining(character)
    return order == 0 or 10 <= order <= 35


DOCUSAURUS = SlugStyle(
    github_slug,
    _unique_github,
    SlugPolicy(images=True, expressions=True, strip=False),
    title_has_none=True,
)
GITHUB = SlugStyle(github_slug, _unique_github, SlugPolicy(images=True))
MKDOCS = SlugStyle(mkdocs_slug, _unique_mkdocs, SlugPolicy(math="raw"), registers_explicit=True)
PYMDOWNX = SlugStyle(pymdownx_slug, _unique_mkdocs, SlugPolicy(math="raw"), registers_explicit=True)
SPHINX = SlugStyle(docutils_slug, _unique_docutils)
MYST_EXTRA = SlugStyle(myst_slug, _unique_myst, SlugPolicy(math="", strip=False))
PANDOC = SlugStyle(pandoc_slug, _unique_counted, SlugPolicy(images=True), registers_explicit=True)
PANDOC_GFM = SlugStyle(pandoc_gfm_slug, _unique_pandoc_gfm, SlugPolicy(images=True))
MDBOOK = SlugStyle(mdbook_slug, _unique_counted, registers_explicit=True)
