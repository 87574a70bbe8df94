"""A book's glossary: its entries, and its terms on a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.english import other_numbers
from app.domain.retrieval.definition_terms import referred_to, term_forms

_WORD = re.compile(r"\w+(?:[-\u2010\u2011]\w+)*")
_BETWEEN_WORDS = re.compile(r"\s+")
_AFTER_TERM = re.compile(r"\s*(?:(?::|[.;,\u2013\u2014-]+(?=\s))\s*)?")
_SIGNS = re.compile(r"(?P<before>[-.@#$%&/+!~^]*).*?(?P<after>[+#!]*)", re.DOTALL)

Words: TypeAlias = tuple[str, ...]
_Sought: TypeAlias = tuple[str, Words, str]
"""(signs, folded words, signs): "--lib" is "--", ("lib",), "" and "C++" is "", ("c",), "++"."""


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    term: str
    definition: str
    paragraph_id: str
    url: str
    """Opens the glossary at the entry."""


_Named: TypeAlias = tuple[str, GlossaryTerm]
"""A name of the term, and its entry."""


@dataclass(frozen=True, slots=True)
class TermOnPage:
    entry: GlossaryTerm
    forms: tuple[str, ...]
    """The distinct forms on the page, with capitals and plurals."""


def glossary_terms(passage: Passage) -> Iterator[GlossaryTerm]:
    """Yield the terms of a glossary entry; nothing for any other passage."""
    if passage.kind is not BlockKind.GLOSSARY_ENTRY:
        return
    definition = definition_in(passage)
    for term in passage.terms if definition else ():
        yield GlossaryTerm(term, definition, passage.paragraph_id, passage.url)


def definition_in(passage: Passage) -> str:
    """The text without the terms in front of it."""
    text, at = passage.text, 0
    for term in passage.terms:
        folded = term.casefold()
        # Case folding never shortens a text, so this prefix is enough.
        if text[at : at + len(folded)].casefold().startswith(folded):
            after = _AFTER_TERM.match(text, at + len(term))
            at = after.end() if after else len(text)
    return text[at:]


def with_references(terms: Sequence[GlossaryTerm]) -> dict[GlossaryTerm, GlossaryTerm]:
    """Term to explanation: an entry that only says "See posting." gets that of posting."""
    named: dict[str, GlossaryTerm] = {}
    for entry in terms:
        for name in term_forms(entry.term):
            named.setdefault(name.casefold(), entry)
    return {entry: _followed(entry, named) for entry in terms}


def _followed(entry: GlossaryTerm, named: Mapping[str, GlossaryTerm]) -> GlossaryTerm:
    target = named.get(referred_to(entry.definition).casefold())
    if target is None or referred_to(target.definition):
        return entry
    return replace(target, term=entry.term)


@dataclass(frozen=True, slots=True)
class TermFinder:
    """Finds terms as whole words, also in the English plural; the longest match wins.

    "rank fusion (RF)" is found by either name. Case does not matter, except for names without a
    lower-case letter: "IT" is not "it". Signs before and after a term matter: "-a" is not "a",
    "C++" is not "C".
    """

    _by_words: Mapping[Words, _Signed] = field(repr=False)
    _lengths: Mapping[str, Sequence[int]] = field(repr=False)
    """First word to the lengths, in words, of the terms that begin with it, descending."""

    @classmethod
    def of(cls, terms: Iterable[GlossaryTerm]) -> TermFinder:
        """Build the finder. Of entries with one term the first counts; exact terms come before
        plurals.
        """
        found: dict[Words, dict[tuple[str, str], _Named]] = {}
        named = [
            (name, entry)
            for entry in terms
            for name in term_forms(entry.term)
            if len(name) > 1 or name == entry.term  # the S of "entropy (S)" is in any text
        ]
        for numbers in (_as_it_is, other_numbers):
            for name, entry in named:
                for before, words, after in _variants(name, numbers):
                    found.setdefault(words, {}).setdefault((before, after), (name, entry))
        lengths: dict[str, set[int]] = {}
        for words in found:
            lengths.setdefault(words[0], set()).add(len(words))
        return cls(
            {words: _Signed.of(signed) for words, signed in found.items()},
            {first: sorted(counts, reverse=True) for first, counts in lengths.items()},
        )

    def find(self, passages: Iterable[Passage]) -> list[TermOnPage]:
        """Return the terms in the passages' texts, in the order of their first appearance.

        A term in its own glossary entry does not count.
        """
        forms: dict[GlossaryTerm, dict[str, None]] = {}
        for passage in passages:
            named = passage.terms if passage.kind is BlockKind.GLOSSARY_ENTRY else ()
            own = {term.casefold() for term in named}
            for entry, form in self._in_text(passage.text):
                if entry.term.casefold() not in own:
                    forms.setdefault(entry, {})[form] = None
        return [TermOnPage(entry, tuple(found)) for entry, found in forms.items()]

    def _in_text(self, text: str) -> Iterator[tuple[GlossaryTerm, str]]:
        words = list(_WORD.finditer(text))
        folded = [word[0].casefold() for word in words]
        at = 0
        while at < len(words):
            length = 1
            for count in self._lengths.get(folded[at], ()):
                stretch = words[at : at + count]
                signed = self._by_words.get(tuple(folded[at : at + count]))
                if signed is None or len(stretch) < count or not _run_on(text, stretch):
                    continue
                named = signed.at(text, stretch[0].start(), stretch[-1].end())
                if named:
                    yield named
                    length = count
                    break
            at += length


@dataclass(frozen=True, slots=True)
class _Signed:
    """Terms of the same words, distinguished by the signs before and after them."""

    by_signs: Mapping[tuple[str, str], tuple[int, _Named]]
    """The terms with their positions."""
    sizes: Sequence[tuple[int, int]]
    """Numbers of signs before and after, descending."""

    @classmethod
    def of(cls, terms: Mapping[tuple[str, str], _Named]) -> _Signed:
        sizes = {(len(before), len(after)) for before, after in terms}
        placed = {signs: (place, named) for place, (signs, named) in enumerate(terms.items())}
        return cls(placed, sorted(sizes, key=sum, reverse=True))

    def at(self, text: str, start: int, end: int) -> tuple[GlossaryTerm, str] | None:
        """The term at this place with the most signs, and its form in the text."""
        found: tuple[int, int, GlossaryTerm, str] | None = None
        for before, after in self.sizes:
            if found and before + after < found[0]:
                break
            form = text[max(0, start - before) : end + after]
            if len(form) != before + (end - start) + after:
                continue
            known = self.by_signs.get((form[:before], form[len(form) - after :]))
            if known is None or (found and found[1] < known[0]):
                continue
            place, (name, entry) = known
            if name in form or not name.isupper():
                found = (before + after, place, entry, form)
        return found and (found[2], found[3])


def _run_on(text: str, words: Sequence[re.Match[str]]) -> bool:
    """Whether only blanks stand between the words."""
    return all(
        _BETWEEN_WORDS.fullmatch(text, one.end(), other.start()) for one, other in pairwise(words)
    )


def _as_it_is(word: str) -> Collection[str]:
    return (word,)


def _variants(term: str, numbers: Callable[[str], Collection[str]]) -> Iterator[_Sought]:
    words = [word[0].casefold() for word in _WORD.finditer(term)]
    signs = _SIGNS.fullmatch(term)
    if not words or not signs:
        return
    *before, last = words
    for form in numbers(last):
        yield signs["before"], (*before, form), signs["after"]
