"""The deep link of each block of a page.

A text fragment fails if it crosses inline maths, a footnote reference, a line break or a block
boundary, and it finds the first match on the page. So its text is from a *clean run*: whole words
without a mark-up boundary, the shortest of at least four words that is unique on the page. If a
paragraph has none, because it is repeated, its last words are quoted with the following words as
suffix; a prefix does not work after a heading.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TypeAlias

from app.domain.document import RUN_BOUNDARY, RUN_GLUE, Block, BlockKind, Document
from app.domain.fast_dataclass import fast_dataclass
from app.domain.folded_words import LETTERS, WORD, fold_word
from app.domain.links import (
    FEW_WORDS,
    NO_FRAGMENT,
    SUFFIX_WORDS,
    USUAL_WORDS,
    FragmentText,
    deep_link,
)
from app.domain.repeated_words import least_unique_sizes
from app.domain.urls import with_anchor

_GLUED = re.compile(rf"^{RUN_GLUE}['\u2019]?{LETTERS}|{LETTERS}{RUN_GLUE}$")
_UNSURE = re.compile(r"-{2,3}|(?<!\w):[a-z0-9_+-]+:(?!\w)")
_WIDE_BLANK = re.compile(r"\s{2,}|[^\S ]")
_SIZES = (4, 5, 6, 7, 8, 12)
"""All sizes looked up, except `FEW_WORDS`: the usual ones and those with a suffix."""
# Limit for each block: every check searches the block's text.
_MAX_ADJACENCY_CHECKS = 32


def page_links(document: Document) -> list[str]:
    """Return the deep link of each block of the page, in order.

    A heading's link has an anchor only. A block without text to quote, such as a figure or formula,
    is linked by its author's id if it has one. Time and memory are linear in the page's length.
    """
    page = _Page.of(document)
    pending = [
        index
        for index, block in enumerate(document.blocks)
        if block.kind is not BlockKind.HEADING and page.runs_of(index)
    ]
    fragments = page.unique_runs(pending)
    fragments |= page.runs_with_suffix([index for index in pending if index not in fragments])
    return [
        _link(document, block, fragments.get(index, NO_FRAGMENT))
        for index, block in enumerate(document.blocks)
    ]


def _link(document: Document, block: Block, quote: FragmentText) -> str:
    # A heading's anchor may differ from the author's id: Docusaurus gives titles none.
    has_id = block.author_id and block.kind is not BlockKind.HEADING and not block.included
    if has_id and not quote.text:
        return with_anchor(document.url, block.author_id)
    return deep_link(block.url, quote.text, quote.suffix)


@fast_dataclass(frozen=True, slots=True)
class _Run:
    """A clean run: its text, number of words, and first position in the page's words."""

    text: str
    size: int
    first: int

    def words(self, start: int, end: int) -> str:
        """Return the text of the words `start:end`."""
        spans = [match.span() for match in islice(WORD.finditer(self.text), start, end)]
        return self.text[spans[0][0] : spans[-1][1]]

    def end_from(self, start: int) -> str:
        """Return the text from a word to the end, trailing punctuation included."""
        return self.text[next(islice(WORD.finditer(self.text), start, None)).start() :]

    def begin_to(self, end: int) -> str:
        """Return the text of the first `end` words, leading punctuation included."""
        return self.text[: next(islice(WORD.finditer(self.text), end - 1, None)).end()]


class _WordNumbers(dict[str, int]):
    """Maps each word to a number; words that are equal after folding have the same number."""

    def __init__(self) -> None:
        self._folded: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self._folded.setdefault(fold_word(word), len(self._folded))
        self[word] = number
        return number


_WordRange: TypeAlias = tuple[int, int]
"""Half-open range of positions in a page's words."""


