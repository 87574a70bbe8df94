"""Similarity of paragraphs by the 5-grams of their normalised text, for the ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from app.domain.ledger import Entry, LedgerParagraph

GRAM = 5
SAME_HEADING_BONUS = 0.03
# A 5-gram shared by more paragraphs does not identify an edited one, and comparing them all would
# make matching quadratic in the size of the book.
COMMON_GRAM = 40


def similar_pairs(
    news: Iterable[tuple[int, LedgerParagraph]], olds: Sequence[Entry], threshold: float
) -> Iterator[tuple[float, int, Entry]]:
    """Yield (score, new, entry) for pairs that share a rare 5-gram and reach the threshold."""
    if not olds:
        return
    holders, sizes = _holders(olds)
    common = _common_grams(holders, len(olds))
    for new, paragraph in news:
        mine = _grams(paragraph.text)
        found = [holders[gram] for gram in mine if gram in holders]
        rare = [each for each in found if len(each) <= COMMON_GRAM]
        for i, shared in Counter(chain.from_iterable(rare)).items():
            bonus = SAME_HEADING_BONUS * (paragraph.heading_path == olds[i].paragraph.heading_path)
            size = len(mine) + sizes[i]
            # An upper bound: most pairs are rejected without comparing their common 5-grams.
            most = shared + min(len(found) - len(rare), len(common[i]))
            if 2 * most / size + bonus < threshold:
                continue
            score = 2 * (shared + len(common[i] & mine)) / size + bonus
            if score >= threshold:
                yield score, new, olds[i]


def _holders(entries: Sequence[Entry]) -> tuple[dict[str, list[int]], list[int]]:
    """5-gram to the positions of its entries, and the number of 5-grams of each entry."""
    holders: dict[str, list[int]] = defaultdict(list)
    sizes: list[int] = []
    for place, entry in enumerate(entries):
        grams = _grams(entry.paragraph.text)
        sizes.append(len(grams))
        for gram in grams:
            holders[gram].append(place)
    return holders, sizes


def _common_grams(holders: Mapping[str, Sequence[int]], entries: int) -> list[set[str]]:
    """The 5-grams of each entry that more than COMMON_GRAM entries have."""
    common: list[set[str]] = [set() for _ in range(entries)]
    for gram, holding in holders.items():
        if len(holding) > COMMON_GRAM:
            for i in holding:
                common[i].add(gram)
    return common


def _grams(text: str) -> frozenset[str]:
    if len(text) <= GRAM:
        return frozenset((text,))
    return frozenset(text[i : i + GRAM] for i in range(len(text) - GRAM + 1))
