"""Text that a site shows around the content of most pages, such as a note on cookies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from app.adapters.reading.documents import PageDraft
from app.adapters.reading.drafts import Draft
from app.domain.document import BlockKind

_FEWEST = 8
"""Pages from which on a text is said to be on most of them."""
_EDGE = 4
"""Blocks at the beginning and at the end of a page."""


def without_boilerplate(pages: Sequence[PageDraft]) -> tuple[list[PageDraft], int]:
    """Leave out the first and last blocks that more than half of the pages have word for word.

    Returns the pages and the number of blocks left out. A page keeps its title, code, and what
    introduces other text; one of nothing else is left as it is.
    """
    if len(pages) < _FEWEST:
        return [*pages], 0
    counts = Counter(text for page in pages for text in _edge_texts(page.drafts))
    common = {text for text, count in counts.items() if 2 * count > len(pages)}
    kept = [replace(page, drafts=_inner(page.drafts, common) or page.drafts) for page in pages]
    return kept, sum(len(page.drafts) for page in pages) - sum(len(one.drafts) for one in kept)


def _edge_texts(drafts: Sequence[Draft]) -> set[str]:
    edges = (*drafts[: _EDGE + 1], *drafts[-_EDGE:])
    return {one.text for one in edges if one.kind is not BlockKind.CODE}


def _inner(drafts: Sequence[Draft], common: Collection[str]) -> Sequence[Draft]:
    """Return the blocks without the common ones before, but for the title, and behind."""
    is_own = [one.text not in common for one in drafts]
    if not any(is_own):
        return ()
    title = drafts[0].kind is BlockKind.HEADING and is_own[0]
    first = is_own.index(True, title) if any(is_own[title:]) else title
    while first > title and _introduces(drafts[first - 1]):
        first -= 1
    last = len(drafts) - is_own[::-1].index(True)
    return [*drafts[:title], *drafts[first:last]]


def _introduces(draft: Draft) -> bool:
    return draft.kind is BlockKind.HEADING or draft.text.endswith(":")
