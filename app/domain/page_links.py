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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from app.domain.document import RUN_BOUNDARY, RUN_GLUE, Block, BlockKind, Document, Span
from app.domain.links import (
    FEW_WORDS,
    LETTERS,
    NO_FRAGMENT,
    SUFFIX_WORDS,
    USUAL_WORDS,
    WORD,
    FragmentText,
    deep_link,
    fold_word,
)
from app.domain.notebooks import is_notebook
from app.domain.page_text import PageText
from app.domain.unique_phrases import NEVER, least_unique_sizes
from app.domain.urls import with_anchor

_GLUED = re.compile(rf"^{RUN_GLUE}['\u2019]?{LETTERS}|{LETTERS}{RUN_GLUE}$")
_UNSURE = re.compile(r"-{2,3}|(?<!\w):[a-z0-9_+-]+:(?!\w)")
_WIDE_BLANK = re.compile(rf"[^\S{RUN_GLUE}]{{2,}}|[^\S{RUN_GLUE} ]")
_FORMULA = re.compile(r"[$]|\\[(\[]")
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
    fragments = page.unique_runs(pending, USUAL_WORDS)
    pending = [index for index in pending if index not in fragments]
    page.look_up_few(pending)
    fragments |= page.unique_runs(pending, FEW_WORDS)
    for index in pending:
        if index not in fragments:
            fragments[index] = page.with_suffix(index)
    return [
        _link(document, block, fragments.get(index, NO_FRAGMENT))
        for index, block in enumerate(document.blocks)
    ]


def _link(document: Document, block: Block, quote: FragmentText) -> str:
    # A heading's anchor may differ from the author's id: Docusaurus gives titles none. A built page
    # is known to have the id.
    own = block.element_id or ("" if quote.text else block.author_id)
    has_own = own and block.kind is not BlockKind.HEADING
    url = with_anchor(document.url, own) if has_own else block.url
    return deep_link(url, quote.text, quote.suffix)


class _WordNumbers(dict[str, int]):
    """Maps each word to a number; words that are equal after folding have the same number."""

    def __init__(self) -> None:
        self._folded: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self._folded.setdefault(fold_word(word), len(self._folded))
        self[word] = number
        return number


