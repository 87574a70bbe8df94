"""Pages of a site whose text stands on other pages: the whole book on one page, and long copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from app.adapters.reading.page_facts import PageFacts

_SHARE = 0.9
"""Part of its texts that other pages have. The rest is what only a page of the whole has."""
_FEWEST = 10
"""Texts of a page that is taken for one of other pages."""


def repeated_pages(pages: Sequence[PageFacts], listed: Collection[str]) -> Iterator[str]:
    """Yield the files of the pages whose texts are those of pages that stay.

    Of copies one stays, if any is in the table of contents, one of these. A listed page stays if
    another page alone has half of its texts, as two guides that differ in a few steps.
    """
    pages_with = Counter(text for page in pages for text in page.paragraphs)
    for page in sorted(pages, key=lambda one: (one.file in listed, -len(one.paragraphs))):
        own = page.paragraphs
        repeated = sum(pages_with[text] > 1 for text in own)
        if len(own) < _FEWEST or repeated < _SHARE * len(own):
            continue
        others = (one.paragraphs for one in pages if page.file in listed and one is not page)
        if not any(2 * len(own & other) > len(own) for other in others):
            pages_with.subtract(own)
            yield page.file
