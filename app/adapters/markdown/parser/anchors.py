"""Heading ids and anchors: the part that all dialects share.

`tests/unit/test_anchors.py` checks each dialect's `STYLE` against anchors
that its site generator made.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.adapters.markdown.parser.dialect import Dialect
from app.domain.fast_dataclass import fast_dataclass

# The first characters of a notation, and its pattern: tried at their last occurrence in a heading.
BRACE_ID = "{", re.compile(r"\{#(?P<id>[^{}\s]+)\}\s*$")
"""`# Title {#id}`"""
COMMENT_ID = "{", re.compile(r"\{/\*(?:\s*#)?(?P<id>[\w-]+)\s*\*/\}\s*$")
"""`# Title {/* #id */}` (Docusaurus), `# Title {/*id*/}`; `{/* a note */}` is a comment."""
BRACKET_ID = "[[", re.compile(r"\[\[(?P<id>[^\[\]\s]+)\]\]\s*$")
"""`# Title[[id]]`"""
_ATTRIBUTES = re.compile(r"\{:?(?P<list>[ \t]*+(?:[#.:\w][^{}]*)?)\}\s*$")
_LIST_ID = re.compile(r"(?:^|\s)(?:#|id=\"?)(?P<id>[^\s\"}]+)")


@fast_dataclass(frozen=True, slots=True)
class HeadingSource:
    """A heading's inline source and its explicit id, separated."""

    content: str
    explicit_id: str = ""


@dataclass(frozen=True, slots=True)
class SlugPolicy:
    """Which inline content of a heading is part of its slug."""

    images: bool = False
    """Alternative text of images."""
    raw_math: bool = False
    """Whether formulas keep their delimiters."""
    strip: bool = True
    rewrite: Callable[[str], str] = str
    """Applied to running text, for typographic quotes and the like."""


def heading_source(content: str, dialect: Dialect) -> HeadingSource:
    """Split an explicit id, in any notation of the dialect, from a heading's content."""
    for opening, pattern in dialect.heading_ids:
        last = content.rfind(opening)
        match = pattern.match(content, last) if last >= 0 else None
        if match:
            return HeadingSource(content[:last].rstrip(), match["id"])
    if not dialect.attribute_lists or not content.endswith("}"):
        return HeadingSource(content)
    last = max(content.rfind("{"), 0)
    match = _ATTRIBUTES.match(content, last)
    if match is None or content[:last].endswith("\\"):
        return HeadingSource(content)
    found = _LIST_ID.search(match["list"])
    before = content[:last].rstrip()
    if dialect.closing_hashes:
        before = before.rstrip("#").rstrip()
    return HeadingSource(before, found["id"] if found else "")


class Slugger:
    """Makes the anchors of one page's headings, in order."""

    def __init__(self, style: SlugStyle) -> None:
        self._style = style
        self._used: dict[str, int] = {}

    @property
    def policy(self) -> SlugPolicy:
        return self._style.policy

    @property
    def term_ids(self) -> bool:
        return self._style.term_ids

    def reserve(self, anchor: str) -> None:
        """Take an anchor that an element other than a heading has."""
        if anchor:
            self._used.setdefault(anchor, 0)

    def anchor(self, text: str, level: int, explicit_id: str = "") -> str:
        """Return the anchor of the page's next heading; "" if the generator makes none."""
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
    """How a generator makes anchors from headings."""

    slug: Callable[[str], str]
    unique: Unique
    policy: SlugPolicy = SlugPolicy()
    registers_explicit: bool = False
    term_ids: bool = False
    """Whether terms of definition lists get anchors as headings do."""
    title_has_none: bool = False


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


def unique_github(base: str, used: dict[str, int]) -> str:
    slug = base
    while slug in used:
        used[base] += 1
        slug = f"{base}-{used[base]}"
    used[slug] = 0
    return slug


GITHUB = SlugStyle(github_slug, unique_github, SlugPolicy(images=True))
JUPYTER = SlugStyle(
    lambda text: text.replace(" ", "-"), lambda base, _used: base, SlugPolicy(raw_math=True)
)
"""Jupyter, nbconvert, nbsphinx: headings with the same text have the same id."""
