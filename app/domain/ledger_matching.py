"""Matches the paragraphs of a book with its ledger, so that each keeps its id through edits.

A paragraph's id starts as the hash of its text. When the book is read again, each paragraph takes
over the id of the entry that it matches, in this order:

1. the author's id;
2. the same text, if it is long and occurs once (also if it moved);
3. the same text in the same section, if it occurs there as often as before. A page that was
   renamed is recognised by its texts of step 2 or, if it has none, by half of all its texts;
4. the same text next to a matched paragraph, as it was before;
5. the same text on the same page, in reading order;
6. the same text as a removed paragraph: long and unique, or on the same page;
7. a similar text on the same page, then one that was removed from it;
8. a similar text anywhere, if neither is short or repeated;
9. once more the neighbours of what is matched now.

A short or repeated text ("Exercises", "Try it yourself") says nothing about where it came from, so
it follows its neighbours or its page, and gets a new id if it has neither.

Similarity is the Dice coefficient of the sets of 5-grams of the normalised text; pairs are taken
greedily, the most similar first. The thresholds measured best on three years of the Rust Book and
four of the Redux docs: 0.5 on a page, where the same heading path adds 0.03, and 0.6 elsewhere. An
id written by the author always wins.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from app.domain.ledger import Entry, Ledger, LedgerParagraph
from app.domain.ledger_similarity import similar_pairs

SAME_PAGE_DICE = 0.5
ANYWHERE_DICE = 0.6
SHORT = 24
"""UTF-8 bytes of normalised text: about five words, or eight Chinese characters."""
COMMON_TEXT = 40
"""Pages with the same text that are compared as copies of a page."""

Match: TypeAlias = tuple[Entry, float]
"""An entry and the similarity of the texts, 0 to 1."""

_Votes: TypeAlias = dict[str, Counter[str]]
_Rename: TypeAlias = Callable[[str], str]
_Path: TypeAlias = tuple[str, ...]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Matching:
    """Matches new paragraphs with old entries, step by step, with their scores."""

    def __init__(self, ledger: Ledger, paragraphs: Sequence[LedgerParagraph]) -> None:
        self.paragraphs = paragraphs
        self.old = sorted(
            ledger.entries.values(), key=lambda e: (not e.live, e.order, e.paragraph_id)
        )
        self.chosen: dict[int, Match] = {}
        self.used: set[str] = set()
        self.votes: _Votes = defaultdict(Counter)
        """Bytes of text that an old page has in common with each new one."""

    def take(self, new: int, entry: Entry, score: float) -> None:
        self.chosen[new] = (entry, score)
        self.used.add(entry.paragraph_id)
        self.vote(entry, self.paragraphs[new])

    def vote(self, entry: Entry, paragraph: LedgerParagraph) -> None:
        self.votes[entry.paragraph.file][paragraph.file] += _size(paragraph)

    def are_free(self, new: int, entry: Entry) -> bool:
        return new not in self.chosen and entry.paragraph_id not in self.used

    def free_new(self) -> list[tuple[int, LedgerParagraph]]:
        return [(i, p) for i, p in enumerate(self.paragraphs) if i not in self.chosen]

    def free_old(self, *, live: bool) -> list[Entry]:
        return [e for e in self.old if e.live == live and e.paragraph_id not in self.used]

    def pages(self) -> list[tuple[_Rename, _Rename]]:
        """Return two pairs of functions: the first maps old page names, the second new ones.

        Both map to the same name if the pages are the same. The first pair recognises a page that
        was split, the second one pages that were merged; both recognise a rename.
        """
        sources: _Votes = defaultdict(Counter)
        for old, counter in self.votes.items():
            for new, size in counter.items():
                sources[new][old] = size
        return [(_same, _following(sources)), (_following(self.votes), _same)]


def _same(file: str) -> str:
    return file


def _following(votes: _Votes) -> _Rename:
    """Return a function that maps a page to the page on the other side with most of its text.

    A page without such text is mapped to its own name, or to "" if another page is mapped to that.
    """
    followed: dict[str, str] = {}
    for page, counter in votes.items():
        ((most, size),) = counter.most_common(1)
        if size >= SHORT:
            followed[page] = most
    taken = set(followed.values())
    return lambda page: followed.get(page, "" if page in taken else page)


def _size(paragraph: LedgerParagraph) -> int:
    return len(paragraph.text.encode("utf-8", "surrogatepass"))


def is_distinctive(paragraph: LedgerParagraph) -> bool:
    """Whether the text is long enough to identify the paragraph anywhere in the book."""
    return _size(paragraph) >= SHORT


def _author(matching: _Matching) -> None:
    old = {entry.paragraph_id: entry for entry in matching.old}
    for new, paragraph in matching.free_new():
        if paragraph.author_id and paragraph.author_id in old:
            matching.take(new, old[paragraph.author_id], 1.0)


def _same_unique_text(matching: _Matching) -> None:
    """Pair long texts that occur once on both sides; short ones only tell where a page went."""
    for new, entry in _unique_texts(matching, [entry for entry in matching.old if entry.live]):
        if is_distinctive(matching.paragraphs[new]):
            matching.take(new, entry, 1.0)
        else:
            matching.vote(entry, matching.paragraphs[new])


def _unique_texts(matching: _Matching, old: Iterable[Entry]) -> Iterator[tuple[int, Entry]]:
    """Yield what is free of the texts that occur once on both sides."""
    olds = _unique((entry.paragraph.content_id, entry) for entry in old)
    news = _unique((paragraph.content_id, new) for new, paragraph in enumerate(matching.paragraphs))
    for content_id, new in news.items():
        if content_id in olds and matching.are_free(new, olds[content_id]):
            yield new, olds[content_id]


def _unique(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, _Value]:
    """Map each key that occurs once to its value, in order."""
    listed = list(pairs)
    counts = Counter(key for key, _ in listed)
    return {key: value for key, value in listed if counts[key] == 1}


def _grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    groups: dict[_Key, list[_Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def _same_section(matching: _Matching) -> None:
    _pair_on_page(matching, matching.pages(), _whole, live=True, as_often=True)


def _repeated_pages(matching: _Matching) -> None:
    """Follow pages without a unique text, such as copies, to the pages with the same texts.

    At least half of both pages must be equal; of equal pages, first one with the same name, then in
    reading order.
    """
    sourced = {new for counter in matching.votes.values() for new in counter}
    before = (entry.paragraph for entry in matching.old if entry.live)
    olds = _pages_without(matching.votes, before)
    news = _pages_without(sourced, matching.paragraphs)
    copies = sorted(_copies(olds, news), key=lambda pair: (-pair[0], pair[1] != pair[2]))
    for size, old, new in copies:
        if old in olds and new in news:
            matching.votes[old][new] += size
            del olds[old], news[new]


def _copies(
    olds: Mapping[str, Counter[str]], news: Mapping[str, Counter[str]]
) -> Iterator[tuple[int, str, str]]:
    """Yield (bytes in common, old page, new page) for pages of which at least half is equal."""
    holders = _grouped((content_id, file) for file, held in news.items() for content_id in held)
    for old, held in olds.items():
        near = dict.fromkeys(new for one in held for new in holders.get(one, ())[:COMMON_TEXT])
        for new in (*near, old):
            size = (held & news.get(new, Counter())).total()
            if size and 2 * size >= max(held.total(), news[new].total()):
                yield size, old, new


def _pages_without(
    followed: Container[str], paragraphs: Iterable[LedgerParagraph]
) -> dict[str, Counter[str]]:
    """Return the texts of each page that is not yet followed."""
    pages = _grouped((one.file, one) for one in paragraphs if one.file not in followed)
    return {file: _texts(page) for file, page in pages.items()}


def _texts(page: Iterable[LedgerParagraph]) -> Counter[str]:
    """Return the bytes of each text of a page, by its hash."""
    sizes: Counter[str] = Counter()
    for paragraph in page:
        sizes[paragraph.content_id] += _size(paragraph)
    return sizes


def _neighbours(matching: _Matching) -> None:
    """Pair equal texts that follow or precede, on their pages, two paragraphs of a pair."""
    old = [entry for entry in matching.old if entry.live]
    places = {entry.paragraph_id: place for place, entry in enumerate(old)}
    news = range(len(matching.paragraphs))
    for order, step in ((news, 1), (reversed(news), -1)):
        for new in order:
            pair = matching.chosen.get(new)
            if pair is None or not pair[0].live or new + step not in news:
                continue
            place = places[pair[0].paragraph_id] + step
            if 0 <= place < len(old):
                _take_beside(matching, new, new + step, pair[0], old[place])


def _take_beside(matching: _Matching, new: int, beside: int, entry: Entry, near: Entry) -> None:
    here, there = matching.paragraphs[new], matching.paragraphs[beside]
    if (
        matching.are_free(beside, near)
        and near.paragraph.content_id == there.content_id
        and near.paragraph.file == entry.paragraph.file
        and there.file == here.file
    ):
        matching.take(beside, near, 1.0)


def _same_page_and_text(matching: _Matching) -> None:
    _pair_under_headings(matching, live=True)


def _removed_text(matching: _Matching) -> None:
    for new, entry in _unique_texts(matching, matching.old):
        if is_distinctive(matching.paragraphs[new]):
            matching.take(new, entry, 1.0)
    _pair_under_headings(matching, live=False)


def _pair_under_headings(matching: _Matching, *, live: bool) -> None:
    """Pair equal texts on a page: under the same headings, the same heading, any heading.

    Under the same headings, the page of the same name counts too, even if parts of it moved.
    Under any heading, only if there are as many as before: otherwise one is as likely as another.
    """
    _pair_on_page(matching, [*matching.pages(), (_same, _same)], _whole, live=live)
    _pair_on_page(matching, matching.pages(), _last, live=live)
    _pair_on_page(matching, matching.pages(), _none, live=live, as_often=True)


def _whole(path: _Path) -> _Path:
    return path


def _last(path: _Path) -> _Path:
    return path[-1:]


def _none(_: _Path) -> _Path:
    return ()


def _pair_on_page(
    matching: _Matching,
    pages: Iterable[tuple[_Rename, _Rename]],
    part: Callable[[_Path], _Path],
    *,
    live: bool,
    as_often: bool = False,
) -> None:
    """Pair equal texts on the same page with the same part of their heading paths, in order.

    With `as_often`, only if there are as many as before.
    """
    for old_page, new_page in pages:
        olds = _grouped(
            (_place(entry.paragraph, old_page, part), entry)
            for entry in matching.free_old(live=live)
        )
        news = _grouped((_place(p, new_page, part), new) for new, p in matching.free_new())
        for place, here in news.items():
            there = olds.get(place, [])
            if not as_often or len(here) == len(there):
                for new, entry in zip(here, there, strict=False):
                    matching.take(new, entry, 1.0)


def _place(
    paragraph: LedgerParagraph, page: _Rename, part: Callable[[_Path], _Path]
) -> tuple[str, _Path, str]:
    return page(paragraph.file), part(paragraph.heading_path), paragraph.content_id


def _similar_on_page(matching: _Matching) -> None:
    for live in (True, False):
        for old_page, new_page in matching.pages():
            olds = _grouped(
                (old_page(entry.paragraph.file), entry) for entry in matching.free_old(live=live)
            )
            news = _grouped((new_page(p.file), (new, p)) for new, p in matching.free_new())
            for page, paragraphs in news.items():
                _take_similar(matching, paragraphs, olds.get(page, ()), SAME_PAGE_DICE)


def _similar_anywhere(matching: _Matching) -> None:
    old = [entry for entry in matching.old if entry.live]
    once = _unique((entry.paragraph.content_id, entry.paragraph_id) for entry in old)
    alone = _unique((paragraph.content_id, paragraph) for paragraph in matching.paragraphs)
    olds = [e for e in matching.free_old(live=True) if _is_identified(e.paragraph, once)]
    news = [(new, p) for new, p in matching.free_new() if _is_identified(p, alone)]
    _take_similar(matching, news, olds, ANYWHERE_DICE)


def _is_identified(paragraph: LedgerParagraph, once: Container[str]) -> bool:
    """Whether the text alone identifies the paragraph: long, and not repeated in the book."""
    return is_distinctive(paragraph) and paragraph.content_id in once


def _take_similar(
    matching: _Matching,
    news: Iterable[tuple[int, LedgerParagraph]],
    olds: Sequence[Entry],
    threshold: float,
) -> None:
    pairs = list(similar_pairs(news, olds, threshold))
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2].order))
    for score, new, entry in pairs:
        if matching.are_free(new, entry):
            matching.take(new, entry, min(score, 1.0))


_STEPS = (
    _author,
    _same_unique_text,
    _repeated_pages,
    _same_section,
    _neighbours,
    _same_page_and_text,
    _removed_text,
    _similar_on_page,
    _similar_anywhere,
    _neighbours,
)


def match(ledger: Ledger, paragraphs: Sequence[LedgerParagraph]) -> dict[int, Match]:
    """Match paragraphs, by their positions, with entries; each entry with at most one."""
    matching = _Matching(ledger, paragraphs)
    for step in _STEPS:
        step(matching)
    return matching.chosen
