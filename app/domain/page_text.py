"""The text of a page, in which quotes are searched for, to make links and to check them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from app.domain.links import (
    COMBINING_MARKS,
    FEW_WORDS,
    NO_FRAGMENT,
    SUFFIX_WORDS,
    TEXT_DIRECTIVE,
    USUAL_WORDS,
    WORD,
    FragmentText,
    deep_link,
    folded_words,
)

_PUNCTUATION = re.compile(rf"(?<!\d)[.,]|[.,](?!\d)|[^\w\s'\u2019.,{COMBINING_MARKS}-]|-{{2,}}|\n")
_SPACED = rf"{WORD.pattern}(?: {WORD.pattern})"
_LAST_WORDS = re.compile(rf"{_SPACED}{{0,{SUFFIX_WORDS - 1}}}[^\w\s]{{0,3}}\Z")
_FIRST_WORDS = re.compile(
    rf"\s*(?:[-*+]\s|\d+[.)]\s)?\s*(?P<words>{_SPACED}{{0,{SUFFIX_WORDS - 1}}})"
)
"""The first words of a text, without the marker of a list item."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The folded words of a page, headings included, for links to quotes."""

    words: str
    """Each word has a blank on both sides; " | " separates blocks."""

    @classmethod
    def of(cls, blocks: Iterable[str]) -> PageText:
        return cls(" | ".join(folded_words(block) for block in blocks))

    def count(self, quote: str, suffix: str = "") -> int:
        """Return whether these words are on the page, followed by the suffix: 0, 1, 2 or more.

        A block boundary is allowed only between quote and suffix.
        """
        wanted = folded_words(quote)
        if not suffix:
            return self._count(wanted)
        behind = folded_words(suffix)
        return self._count(wanted + behind) + self._count(f"{wanted} | {behind}")

    def _count(self, folded: str) -> int:
        """Return 0, 1, or 2 for more; those that overlap are two, as "row row" in "row row row"."""
        first = self.words.find(folded)
        return 0 if first < 0 else 1 + (self.words.find(folded, first + 1) >= 0)

    def link(self, url: str, quote: str, following: str = "") -> str:
        """Return a deep link to words of the quote that are unique on the page; else to its end
        with words of the following text that make it unique; else `url`.

        The words are between two punctuation marks, since the page may show more at a mark, such as
        a footnote's number.
        """
        address = url.partition(TEXT_DIRECTIVE)[0]
        run = self._unique_run(quote)
        found = FragmentText(run) if run else self._end_with_suffix(quote, following)
        return deep_link(address.removesuffix("#"), found.text, found.suffix) if found.text else url

    def _end_with_suffix(self, quote: str, following: str) -> FragmentText:
        end, begin = _LAST_WORDS.search(quote), _FIRST_WORDS.match(following)
        if end is None or begin is None:
            return NO_FRAGMENT
        for word in WORD.finditer(begin["words"]):
            suffix = begin["words"][: word.end()]
            if self.count(end.group(), suffix) == 1:
                return FragmentText(end.group(), suffix)
        return NO_FRAGMENT

    def _unique_run(self, quote: str) -> str:
        stretches = _PUNCTUATION.split(quote)
        for size in (*USUAL_WORDS, *FEW_WORDS):
            for stretch in stretches:
                spans = [match.span() for match in WORD.finditer(stretch)]
                if size in FEW_WORDS and size != len(spans):
                    continue  # fewer than four words are linked only if they are the whole stretch
                for first, last in zip(spans, spans[size - 1 :], strict=False):
                    run = stretch[first[0] : last[1]]
                    if self.count(run) == 1:
                        return run
        return ""


def leads_to(url: str, quote: str) -> bool:
    """Whether the link's text fragment is words of the quote."""
    own = url.partition(TEXT_DIRECTIVE)[2]
    return bool(own) and "&" not in own and folded_words(unquote(own)) in folded_words(quote)


@dataclass(frozen=True, slots=True)
class BuiltPage:
    """A page that a site generator built: the ids of its elements, and its text as it is shown."""

    ids: frozenset[str]
    text: PageText

    def fault(self, url: str) -> str:
        """Return the fault of a link to this page; "" if its anchor and quote are found."""
        anchor, _, directive = urlsplit(url).fragment.partition(TEXT_DIRECTIVE)
        if anchor and unquote(anchor) not in self.ids:
            return f"no element has the id {unquote(anchor)!r}"
        if not directive:
            return ""
        quote, _, suffix = directive.partition(",-")
        found = self.text.count(unquote(quote), unquote(suffix))
        if found == 1:
            return ""
        shown = " ".join(part for part in (unquote(quote), unquote(suffix)) if part)
        return f"the quote is not unique: {shown!r}" if found else f"no quote {shown!r}"
