"""Deep links: a page's address, the section's anchor and a text fragment for the very paragraph.

A text fragment fails where it bridges inline maths, a footnote reference, a line break or two
blocks, and it finds the first occurrence. So it quotes a *clean run*: whole words of one stretch
of text without a mark-up boundary, the shortest one of at least four words that occurs once in
the page. Where a paragraph has none (it is repeated), its last words are told apart by the words
that follow as a suffix; a prefix does not work behind a heading.

Text fragments: https://wicg.github.io/scroll-to-text-fragment/
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TypeAlias
from urllib.parse import quote, unquote, urlsplit

from app.domain.document import RUN_BOUNDARY, RUN_GLUE, Block, BlockKind, Document
from app.domain.fast_dataclass import fast_dataclass
from app.domain.urls import with_anchor

_MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u200b-\u200d\ufe00-\ufe0f"
)
_LETTERS = rf"[\w{_MARKS}]+"
_WORD = re.compile(rf"{_LETTERS}(?:['\u2019]{_LETTERS}|(?<=\d)[.,](?=\d){_LETTERS})*")
"""A word as Chromium's search bounds it: `size_of`, `don't` and `3.14` are one, `docs.org` two."""
_GLUED = re.compile(rf"^{RUN_GLUE}['\u2019]?{_LETTERS}|{_LETTERS}{RUN_GLUE}$")
_UNSURE = re.compile(r"-{2,3}|(?<!\w):[a-z0-9_+-]+:(?!\w)")
_PUNCTUATION = re.compile(rf"(?<!\d)[.,]|[.,](?!\d)|[^\w\s'\u2019.,{_MARKS}-]|-{{2,}}|\n")
_USUAL_WORDS = (4, 5, 6, 8, 12)
_FEW_WORDS = (3, 2, 1)
_SUFFIX_WORDS = 4
_SIZES = (4, 5, 6, 7, 8, 12)
"""All sizes that are asked for, beside those of few words: the usual, and with a suffix."""
_NEVER = 255
_NEXT_SIZES = (*_SIZES[1:], _NEVER)
_LONG, _BUCKET = 50_000, 1000
"""Words of a page that is counted in buckets, and of a bucket: a small one stays in the cache."""
# Pairs of runs of a block of which it is looked up whether they adjoin: each goes through its text.
_ADJOINING_TRIES = 32


def encode_fragment(text: str) -> str:
    """Percent-encode a part of a text directive: `-`, `,` and `&` are its syntax."""
    return quote(text, safe="", errors="replace").replace("-", "%2D")


def deep_link(url: str, text: str, suffix: str = "") -> str:
    """Return `url` with a text fragment for `text`, told apart by what follows it if given."""
    if not text:
        return url
    directive = encode_fragment(text) + (f",-{encode_fragment(suffix)}" if suffix else "")
    return f"{url}{'' if '#' in url else '#'}:~:text={directive}"


def page_key(url: str) -> str:
    """Return what the URLs of one page have in common, the site's address left out.

    A page is known by its path, with or without a slash, `.html` or `index.html` at its end; so a
    preview of the site at another address is served as well. What is no URL ("http://[::1") is
    taken for a path, and no page has it.
    """
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    path = unquote(path).removesuffix("index.html").rstrip("/")
    return path.removesuffix(".html") or "/"


def page_links(document: Document) -> list[str]:
    """Return the deep link of each of the page's blocks, in order.

    A heading's link is its anchor alone. A block without text to quote (a figure, a formula) is
    reached by its own id where the author gave it one. Time and memory are linear in the page's
    length.
    """
    page = _Page.of(document)
    pending = [
        index
        for index, block in enumerate(document.blocks)
        if block.kind is not BlockKind.HEADING and page.runs_of(index)
    ]
    quotes = page.unique_runs(pending)
    quotes |= page.told_apart([index for index in pending if index not in quotes])
    return [
        _link(document, block, quotes.get(index, _NOTHING))
        for index, block in enumerate(document.blocks)
    ]


def _link(document: Document, block: Block, quote: Quote) -> str:
    # A heading's anchor may not be its author's id: Docusaurus gives a title none.
    own = block.author_id and block.kind is not BlockKind.HEADING and not block.included
    if own and not quote.text:
        return with_anchor(document.url, block.author_id)
    return deep_link(block.url, quote.text, quote.suffix)


@fast_dataclass(frozen=True, slots=True)
class Quote:
    """What a text fragment looks for: words, and the words that follow them if those decide."""

    text: str
    suffix: str = ""


_NOTHING = Quote("")


@fast_dataclass(frozen=True, slots=True)
class _Run:
    """A clean run: its text, the number of its words, and its place in the page's words."""

    text: str
    size: int
    first: int

    def words(self, start: int, end: int) -> str:
        """The text of the words from one to before another."""
        spans = [match.span() for match in islice(_WORD.finditer(self.text), start, end)]
        return self.text[spans[0][0] : spans[-1][1]]

    def end_from(self, start: int) -> str:
        """The text from a word to the end, marks behind the last word included."""
        return self.text[next(islice(_WORD.finditer(self.text), start, None)).start() :]

    def begin_to(self, end: int) -> str:
        """The text of so many words, marks in front of the first included."""
        return self.text[: next(islice(_WORD.finditer(self.text), end - 1, None)).end()]


_Stretch: TypeAlias = tuple[int, int]
"""Words of a page, from one place to before another."""


@dataclass(slots=True)
class _Page:
    """A page as one sequence of folded words, each by its number.

    Numbers stand in arrays, and the runs' texts are made again for the few that are quoted: of a
    book in one file they would fill hundreds of megabytes.
    """

    blocks: Sequence[Block]
    words: array[int] = field(default_factory=partial(array, "I"))
    starts: array[int] = field(default_factory=partial(array, "I"))
    """By run, the place of its first word; then the number of words."""
    first_runs: array[int] = field(default_factory=partial(array, "I"))
    """By block, the number of its first run; then the number of runs."""
    least: bytearray = field(default_factory=bytearray)
    """By place, the first of `_SIZES` of which the words that begin there are the page's only."""

    @classmethod
    def of(cls, document: Document) -> _Page:
        page = cls(document.blocks)
        numbers: dict[str, int] = {}
        folded: dict[str, int] = {}
        for block in document.blocks:
            page.first_runs.append(len(page.starts))
            for text in clean_runs(block):
                words = _WORD.findall(text)
                if not words:
                    continue
                page.starts.append(len(page.words))
                for word in words:
                    if word not in numbers:
                        numbers[word] = folded.setdefault(_fold(word), len(folded))
                page.words.extend(map(numbers.__getitem__, words))
        page.first_runs.append(len(page.starts))
        page.starts.append(len(page.words))
        page.least = _least_sizes(page.words)
        return page

    def runs_of(self, index: int) -> range:
        """The numbers of a block's runs."""
        return range(self.first_runs[index], self.first_runs[index + 1])

    def run(self, number: int) -> _Run:
        index = bisect_right(self.first_runs, number) - 1
        texts = filter(_WORD.search, clean_runs(self.blocks[index]))
        text = next(islice(texts, number - self.first_runs[index], None))
        return _Run(text, self.size(number), self.starts[number])

    def size(self, number: int) -> int:
        """The number of words of a run."""
        return self.starts[number + 1] - self.starts[number]

    def _quote(self, place: int, size: int) -> Quote:
        """So many words from a place on, all of one run."""
        run = self.run(bisect_right(self.starts, place) - 1)
        return Quote(run.words(place - run.first, place - run.first + size))

    def unique_runs(self, pending: Sequence[int]) -> dict[int, Quote]:
        """By block, the shortest words of its clean runs that the page has once, if any."""
        found: dict[int, Quote] = {}
        for size in _USUAL_WORDS:
            once = self.least.translate(bytes(least <= size for least in range(256)))
            for index in pending:
                place = -1 if index in found else self._first_once(index, size, once)
                if place >= 0:
                    found[index] = self._quote(place, size)
        for size in _FEW_WORDS:
            few = [
                (index, self.starts[number])
                for index in pending
                if index not in found
                for number in self.runs_of(index)
                if self.size(number) == size
            ]
            alone = self._once([place for _, place in few], size)
            for index, place in few:
                if place in alone and index not in found:
                    found[index] = self._quote(place, size)
        return found

    def _first_once(self, index: int, size: int, once: bytearray) -> int:
        """The place of the block's first `size` words of a run that the page has once; or -1."""
        for number in self.runs_of(index):
            last = self.starts[number + 1] - size
            place = once.find(1, self.starts[number], last + 1) if self.size(number) >= size else -1
            if place >= 0:
                return place
        return -1

    def _once(self, places: Sequence[int], size: int) -> set[int]:
        """Those of the places where words fewer than `_SIZES` begin that the page has once."""
        asked = [tuple(self.words[place : place + size]) for place in places]
        every = zip(*(islice(self.words, shift, None) for shift in range(size)), strict=False)
        counts = Counter(filter(set(asked).__contains__, every)) if asked else {}
        return {place for place, words in zip(places, asked, strict=True) if counts[words] == 1}

    def told_apart(self, pending: Sequence[int]) -> dict[int, Quote]:
        """By block, words at the end of a run that the words behind it tell apart, if any do."""
        few: dict[int, array[int]] = {}
        for number in (number for index in pending for number in self.runs_of(index)):
            for start, end in self._across(number):
                if end - start < _SIZES[0]:
                    few.setdefault(end - start, array("I")).append(start)
        alone = {size: self._once(places, size) for size, places in few.items()}
        quotes = {index: self._with_suffix(index, alone) for index in pending}
        return {index: quote for index, quote in quotes.items() if quote is not None}

    def _across(self, number: int) -> Iterator[_Stretch]:
        """The last words of a run with one word of the next run, with two and so on.

        The next one is in the same block, or what the next block begins with.
        """
        if number + 2 < len(self.starts):
            start = self.starts[number + 1]
            before = min(self.size(number), _SUFFIX_WORDS)
            for ahead in range(1, min(_SUFFIX_WORDS, self.size(number + 1)) + 1):
                yield start - before, start + ahead

    def _with_suffix(self, index: int, alone: Mapping[int, Set[int]]) -> Quote | None:
        """The block's first words that the next run's tell apart; see `_across`."""
        text = " ".join(self.blocks[index].text.split())
        tries = 0
        for number in self.runs_of(index):
            ahead = next(
                (n for n, at in enumerate(self._across(number), 1) if self._is_alone(at, alone)), 0
            )
            if not ahead:
                continue
            run, after = self.run(number), self.run(number + 1)
            if _adjoin(text, run, after, number + 1 in self.runs_of(index)):
                # Nothing but blanks may stand between the two, so marks go along.
                last = max(run.size - _SUFFIX_WORDS, 0)
                return Quote(run.end_from(last), after.begin_to(ahead))
            tries += 1
            if tries == _ADJOINING_TRIES:
                break
        return None

    def _is_alone(self, words: _Stretch, alone: Mapping[int, Set[int]]) -> bool:
        """Whether the page has these words once; `alone` says so of the few."""
        start, end = words
        few = alone.get(end - start)
        return start in few if few is not None else self.least[start] <= end - start


def _least_sizes(words: array[int]) -> bytearray:
    """`_Page.least` of the words; `_NEVER` where even most of them occur again.

    Memory is linear in the number of words, whatever they are.
    """
    text, width = words.tobytes(), words.itemsize
    least = bytearray(_SIZES[:1]) * len(words)
    waiting: list[tuple[int, Sequence[int]]] = [(0, range(len(words)))]
    while waiting:
        level, places = waiting.pop()
        for again in _repeated(text, width, places, _SIZES[level]):
            for place in again:
                least[place] = _NEXT_SIZES[level]
            if level + 1 < len(_SIZES):
                waiting.append((level + 1, again))
    return least


def _repeated(text: bytes, width: int, places: Sequence[int], size: int) -> Iterator[array[int]]:
    """Those of the places where `size` words begin that begin at another one too.

    Equal ones come in the same array. Many places are looked at a bucket at a time: all words of
    a book at once would fill gigabytes.
    """
    length = size * width
    buckets = _buckets(text, width, places, length) if len(places) > _LONG else [places]
    while buckets:
        first_places: dict[bytes, int] = {}
        firsts: set[int] = set()
        again = array("I")
        for place in buckets.pop():
            at = place * width
            first = first_places.setdefault(text[at : at + length], place)
            if first != place:
                firsts.add(first)
                again.append(place)
        if again:
            again.extend(firsts)
            yield again


def _buckets(text: bytes, width: int, places: Sequence[int], length: int) -> list[Sequence[int]]:
    buckets = [array("I") for _ in range(len(places) // _BUCKET)]
    appends = [bucket.append for bucket in buckets]
    for place in places:
        at = place * width
        appends[hash(text[at : at + length]) % len(appends)](place)
    return list(buckets)


def _adjoin(text: str, run: _Run, after: _Run, inside: bool) -> bool:
    """True if nothing but blanks stands between two runs of a text: no maths, no picture."""
    if inside:
        return f"{run.text} {after.text}" in text or f"{run.text}{after.text}" in text
    return text.endswith(run.text)


@dataclass(frozen=True, slots=True)
class PageText:
    """A page as its index has it: the folded words of its blocks, for links to quotes."""

    words: str
    """Each word between blanks of its own; blocks are kept apart: no text fragment spans two."""

    @classmethod
    def of(cls, blocks: Iterable[str]) -> PageText:
        return cls(" | ".join(_folded_words(block) for block in blocks))

    def link(self, url: str, quote: str) -> str:
        """A block's deep link, led to this quote of it where some words of it are the page's only.

        Words between two punctuation marks: what a page shows between them, a footnote's number
        say, is not in the text. Otherwise the block's own link stands.
        """
        address, _, own = url.partition(":~:text=")
        if own and "&" not in own and _folded_words(unquote(own)) in _folded_words(quote):
            return url
        found = self._unique_run(quote)
        return deep_link(address.removesuffix("#"), found) if found else url

    def _unique_run(self, quote: str) -> str:
        stretches = _PUNCTUATION.split(quote)
        for size in _USUAL_WORDS:
            for stretch in stretches:
                spans = [match.span() for match in _WORD.finditer(stretch)]
                for first, last in zip(spans, spans[size - 1 :], strict=False):
                    run = stretch[first[0] : last[1]]
                    if self.words.count(_folded_words(run)) == 1:
                        return run
        return ""


def _folded_words(text: str) -> str:
    """Two blanks between words, so that neighbouring finds share none."""
    if text.isascii():
        return f" {'  '.join(_WORD.findall(text.lower()))} "
    return f" {'  '.join(map(_fold, _WORD.findall(text)))} "


def clean_runs(block: Block) -> list[str]:
    """Return a block's runs, cut also where the page may not show what the source says.

    Smart punctuation makes a dash of `--`; `:name:` may become an emoji. A piece of a word that
    mark-up parts is no word to the browser.
    """
    runs: list[str] = []
    for glued in block.runs.split(RUN_BOUNDARY):
        run = glued
        while RUN_GLUE in run:
            run = _GLUED.sub("", run, count=1) if _GLUED.search(run) else run.replace(RUN_GLUE, "")
        if "--" in run or ":" in run:
            runs.extend(piece.strip() for piece in _UNSURE.split(run))
        else:
            runs.append(run.strip())
    return [" ".join(run.split()) for run in runs if run]


def _fold(word: str) -> str:
    """Fold case and accents, as the browser's search does."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold().replace("\u2019", "'"))
    return "".join(char for char in decomposed if char.isalnum() or char in "'_.,") or word
