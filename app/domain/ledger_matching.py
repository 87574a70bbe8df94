"""Matches the paragraphs of a book with its ledger, so that each keeps its id through edits.

First the author's id and long texts that occur once; they show which pages belong together. Then
equal texts on such pages, in the same section or beside a match; last similar texts, on such pages
or anywhere. A short or repeated text ("Exercises") does not tell where it came from.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from operator import attrgetter
from typing import TypeAlias

from app.domain.ledger import Entry, Ledger

SAME_PAGE_DICE, ANYWHERE_DICE, SAME_HEADING_BONUS = 0.5, 0.6, 0.03
"""Dice coefficients of 5-grams; measured best on years of the Rust Book and the Redux docs."""
SHORT = 24
"""UTF-8 bytes of normalised text: about five words, or eight Chinese characters."""
COMMON_GRAM = 40
"""A 5-gram with more holders counts as different: to compare all of them would be quadratic."""

_Sides: TypeAlias = tuple[list[Entry], list[Entry]]
_Key: TypeAlias = Callable[[Entry], Hashable]
_text = attrgetter("content_id")
_text_in_section = attrgetter("content_id", "heading_path")
_heading_path = attrgetter("heading_path")
_file = attrgetter("file")


def match(ledger: Ledger, paragraphs: Sequence[Entry]) -> dict[int, Entry]:
    """Match paragraphs, by their positions, with entries; each entry with at most one."""
    olds = sorted(ledger.entries.values(), key=lambda e: (not e.live, e.order, e.paragraph_id))
    live = [entry for entry in olds if entry.live]
    found = _Matching([replace(one, order=order) for order, one in enumerate(paragraphs)])
    for new in found.news:
        if new.author_id in ledger.entries:
            found.take(ledger.entries[new.author_id], new)
    found.take_equal(_unique(live), _unique(found.news), _text)
    for page in found.pages(live):
        found.take_equal(*page, _text_in_section, as_often=True)
    found.take_neighbours(live)
    found.take_equal(_unique(olds), _unique(found.news), _text)
    for page in found.pages(olds):
        found.take_equal(*page, _text_in_section)
        found.take_similar(*page, SAME_PAGE_DICE)
    found.take_similar(_unique(live), _unique(found.news), ANYWHERE_DICE)
    found.take_neighbours(live)
    return found.chosen


class _Matching:
    def __init__(self, news: Sequence[Entry]) -> None:
        self.news = news  # entries without an id; their order is their position
        self.chosen: dict[int, Entry] = {}
        self.used: set[str] = set()

    def take(self, old: Entry, new: Entry) -> None:
        """Match the two if both are free."""
        if old.paragraph_id not in self.used and new.order not in self.chosen:
            self.used.add(old.paragraph_id)
            self.chosen[new.order] = old

    def take_equal(
        self, olds: Sequence[Entry], news: Sequence[Entry], key: _Key, *, as_often: bool = False
    ) -> None:
        """Match those with the same key in order; with `as_often` only if there are as many."""
        olds, news = self._free(olds, news)
        before = _grouped(olds, key)
        for one, here in _grouped(news, key).items():
            if not as_often or len(here) == len(before[one]):
                for old, new in zip(before[one], here, strict=False):
                    self.take(old, new)

    def take_neighbours(self, live: Sequence[Entry]) -> None:
        """Match equal texts that follow or precede a match on its page."""
        for olds, news in ((live, self.news), (live[::-1], self.news[::-1])):
            nexts = {(one.paragraph_id, _file(other)): other for one, other in pairwise(olds)}
            for new, beside in pairwise(news):
                former = self.chosen.get(new.order, new)
                near = nexts.get((former.paragraph_id, _file(former)))
                if near and _text(near) == _text(beside) and _file(new) == _file(beside):
                    self.take(near, beside)

    def take_similar(self, olds: Sequence[Entry], news: Sequence[Entry], least: float) -> None:
        """Match those with at least this score, the most similar first."""
        pairs = [pair for pair in _similar(*self._free(olds, news)) if pair[0] >= least]
        for _, old, new in sorted(pairs, key=lambda p: (-p[0], p[2].order, p[1].order)):
            self.take(old, new)

    def pages(self, olds: Sequence[Entry]) -> Iterator[_Sides]:
        """Yield old and new paragraphs of pages with the most matched text or the same name."""
        shared: Counter[tuple[str, str]] = Counter()
        for at, old in self.chosen.items():
            shared[_file(old), _file(self.news[at])] += len(old.text)
        best = sorted(shared, key=lambda pair: (shared[pair], pair))
        to_new, to_old = dict(best), {new: old for old, new in best}
        for old_names, new_names in (({}, to_old), (to_new, {}), ({}, {})):
            there = _grouped(olds, _page(old_names))
            for page, here in _grouped(self.news, _page(new_names)).items():
                yield there[page], here

    def _free(self, olds: Sequence[Entry], news: Sequence[Entry]) -> _Sides:
        free = [one for one in olds if one.paragraph_id not in self.used]
        return free, [one for one in news if one.order not in self.chosen] if free else []


def _similar(olds: Sequence[Entry], news: Iterable[Entry]) -> Iterator[tuple[float, Entry, Entry]]:
    """Yield (score, old, new) for those that share a 5-gram."""
    holders: dict[str, list[int]] = defaultdict(list)
    for at, old in enumerate(olds):
        for gram in _grams(old.text):
            holders[gram].append(at)
    sizes = Counter(chain.from_iterable(holders.values()))
    for new in news:
        mine = _grams(new.text)
        rare = (holders.get(one, ()) for one in mine if len(holders.get(one, ())) <= COMMON_GRAM)
        for at, shared in Counter(chain.from_iterable(rare)).items():
            bonus = SAME_HEADING_BONUS * (_heading_path(olds[at]) == _heading_path(new))
            yield 2 * shared / (len(mine) + sizes[at]) + bonus, olds[at], new


def _grams(text: str) -> set[str]:
    return {text[at : at + 5] for at in range(max(1, len(text) - 4))}


def _page(names: Mapping[str, str]) -> _Key:
    return lambda one: names.get(one.file, one.file)


def _grouped(entries: Iterable[Entry], key: _Key) -> dict[Hashable, list[Entry]]:
    groups: dict[Hashable, list[Entry]] = defaultdict(list)
    for one in entries:
        groups[key(one)].append(one)
    return groups


def _unique(entries: Iterable[Entry]) -> list[Entry]:
    """Return the long texts that occur once."""
    groups = _grouped(entries, _text).values()
    return [same[0] for same in groups if len(same) == 1 and is_distinctive(same[0])]


def is_distinctive(paragraph: Entry) -> bool:
    """Whether the text is long enough to identify the paragraph anywhere in the book."""
    return len(paragraph.text.encode("utf-8", "surrogatepass")) >= SHORT
