"""The deep link of each block of a page.

A text fragment fails if it crosses inline maths, a footnote reference, a line break or a block
boundary, and it finds the first match on the page. So its text is from a *clean run*: whole words
without a mark-up boundary, the shortest of at least four words that is unique on the page. If a
paragraph has none, because it is repeated, its last words are quoted with the following words as
suffix; a prefix does not work after a heading.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from sys import intern
from typing import TypeAlias

from app.domain.document import RUN_BOUNDARY, RUN_GLUE, Block, BlockKind, Document, Span
from app.domain.links import (
    FEW_WORDS,
    LETTERS,
    SUFFIX_WORDS,
    USUAL_WORDS,
    WORD,
    PageText,
    deep_link,
    folded_words,
    spaced,
)
from app.domain.urls import with_anchor

Quote: TypeAlias = tuple[str, str]
"""The words of a text fragment, and the suffix that makes them unique."""
NO_QUOTE: Quote = ("", "")
_GLUED = re.compile(rf"^{RUN_GLUE}['\u2019]?{LETTERS}|{LETTERS}{RUN_GLUE}$")
_UNSURE = re.compile(r"-{2,3}|(?<!\w):[a-z0-9_+-]+:(?!\w)")
_FORMULA = re.compile(r"[$]|\\[(\[]")
_MAX_WINDOWS = 32
"""Limit on the places of a block at which as many words are tried: it bounds the memory."""
_MAX_COUNTS = 1_000
"""Limit on the searches of a page's text for a suffix, each of which reads the whole text."""


def page_links(document: Document) -> list[str]:
    """Return the deep link of each block of the page, in order.

    A heading's link has an anchor only. A block without text to quote, such as a figure or formula,
    is linked by its author's id if it has one. Time and memory are linear in the page's length.
    """
    quotes = _Page(document).quotes()
    links = []
    for block, (quote, suffix) in zip(document.blocks, quotes, strict=True):
        # A heading's anchor may differ from the author's id: Docusaurus gives titles none. A built
        # page is known to have the id.
        own = block.element_id or ("" if quote else block.author_id)
        has_own = own and block.kind is not BlockKind.HEADING
        url = with_anchor(document.url, own) if has_own else block.url
        links.append(deep_link(url, quote, suffix))
    return links


class _Page:
    def __init__(self, document: Document) -> None:
        self._blocks = document.blocks
        self._runs = [clean_runs(block) for block in document.blocks]
        # The words of a page are many times the same.
        self._words = [[[*map(intern, folded_words(run))] for run in runs] for runs in self._runs]
        titled = any(block.text == document.title for block in document.blocks[:1])
        title = "" if titled else document.title
        said = [folded_words(title), *map(chain.from_iterable, self._words)]
        self._text = document.shown or PageText(" | ".join(map(spaced, said)))
        self._said = [*map(intern, self._text.words.split())]
        self._counts = _MAX_COUNTS

    def quotes(self) -> list[Quote]:
        """Return what the link of each block quotes; nothing for headings."""
        found = [NO_QUOTE] * len(self._blocks)
        pending = [
            at
            for at, block in enumerate(self._blocks)
            if block.kind is not BlockKind.HEADING and self._runs[at]
        ]
        sizes = [(size, _MAX_WINDOWS) for size in (*USUAL_WORDS, *FEW_WORDS)]
        for size, most in [(USUAL_WORDS[0], 2), *sizes]:
            found_now = dict(self._unique(pending, size, most))
            for at, words in found_now.items():
                found[at] = words, ""
            pending = [at for at in pending if at not in found_now]
        for at in pending:
            pairs = self._neighbours(at)
            found[at] = next(filter(any, (self._with_suffix(*pair) for pair in pairs)), NO_QUOTE)
        return found

    def _unique(self, pending: Sequence[int], size: int, most: int) -> Iterator[tuple[int, str]]:
        """Yield the blocks of which `size` words of a run are on the page once, with these words.

        Few words are quoted only if they are a whole run.
        """
        # The windows are made twice, since all of them would take more memory than the page.
        asked = {words for at in pending for words, _, _ in self._windows(at, size, most)}
        said = self._said if asked else []
        every = zip(*(islice(said, shift, None) for shift in range(size)), strict=False)
        counts = Counter(filter(asked.__contains__, every))
        for at in pending:
            windows = self._windows(at, size, most)
            unique = ((run, first) for words, run, first in windows if counts[words] == 1)
            for run, first in islice(unique, 1):
                spans = [*islice(_word_spans(run), first, first + size)]
                yield at, run[spans[0][0] : spans[-1][1]]

    def _windows(self, at: int, size: int, left: int) -> Iterator[tuple[tuple[str, ...], str, int]]:
        """Yield the folded words of each window, its run, and the number of its first word."""
        for run, words in zip(self._runs[at], self._words[at], strict=True):
            if size not in FEW_WORDS or size == len(words):
                for first in range(min(len(words) - size + 1, left)):
                    yield tuple(words[first : first + size]), run, first
                    left -= 1

    def _neighbours(self, at: int) -> Iterator[tuple[str, str]]:
        """Yield runs of a block, each with the one that directly follows it on the page."""
        block, runs = self._blocks[at], self._runs[at]
        text = " ".join(block.unfenced_text.split())
        for run, after in pairwise(runs):
            if f"{run} {after}" in text or f"{run}{after}" in text:
                yield run, after
        # By a footnote's reference, which the page shows as a number.
        numbered = block.runs.rstrip(f" \n{RUN_BOUNDARY}").endswith(RUN_GLUE)
        if not numbered and text.endswith(runs[-1]) and not self._is_followed(at):
            yield runs[-1], next((one[0] for one in self._runs[at + 1 :] if one), "")

    def _with_suffix(self, run: str, after: str) -> Quote:
        """Return the last words of a run with the words after it that make them unique."""
        ending = [*_word_spans(run)][-SUFFIX_WORDS:]
        for _, end in islice(_word_spans(after), SUFFIX_WORDS) if ending else ():
            # Only blanks may separate text and suffix, so punctuation is included.
            found = run[ending[0][0] :], after[:end]
            self._counts -= 1
            if self._counts >= 0 and self._text.count(*found) == 1:
                return found
        return NO_QUOTE

    def _is_followed(self, at: int) -> bool:
        """Whether the page has a formula between a block and the next words."""
        for block, runs in zip(self._blocks[at + 1 :], self._runs[at + 1 :], strict=True):
            if block.kind is BlockKind.MATH:
                return True
            if runs:
                text = " ".join(block.text.split())
                return _FORMULA.search(text.partition(runs[0])[0]) is not None
        return False


def _word_spans(text: str) -> Iterator[Span]:
    return (match.span() for match in WORD.finditer(text))


def clean_runs(block: Block) -> list[str]:
    """Return a block's clean runs, each with a word.

    They are also split where the page may differ from the source: `--` becomes a dash, `:name:` an
    emoji. Parts of a word that contains mark-up are dropped.
    """
    runs: list[str] = []
    for glued in block.runs.split(RUN_BOUNDARY):
        run = glued
        while RUN_GLUE in run:
            run = _GLUED.sub("", run, count=1) if _GLUED.search(run) else run.replace(RUN_GLUE, "")
        runs += _UNSURE.split(run) if "--" in run or ":" in run else [run]
    return [" ".join(run.split()) for run in runs if WORD.search(run)]
