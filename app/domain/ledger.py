"""The ledger of paragraph ids, which keeps a paragraph's id through edits.

A paragraph's id starts as the hash of its text. When the book is read again, each paragraph is
matched with the entries of the ledger and takes over the id of its match:

1. the same text on the same page, in reading order;
2. the same text anywhere in the book (moved, or back from a tombstone);
3. a similar text on the same page, renamed pages followed;
4. a similar text anywhere.

Similarity is the Dice coefficient of the sets of 5-grams of the normalised text; pairs are taken
greedily, the most similar first. The thresholds measured best on three years of the Rust Book and
four of the Redux docs: 0.5 on a page, where the same heading path adds 0.03, and 0.6 elsewhere. An
id written by the author always wins.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain

from app.domain.errors import InputError

GRAM = 5
SAME_PAGE_DICE = 0.5
SAME_HEADING_BONUS = 0.03
ANYWHERE_DICE = 0.6
# A 5-gram shared by more paragraphs does not identify an edited one, and comparing them all would
# make matching quadratic in the size of the book.
COMMON_GRAM = 40

_MAX_ORDER = 2**31


@dataclass(frozen=True, slots=True)
class LedgerParagraph:
    """The data of a paragraph by which the ledger matches it."""

    content_id: str
    """The hash id of its text."""
    text: str
    """Normalised: see `app.domain.identity`."""
    file: str
    heading_path: tuple[str, ...]
    url: str
    author_id: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger. `live` is False for a tombstone: the paragraph is gone."""

    paragraph_id: str
    paragraph: LedgerParagraph
    order: int
    """Position in the book's reading order when it was last seen."""
    live: bool = True


@dataclass(frozen=True, slots=True)
class Alias:
    """Another id of a paragraph: the hash of its edited text."""

    alias: str
    paragraph_id: str
    score: float
    """Similarity of the texts when it was recorded, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Located:
    """Result of a look-up; `nearest` is the live entry nearest to a tombstone."""

    entry: Entry
    nearest: Entry | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Entries by paragraph id; aliases by alias."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    aliases: Mapping[str, Alias] = field(default_factory=dict)

    def resolve(self, paragraph_id: str) -> Entry | None:
        """Return the entry of an id or alias, a tombstone too; None if it was never known."""
        entry = self.entries.get(paragraph_id)
        if (entry is None or not entry.live) and paragraph_id in self.aliases:
            return self.entries.get(self.aliases[paragraph_id].paragraph_id)
        return entry

    def locate(self, paragraph_id: str) -> Located | None:
        """Return a paragraph's entry and, if it is gone, the nearest live one; None if unknown."""
        entry = self.resolve(paragraph_id)
        if entry is None:
            return None
        return Located(entry, None if entry.live else self.nearest(entry))

    def nearest(self, gone: Entry) -> Entry | None:
        """Return the live entry nearest to a tombstone: by page, section, then reading order."""
        live = [entry for entry in self.entries.values() if entry.live]
        return min(live, key=lambda entry: _distance(gone, entry), default=None)


def _distance(gone: Entry, entry: Entry) -> tuple[bool, bool, int, int]:
    here, there = gone.paragraph, entry.paragraph
    return (
        here.file != there.file,
        here.heading_path != there.heading_path,
        abs(gone.order - entry.order),
        entry.order,
    )


def renew(ledger: Ledger, paragraphs: Sequence[LedgerParagraph]) -> tuple[list[str], Ledger]:
    """Assign an id to each paragraph; return the ids in order and the updated ledger."""
    matching = _Matching(ledger, paragraphs)
    for step in (_author, _same_page_and_text, _same_text, _similar_on_page, _similar_anywhere):
        step(matching)
    return _settle(ledger, paragraphs, matching)


