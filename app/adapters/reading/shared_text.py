"""Text that pages share: a whole book on one page, copies, what most pages begin or end with."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import ceil

from app.adapters.reading.page_facts import PageFacts
from app.domain.characters import counted
from app.domain.document import Block, BlockKind, Document, SourceWarning

_SHARE = 0.9
"""Part of a page's texts that other pages have. The rest is what only a page of the whole has."""
_FEWEST_TEXTS = 10
"""Texts of a page that is taken for one of other pages."""
_COPIES = 3
"""Most pages that have a text of the whole book; more have one that classes inherit."""
_FEWEST = 8
"""Pages from which on a text is said to be on most of them."""
_EDGE = 12
"""Blocks at the beginning and at the end of a page."""


def repeated_pages(pages: Sequence[PageFacts], listed: Collection[str]) -> Iterator[str]:
    """Yield the files whose texts are on other pages: of a page of the whole book, or of a copy.

    Pages of the table of contents that share most texts with one other, such as two guides that
    differ in a few steps, stay.
    """
    holders: dict[int, list[PageFacts]] = defaultdict(list)
    for page in pages:
        for text in page.paragraphs:
            holders[text].append(page)
    pages_with = {text: len(held) for text, held in holders.items()}
    for page in sorted(pages, key=lambda one: (one.file in listed, -len(one.paragraphs))):
        own = page.paragraphs
        most = _SHARE * len(own)
        if len(own) < _FEWEST_TEXTS or sum(pages_with[text] > 1 for text in own) < most:
            continue
        # Whoever has most of the texts has one of the few rarest.
        rarest = sorted(own, key=lambda text: len(holders[text]))[: len(own) - ceil(most) + 1]
        near = {one.file: one.paragraphs for text in rarest for one in holders[text]}
        others = [texts for file, texts in near.items() if file != page.file]
        copied = sum(pages_with[text] <= _COPIES for text in own) > len(own) / 2
        repeated = copied or any(own <= one for one in others)
        if repeated and not (page.file in listed and any(len(own & one) >= most for one in others)):
            for text in own:
                pages_with[text] -= 1
            yield page.file


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
    message = f"{counted(count, 'blocks')} left out that most pages begin or end with"
    named = [_retitled(page, common) for page in kept]
    return named, [SourceWarning(message, pages[0].file, 0)] if count else []


def _retitled(page: Document, common: Collection[str]) -> Document:
    """Name a page by the first heading of its own, if its title is the site's name above it."""
    own = next((one.text for one in page.blocks if one.level and one.text not in common), "")
    if not own or page.title not in common or page.file.startswith("index."):
        return page
    chapter = own if page.chapter == page.title else page.chapter
    return replace(page, title=own, chapter=chapter).below(own)


def _text(block: Block) -> str:
    return "" if block.kind is BlockKind.CODE else block.text


def _inner(blocks: Sequence[Block], common: Collection[str]) -> tuple[Block, ...]:
    """Return the blocks without the common ones before, but for the title, and behind.

    Common headings introduce the text, but for the site's name above a heading.
    """
    own = [at for at, block in enumerate(blocks) if _text(block) not in common]
    if not own:
        return ()
    title = int(own[0] == 0 and blocks[0].level > 0)
    first = next((at for at in own if at >= title), title)
    top = title if title or not blocks[first].level else first
    while first > top and (blocks[first - 1].level or blocks[first - 1].text.endswith(":")):
        first -= 1  # it introduces the text
    return (*blocks[:title], *blocks[first : own[-1] + 1])