@dataclass(slots=True)
class _Page:
    """A page as a sequence of folded words, each represented by a number.

    Numbers are kept in arrays: for a book in one file they would take hundreds of megabytes.
    """

    blocks: Sequence[Block]
    is_notebook: bool
    """Whether code may be followed by its output, which is not in the blocks."""
    runs: list[str] = field(default_factory=list)
    """The clean runs with words of all blocks, in order."""
    words: array[int] = field(default_factory=partial(array, "I"))
    starts: array[int] = field(default_factory=partial(array, "I"))
    """Run number -> position of its first word; the last element is the number of words."""
    first_runs: array[int] = field(default_factory=partial(array, "I"))
    """Block index -> number of its first run; the last element is the number of runs."""
    shown: PageText | None = None
    """The whole text of a built page, whose words follow those of the runs."""
    least: bytearray = field(default_factory=bytearray)
    """Position -> smallest number of words from there that are unique on the page, of `_SIZES` and,
    after `look_up_few`, `FEW_WORDS`."""

    @classmethod
    def of(cls, document: Document) -> _Page:
        page = cls(document.blocks, is_notebook(document.file), shown=document.shown)
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
                page.runs.append(text)
                page.starts.append(len(page.words))
                page.words.extend(map(numbers.__getitem__, words))
        page.first_runs.append(len(page.starts))
        page.starts.append(len(page.words))
        if document.shown is not None:
            page.words.extend(
                map(numbers.__getitem__, document.shown.words.replace("|", "").split())
            )
        page.least = least_unique_sizes(page.words, _SIZES, page.first_shown)
        return page

    @property
    def first_shown(self) -> int:
        """Position from which the words are those that the page shows, each once."""
        return 0 if self.shown is None else self.starts[-1]

    def runs_of(self, index: int) -> range:
        """Return the run numbers of a block."""
        return range(self.first_runs[index], self.first_runs[index + 1])

    def size(self, number: int) -> int:
        """Return the number of words in a run."""
        return self.starts[number + 1] - self.starts[number]

    def _fragment(self, position: int, size: int) -> FragmentText:
        """Return `size` words from `position` on, all of one run."""
        number = bisect_right(self.starts, position) - 1
        text, first = self.runs[number], position - self.starts[number]
        spans = _word_spans(text)[first : first + size]
        return FragmentText(text[spans[0][0] : spans[-1][1]])

    def unique_runs(self, pending: Iterable[int], sizes: Sequence[int]) -> dict[int, FragmentText]:
        """Map blocks to a clean run that is unique on the page, of the first size that has one."""
        found: dict[int, FragmentText] = {}
        for size in sizes:
            once = self.least.translate(bytes(least <= size for least in range(256)))
            for index in pending:
                position = -1 if index in found else self._first_unique(index, size, once)
                if position >= 0:
                    found[index] = self._fragment(position, size)
        return found

    def look_up_few(self, pending: Iterable[int]) -> None:
        """Lower `least` at the beginnings of short runs, where few words are unique."""
        # If more words from a position are repeated, so are the first ones. On a built page other
        # words may follow a run than the next run.
        unique = (_SIZES[0],) if self.shown is None else (*_SIZES, NEVER)
        short = [
            self.starts[number]
            for index in pending
            for number in self.runs_of(index)
            if self.size(number) < _SIZES[0] and self.least[self.starts[number]] in unique
        ]
        for size in FEW_WORDS if short else ():
            self._look_up(short, size)

    def _look_up(self, positions: Iterable[int], size: int) -> None:
        """Lower `least` where this number of words from a position is unique."""
        asked = {position: tuple(self.words[position : position + size]) for position in positions}
        first = self.first_shown
        every = zip(
            *(islice(self.words, first + shift, None) for shift in range(size)), strict=False
        )
        counts = Counter(filter(set(asked.values()).__contains__, every))
        for position, words in asked.items():
            if counts[words] == 1:
                self.least[position] = size

    def _first_unique(self, index: int, size: int, once: bytearray) -> int:
        """Return the position of the block's first unique run of `size` words; -1 if none."""
        starts = self.starts
        for number in self.runs_of(index):
            if size in FEW_WORDS and size != self.size(number):
                continue  # few words are quoted only if they are the whole run
            # A search in an empty range finds nothing.
            position = once.find(1, starts[number], max(starts[number + 1] - size + 1, 0))
            if position >= 0:
                return position
        return -1

    def _words_ahead(self, number: int) -> int:
        """Return how many words of the next run make a run's last words unique; 0 if none do.

        The next run may be the first one of the next block.
        """
        if number + 2 == len(self.starts):
            return 0
        before = min(self.size(number), SUFFIX_WORDS)
        least = self.least[self.starts[number + 1] - before]
        ahead = max(least - before, 1)
        return ahead if ahead <= min(SUFFIX_WORDS, self.size(number + 1)) else 0

    def _is_followed(self, index: int) -> bool:
        """Whether the page has an output or a formula between a block and the next words."""
        if self.is_notebook and self.blocks[index].kind is BlockKind.CODE:
            return True
        for following in range(index + 1, len(self.blocks)):
            block, runs = self.blocks[following], self.runs_of(following)
            if block.kind is BlockKind.MATH:
                return True
            if runs:
                text = " ".join(block.text.split())
                return _FORMULA.search(text.partition(self.runs[runs[0]])[0]) is not None
        return False

    def with_suffix(self, index: int) -> FragmentText:
        """Return the block's first words that are unique with a suffix, the end of a run."""
        block = self.blocks[index]
        text = " ".join(block.unfenced_text.split())
        numbered = block.runs.rstrip(f" \n{RUN_BOUNDARY}").endswith(
            RUN_GLUE
        )  # by a footnote's reference
        tries = 0
        for number in self.runs_of(index):
            ahead = self._words_ahead(number)
            if not ahead:
                continue
            run, after = self.runs[number], self.runs[number + 1]
            inside = number + 1 in self.runs_of(index)
            if not inside and (numbered or self._is_followed(index)):
                continue
            if _are_adjacent(text, run, after, inside):
                # Only blanks may separate text and suffix, so punctuation is included.
                first, last = _word_spans(run)[-SUFFIX_WORDS:][0], _word_spans(after)[ahead - 1]
                found = FragmentText(run[first[0] :], after[: last[1]])
                if self.shown is None or self.shown.count(found.text, found.suffix) == 1:
                    return found
            tries += 1
            if tries == _MAX_ADJACENCY_CHECKS:
                break
        return NO_FRAGMENT


def _word_spans(text: str) -> list[Span]:
    return [match.span() for match in WORD.finditer(text)]


def _are_adjacent(text: str, run: str, after: str, inside: bool) -> bool:
    """Whether only blanks are between two runs of a text: no maths and no image."""
    if inside:
        return f"{run} {after}" in text or f"{run}{after}" in text
    return text.endswith(run)


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