class _Matching:
    """Matches new paragraphs with old entries, step by step, with their scores."""

    def __init__(self, ledger: Ledger, paragraphs: Sequence[LedgerParagraph]) -> None:
        self.paragraphs = paragraphs
        self.old = sorted(ledger.entries.values(), key=lambda e: (not e.live, e.order))
        self.chosen: dict[int, tuple[Entry, float]] = {}
        self.used: set[str] = set()

    def take(self, new: int, entry: Entry, score: float) -> None:
        self.chosen[new] = (entry, score)
        self.used.add(entry.paragraph_id)

    def free_new(self) -> list[tuple[int, LedgerParagraph]]:
        return [(i, p) for i, p in enumerate(self.paragraphs) if i not in self.chosen]

    def free_old(self) -> list[Entry]:
        return [entry for entry in self.old if entry.paragraph_id not in self.used]


def _author(matching: _Matching) -> None:
    old = {entry.paragraph_id: entry for entry in matching.old}
    for new, paragraph in matching.free_new():
        if paragraph.author_id and paragraph.author_id in old:
            matching.take(new, old[paragraph.author_id], 1.0)


def _pair_in_order(
    matching: _Matching, key: Callable[[LedgerParagraph], tuple[str, ...]], *, tombstones: bool
) -> None:
    """Pair paragraphs with equal keys, the first with the first."""
    waiting: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in matching.free_old():
        if entry.live or tombstones:
            waiting[key(entry.paragraph)].append(entry)
    for queue in waiting.values():
        queue.reverse()
    for new, paragraph in matching.free_new():
        queue = waiting.get(key(paragraph), [])
        if queue:
            matching.take(new, queue.pop(), 1.0)


def _same_page_and_text(matching: _Matching) -> None:
    _pair_in_order(
        matching, lambda p: (p.file, *p.heading_path, "", p.content_id), tombstones=False
    )
    _pair_in_order(matching, lambda p: (p.file, p.content_id), tombstones=False)


def _same_text(matching: _Matching) -> None:
    _pair_in_order(matching, lambda p: (p.content_id,), tombstones=True)


def _similar_on_page(matching: _Matching) -> None:
    renamed = _renames(matching)
    by_page: dict[str, list[Entry]] = defaultdict(list)
    for entry in matching.free_old():
        if entry.live:
            file = entry.paragraph.file
            by_page[renamed.get(file, file)].append(entry)
    news: dict[str, list[tuple[int, LedgerParagraph]]] = defaultdict(list)
    for new, paragraph in matching.free_new():
        news[paragraph.file].append((new, paragraph))
    for file, page in news.items():
        _take_similar(matching, page, by_page.get(file, ()), SAME_PAGE_DICE)


def _renames(matching: _Matching) -> dict[str, str]:
    """Map each old page to the new page that has most of its paragraphs matched so far."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for new, (entry, _) in matching.chosen.items():
        votes[entry.paragraph.file][matching.paragraphs[new].file] += 1
    return {old: counter.most_common(1)[0][0] for old, counter in sorted(votes.items())}


def _similar_anywhere(matching: _Matching) -> None:
    old = [entry for entry in matching.free_old() if entry.live]
    _take_similar(matching, matching.free_new(), old, ANYWHERE_DICE)


def _take_similar(
    matching: _Matching,
    news: Iterable[tuple[int, LedgerParagraph]],
    olds: Sequence[Entry],
    threshold: float,
) -> None:
    pairs = list(_similar(news, olds, threshold))
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2].order))
    for score, new, entry in pairs:
        if new not in matching.chosen and entry.paragraph_id not in matching.used:
            matching.take(new, entry, min(score, 1.0))


def _similar(
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


def _settle(
    ledger: Ledger, paragraphs: Sequence[LedgerParagraph], matching: _Matching
) -> tuple[list[str], Ledger]:
    entries = {
        paragraph_id: replace(entry, live=False) for paragraph_id, entry in ledger.entries.items()
    }
    aliases = dict(ledger.aliases)
    ids: list[str] = []
    ids_given: set[str] = set()
    reserved = {p.author_id for p in paragraphs if p.author_id} | set(entries) | set(aliases)
    repeats: dict[str, int] = {}
    for order, paragraph in enumerate(paragraphs):
        twice = paragraph.author_id in ids_given
        paragraph_id, score = _identify(
            replace(paragraph, author_id="") if twice else paragraph,
            matching.chosen.get(order),
            reserved,
            repeats,
        )
        ids_given.add(paragraph_id)
        reserved.add(paragraph_id)
        ids.append(paragraph_id)
        entries[paragraph_id] = Entry(paragraph_id, paragraph, order)
        other = matching.chosen[order][0].paragraph_id if order in matching.chosen else ""
        for alias in {paragraph.content_id, other} - {paragraph_id, ""}:
            aliases.setdefault(alias, Alias(alias, paragraph_id, round(score, 4)))
    kept = {name: alias for name, alias in aliases.items() if name not in ids_given}
    return ids, Ledger(entries, kept)


def _identify(
    paragraph: LedgerParagraph,
    match: tuple[Entry, float] | None,
    reserved: set[str],
    repeats: dict[str, int],
) -> tuple[str, float]:
    """The paragraph's id and its score; `repeats` counts the uses of each content id."""
    score = match[1] if match else 1.0
    if paragraph.author_id:
        return paragraph.author_id, score
    if match:
        return match[0].paragraph_id, score
    return unused_id(paragraph.content_id, reserved, repeats), score