@dataclass(slots=True)
class _Page:
    """A page as a sequence of folded words, each represented by a number.

    Numbers are kept in arrays, and texts of runs are computed again when quoted: for a book in one
    file they would take hundreds of megabytes.
    """

    blocks: Sequence[Block]
    words: array[int] = field(default_factory=partial(array, "I"))
    starts: array[int] = field(default_factory=partial(array, "I"))
    """Run number -> position of its first word; the last element is the number of words."""
    first_runs: array[int] = field(default_factory=partial(array, "I"))
    """Block index -> number of its first run; the last element is the number of runs."""
    least: bytearray = field(default_factory=bytearray)
    """Position -> smallest of `_SIZES` with which the words from there are unique on the page."""

    @classmethod
    def of(cls, document: Document) -> _Page:
        page = cls(document.blocks)
        numbers = _WordNumbers()
        if not any(block.text == document.title for block in document.blocks[:1]):
            # The page shows its title above the first block.
            page.words.extend(map(numbers.__getitem__, WORD.findall(document.title)))
        for block in document.blocks:
            page.first_runs.append(len(page.starts))
            for text in clean_runs(block):
                words = WORD.findall(text)
                if not words:
                    continue
                page.starts.append(len(page.words))
                page.words.extend(map(numbers.__getitem__, words))
        page.first_runs.append(len(page.starts))
        page.starts.append(len(page.words))
        page.least = least_unique_sizes(page.words, _SIZES)
        return page

    def runs_of(self, index: int) -> range:
        """Return the run numbers of a block."""
        return range(self.first_runs[index], self.first_runs[index + 1])

    def run(self, number: int) -> _Run:
        index = bisect_right(self.first_runs, number) - 1
        texts = filter(WORD.search, clean_runs(self.blocks[index]))
        text = next(islice(texts, number - self.first_runs[index], None))
        return _Run(text, self.size(number), self.starts[number])

    def size(self, number: int) -> int:
        """Return the number of words in a run."""
        return self.starts[number + 1] - self.starts[number]

    def _fragment(self, position: int, size: int) -> FragmentText:
        """Return `size` words from `position` on, all of one run."""
        run = self.run(bisect_right(self.starts, position) - 1)
        return FragmentText(run.words(position - run.first, position - run.first + size))

    def unique_runs(self, pending: Sequence[int]) -> dict[int, FragmentText]:
        """Map blocks to their shortest clean run that is unique on the page, if any."""
        found: dict[int, FragmentText] = {}
        for size in USUAL_WORDS:
            once = self.least.translate(bytes(least <= size for least in range(256)))
            for index in pending:
                position = -1 if index in found else self._first_unique(index, size, once)
                if position >= 0:
                    found[index] = self._fragment(position, size)
        for size in FEW_WORDS:
            missing = [index for index in pending if index not in found]
            found |= self._unique_short_runs(missing, size)
        return found

    def _unique_short_runs(self, pending: Sequence[int], size: int) -> dict[int, FragmentText]:
        """Map blocks to their first run of exactly `size` words that is unique, if any."""
        runs = [
            (index, self.starts[number])
            for index in pending
            for number in self.runs_of(index)
            if self.size(number) == size
        ]
        unique = self._unique_positions([position for _, position in runs], size)
        found: dict[int, FragmentText] = {}
        for index, position in runs:
            if position in unique and index not in found:
                found[index] = self._fragment(position, size)
        return found

    def _first_unique(self, index: int, size: int, once: bytearray) -> int:
        """Return the position of the block's first unique run of `size` words; -1 if none."""
        starts = self.starts
        for number in self.runs_of(index):
            # A search in an empty range finds nothing.
            position = once.find(1, starts[number], max(starts[number + 1] - size + 1, 0))
            if position >= 0:
                return position
        return -1

    def _unique_positions(self, positions: Sequence[int], size: int) -> set[int]:
        """Return the positions whose next `size` words, fewer than `_SIZES[0]`, are unique."""
        # If more words from a position are repeated, so are the first ones.
        asked = {
            position: tuple(self.words[position : position + size])
            for position in positions
            if self.least[position] == _SIZES[0]
        }
        every = zip(*(islice(self.words, shift, None) for shift in range(size)), strict=False)
        counts = Counter(filter(set(asked.values()).__contains__, every)) if asked else {}
        return {position for position, words in asked.items() if counts[words] == 1}

    def runs_with_suffix(self, pending: Sequence[int]) -> dict[int, FragmentText]:
        """Map blocks to words at the end of a run with a suffix that makes them unique, if any."""
        few: dict[int, array[int]] = {}
        for number in (number for index in pending for number in self.runs_of(index)):
            for start, end in self._ranges_with_suffix(number):
                if end - start < _SIZES[0]:
                    few.setdefault(end - start, array("I")).append(start)
        unique = {size: self._unique_positions(positions, size) for size, positions in few.items()}
        fragments = {index: self._with_suffix(index, unique) for index in pending}
        return {index: quote for index, quote in fragments.items() if quote is not None}

    def _ranges_with_suffix(self, number: int) -> Iterator[_WordRange]:
        """Yield the last words of a run with one word of the next run, then two, and so on.

        The next run may be the first one of the next block.
        """
        if number + 2 < len(self.starts):
            start = self.starts[number + 1]
            before = min(self.size(number), SUFFIX_WORDS)
            for ahead in range(1, min(SUFFIX_WORDS, self.size(number + 1)) + 1):
                yield start - before, start + ahead

    def _with_suffix(self, index: int, unique: Mapping[int, Set[int]]) -> FragmentText | None:
        """Return the block's first unique text with suffix; None if there is none."""
        block = self.blocks[index]
        text = " ".join(block.unfenced_text.split())
        tries = 0
        for number in self.runs_of(index):
            words_ahead = enumerate(self._ranges_with_suffix(number), 1)
            ahead = next((size for size, at in words_ahead if self._is_unique(at, unique)), 0)
            if not ahead:
                continue
            run, after = self.run(number), self.run(number + 1)
            if _are_adjacent(text, run, after, number + 1 in self.runs_of(index)):
                # Only blanks may separate text and suffix, so punctuation is included.
                last = max(run.size - SUFFIX_WORDS, 0)
                return FragmentText(run.end_from(last), after.begin_to(ahead))
            tries += 1
            if tries == _MAX_ADJACENCY_CHECKS:
                break
        return None

    def _is_unique(self, words: _WordRange, unique: Mapping[int, Set[int]]) -> bool:
        """Whether these words are unique on the page; `unique` has the answer for few words."""
        start, end = words
        few = unique.get(end - start)
        return start in few if few is not None else self.least[start] <= end - start


def _are_adjacent(text: str, run: _Run, after: _Run, inside: bool) -> bool:
    """Whether only blanks are between two runs of a text: no maths and no image."""
    if inside:
        return f"{run.text} {after.text}" in text or f"{run.text}{after.text}" in text
    return text.endswith(run.text)


def clean_runs(block: Block) -> list[str]:
    """Return a block's clean runs.

    They are also split where the page may differ from the source: `--` becomes a dash, `:name:` an
    emoji, and a listing keeps wide blanks, where a text fragment has one space. Parts of a word
    that contains mark-up are dropped.
    """
    runs: list[str] = []
    kept = block.runs
    if block.kind is BlockKind.CODE:
        kept = _WIDE_BLANK.sub(RUN_BOUNDARY, kept)
    for glued in kept.split(RUN_BOUNDARY):
        run = glued
        while RUN_GLUE in run:
            run = _GLUED.sub("", run, count=1) if _GLUED.search(run) else run.replace(RUN_GLUE, "")
        if "--" in run or ":" in run:
            runs.extend(piece.strip() for piece in _UNSURE.split(run))
        else:
            runs.append(run.strip())
    return [" ".join(run.split()) for run in runs if run]
