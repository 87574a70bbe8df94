"""Bibliographies and lists of links, which are not quoted in answers."""

from __future__ import annotations

import re

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind

_NAMES_WORK = re.compile(
    r"\b(?:1[5-9]|20)\d\d\b|https?://|\bdoi\b|\bisbn\b|\barxiv\b|\bpp?\.\s?\d|\bet al\b", re.I
)
_BEGINS_ENTRY = re.compile(
    r"[\s*\u2022-]*(?:\[?\d{0,4}[\].)]?\s+)?[^\W\d_][\w'\u2019-]+, (?:[^\W\d_]\.[ -]?){1,4}"
)
"""A surname and initials: "12. Sutton, R. S."."""
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d[a-z]?\b")
_LEADS_ON = re.compile(
    r"\W*(?:see also|see more|next steps?|what'?s next|further (?:information|reading|resources)"
    r"|related (?:pages|articles|topics)|learn more|more (?:information|resources)|external links"
    r"|siehe auch|weiterführende links|véase también|lecturas adicionales|voir aussi"
    r"|ver também|vedi anche)\W*",
    re.IGNORECASE,
)
"""Headings of lists of links."""
_LEAST_SHARE = 0.5
"""A list or paragraph is a bibliography if more than this share of its lines are works."""
_LINKED = 0.6
"""A reference whose source has a lower share of text, in characters, counts as a link to a work."""


def is_bibliographic(passage: Passage) -> bool:
    """Whether the paragraph names works: by its section, or because its entries begin with authors.

    Prose in a section of references, such as advice on what to read first, does not count.
    """
    if passage.kind is BlockKind.REFERENCE:
        return names_work(passage.text, passage.end - passage.start)
    if passage.kind not in (BlockKind.PARAGRAPH, BlockKind.LIST):
        return False
    lines = passage.text.split("\n")
    entries = [line for line in lines if _BEGINS_ENTRY.match(line) and _YEAR.search(line)]
    return len(entries) > _LEAST_SHARE * len(lines)


def only_leads_on(passage: Passage) -> bool:
    """Whether the paragraph is a list or line of links below a heading such as "See also"."""
    below = any(map(_LEADS_ON.fullmatch, passage.heading_path[-1:]))
    return below and (passage.kind is BlockKind.LIST or "." not in passage.text)


def names_work(text: str, written: int) -> bool:
    """Whether a text names or links a work; `written` is the length of its source."""
    return len(text) < _LINKED * written or _NAMES_WORK.search(text) is not None