def unused_id(base: str, taken: Collection[str], repeats: dict[str, int]) -> str:
    """Return `base` or, if it is taken, the first of `base-2`, `base-3`, ... that is not.

    `repeats` keeps the last number of each base. Ids are never freed, so lower ones are skipped.
    """
    free = base
    while free in taken:
        repeats[base] = repeats.get(base, 1) + 1
        free = f"{base}-{repeats[base]}"
    return free


def to_lines(ledger: Ledger) -> Iterator[str]:
    """Yield one JSON object per line, sorted by id, so that exports can be compared by `diff`."""
    for _, entry in sorted(ledger.entries.items()):
        yield json.dumps(asdict(entry), ensure_ascii=False)
    for _, alias in sorted(ledger.aliases.items()):
        yield json.dumps(asdict(alias), ensure_ascii=False)


def from_lines(lines: Iterable[str], name: str) -> Ledger:
    """Read the lines of `to_lines`. InputError, with the line's number, for any other line."""
    entries: dict[str, Entry] = {}
    aliases: dict[str, Alias] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            json.dumps(row, ensure_ascii=False).encode()  # raises for half of a surrogate pair
            if "alias" in row:
                alias = _checked_alias(Alias(**row))
                aliases[alias.alias] = alias
            else:
                inner = row.pop("paragraph")
                inner["heading_path"] = tuple(inner["heading_path"])
                entry = _checked_entry(Entry(paragraph=LedgerParagraph(**inner), **row))
                entries[entry.paragraph_id] = entry
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = (
                f"{name}:{number}: not a line of a ledger ({error}); give a file of "
                "`textbook-rag ledger export`"
            )
            raise InputError(message) from error
    return Ledger(entries, aliases)


def _checked_entry(entry: Entry) -> Entry:
    """Return the entry. TypeError if a field has another type than it is declared with."""
    one = entry.paragraph
    texts = (entry.paragraph_id, one.content_id, one.text, one.file, one.url, one.author_id)
    if not _are_texts((*texts, *one.heading_path)) or type(entry.live) is not bool:
        message = "a field has another type"
        raise TypeError(message)
    if type(entry.order) is not int or not 0 <= entry.order <= _MAX_ORDER:
        message = f"order is not a number from 0 to {_MAX_ORDER}"
        raise TypeError(message)
    return entry


def _checked_alias(alias: Alias) -> Alias:
    """Return the alias. TypeError as in `_checked_entry`."""
    if not _are_texts((alias.alias, alias.paragraph_id)) or type(alias.score) not in (int, float):
        message = "a field has another type"
        raise TypeError(message)
    return alias


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
