"""Text that a site shows around the content of most pages, such as a note on cookies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain

from app.domain.document import Block, BlockKind, Document, SourceWarning

_FEWEST = 8
"""Pages from which on a text is said to be on most of them."""
_EDGE = 4
"""Blocks at the beginning and at the end of a page."""


def without_boilerplate(
    pages: Sequence[Document],
) -> tuple[Sequence[Document], list[SourceWarning]]:
    """Leave out the first and last blocks that more than half of the pages have word for word.

    Returns the pages, and a warning with the number of blocks left out. A page keeps its title,
    code, and what introduces other text; one of nothing else is left as it is.
    """
    if len(pages) < _FEWEST:
        return pages, []
    edges = (
        {*map(_text, page.blocks[: _EDGE + 1]), *map(_text, page.blocks[-_EDGE:])} for page in pages
    )
    counts = Counter(chain.from_iterable(edges))
    common = {text for text, count in counts.items() if text and 2 * count > len(pages)}
    kept = [replace(page, blocks=_inner(page.blocks, common) or page.blocks) for page in pages]
    count = sum(len(page.blocks) for page in pages) - sum(len(one.blocks) for one in kept)
    message = f"{count:,} blocks left out that most pages begin or end with"
    return kept, [SourceWarning(message, pages[0].file, 0)] if count else []


def _text(block: Block) -> str:
    return "" if block.kind is BlockKind.CODE else block.text


def _inner(blocks: Sequence[Block], common: Collection[str]) -> tuple[Block, ...]:
    """Return the blocks without the common ones before, but for the title, and behind."""
    own = [at for at, block in enumerate(blocks) if _text(block) not in common]
    if not own:
        return ()
    title = int(own[0] == 0 and blocks[0].kind is BlockKind.HEADING)
    first = next((at for at in own if at >= title), title)
    while first > title and _introduces(blocks[first - 1]):
        first -= 1
    return (*blocks[:title], *blocks[first : own[-1] + 1])


def _introduces(block: Block) -> bool:
    return block.kind is BlockKind.HEADING or block.text.endswith(":")
