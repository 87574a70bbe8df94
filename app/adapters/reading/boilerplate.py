"""Text that a site shows around the content of most pages, such as a note on cookies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from app.domain.document import Block, BlockKind, Document

_FEWEST = 8
"""Pages from which on a text is said to be on most of them."""
_EDGE = 4
"""Blocks at the beginning and at the end of a page."""


def without_boilerplate(pages: Sequence[Document]) -> tuple[list[Document], int]:
    """Leave out the first and last blocks that more than half of the pages have word for word.

    Returns the pages and the number of blocks left out. A page keeps its title, code, and what
    introduces other text; one of nothing else is left as it is.
    """
    if len(pages) < _FEWEST:
        return [*pages], 0
    counts = Counter(text for page in pages for text in _edge_texts(page.blocks))
    common = {text for text, count in counts.items() if 2 * count > len(pages)}
    kept = [
        replace(page, blocks=tuple(_inner(page.blocks, common)) or page.blocks) for page in pages
    ]
    return kept, sum(len(page.blocks) for page in pages) - sum(len(one.blocks) for one in kept)


def _edge_texts(blocks: Sequence[Block]) -> set[str]:
    edges = (*blocks[: _EDGE + 1], *blocks[-_EDGE:])
    return {one.text for one in edges if one.kind is not BlockKind.CODE}


def _inner(blocks: Sequence[Block], common: Collection[str]) -> Sequence[Block]:
    """Return the blocks without the common ones before, but for the title, and behind."""
    is_own = [one.text not in common for one in blocks]
    if not any(is_own):
        return ()
    title = blocks[0].kind is BlockKind.HEADING and is_own[0]
    first = is_own.index(True, title) if any(is_own[title:]) else title
    while first > title and _introduces(blocks[first - 1]):
        first -= 1
    last = len(blocks) - is_own[::-1].index(True)
    return [*blocks[:title], *blocks[first:last]]


def _introduces(block: Block) -> bool:
    return block.kind is BlockKind.HEADING or block.text.endswith(":")
