"""Pages of a site whose text stands on other pages: the whole book on one page, and copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

_SHARE = 0.9
"""Part of a page's texts that other pages have. The rest is what only a page of all has."""
_FEWEST = 10
"""Texts of a page of the table of contents that is taken for one of other pages."""


def repeated_pages(texts: Mapping[str, frozenset[int]], listed: Collection[str]) -> Iterator[str]:
    """Yield the files whose texts are those of pages that stay.

    Of copies one stays, if any of them is listed, a listed one. A listed page is repeated only if
    no other page alone has half of its texts: two guides that differ in a few steps both stay.
    """
    pages_with = Counter(text for own in texts.values() for text in own)
    for file in sorted(texts, key=lambda file: (file in listed, -len(texts[file]))):
        own = texts[file]
        repeated = [text for text in own if pages_with[text] > 1]
        if not own or len(repeated) < _SHARE * len(own):
            continue
        if file in listed:
            most = max(len(own & other) for name, other in texts.items() if name != file)
            if len(own) < _FEWEST or 2 * most > len(own):
                continue
        pages_with.subtract(own)
        yield file
