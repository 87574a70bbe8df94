"""Glossary terms of a book, and the search for them on a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import itemgetter
from typing import TypeAlias

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.english import other_numbers
from app.domain.framed_text import without_fences
from app.domain.retrieval.definition_terms import referred_to, term_forms

_WORD = re.compile(r"\w+(?:[-\u2010\u2011]\w+)*")
_BETWEEN_WORDS = re.compile(r"\s+")
_AFTER_TERM = re.compile(r"\s*(?:(?::|[.;,\u2013\u2014-]+(?=\s))\s*)?")
_SIGNS = re.compile(r"(?P<before>[-.@#$%&/+!~^]*).*?(?P<after>[+#!]*)", re.DOTALL)

_Words: TypeAlias = tuple[str, ...]
_SignedWords: TypeAlias = tuple[str, _Words, str]
"""(signs before, folded words, signs after): "C++" is ("", ("c",), "++")."""


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    term: str
    definition: str
    paragraph_id: str
    url: str
    """Deep link to the entry."""


_NamedEntry: TypeAlias = tuple[str, GlossaryTerm]
"""(a form of the term, its entry)."""


@dataclass(frozen=True, slots=True)
class TermOnPage:
    entry: GlossaryTerm
    forms: tuple[str, ...]
    """Distinct spellings on the page, with capitals and plurals."""


def glossary_terms(passage: Passage) -> Iterator[GlossaryTerm]:
    """Yield the terms of a glossary entry, as plain text; nothing for other passages."""
    if passage.kind is not BlockKind.GLOSSARY_ENTRY:
        return
    definition = without_fences(definition_in(passage))
    for term in passage.terms if definition else ():
        yield GlossaryTerm(term, definition, passage.paragraph_id, passage.url)


def definition_in(passage: Passage) -> str:
    """Return the passage's text without the leading terms."""
    text, at = passage.text, 0
    for term in passage.terms:
        folded = term.casefold()
        # Case folding never shortens a text, so a slice of this length is enough.
        if text[at : at + len(folded)].casefold().startswith(folded):
            after = _AFTER_TERM.match(text, at + len(term))
            at = after.end() if after else len(text)
    return text[at:]


def with_references(terms: Sequence[GlossaryTerm]) -> dict[GlossaryTerm, GlossaryTerm]:
    """Map each term to its explanation; entries such as "See posting." are resolved."""
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
    """Finds terms as whole words, the longest match first.

    English plurals and each form of "rank fusion (RF)" match. Case is ignored unless the term is
    all capitals: "IT" does not match "it". Signs around a term are part of it: "C++" is not "C".
    """

    _by_words: Mapping[_Words, _SignVariants] = field(repr=False)
    _lengths: Mapping[str, Sequence[int]] = field(repr=False)
    """First word -> word counts of the terms that begin with it, descending."""

    @classmethod
    def of(cls, terms: Iterable[GlossaryTerm]) -> TermFinder:
        """Index the terms. The first entry of a form wins; an exact form wins over a plural."""
        found: dict[_Words, dict[tuple[str, str], _NamedEntry]] = {}
        named = list(_named_forms(terms))
        for numbers in (_unchanged, other_numbers):
            for name, entry in named:
                for before, words, after in _variants(name, numbers):
                    found.setdefault(words, {}).setdefault((before, after), (name, entry))
        lengths: dict[str, set[int]] = {}
        for words in found:
            lengths.setdefault(words[0], set()).add(len(words))
        return cls(
            {words: _SignVariants.of(signed) for words, signed in found.items()},
            {first: sorted(counts, reverse=True) for first, counts in lengths.items()},
        )

    def find(self, passages: Iterable[Passage]) -> list[TermOnPage]:
        """Return the terms in the passages' texts in order of first occurrence.

        A term inside its own glossary entry does not count.
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
                if signed is None or len(stretch) < count or not _are_adjacent(text, stretch):
                    continue
                named = signed.at(text, stretch[0].start(), stretch[-1].end())
                if named:
                    yield named
                    length = count
                    break
            at += length


@dataclass(frozen=True, slots=True)
class _SignVariants:
    """Terms with equal words that differ in the signs before and after them."""

    by_signs: Mapping[tuple[str, str], tuple[int, _NamedEntry]]
    """(signs before, signs after) -> (rank among the variants, named entry)."""
    sizes: Collection[tuple[int, int]]
    """(number of signs before, number of signs after)."""

    @classmethod
    def of(cls, terms: Mapping[tuple[str, str], _NamedEntry]) -> _SignVariants:
        sizes = {(len(before), len(after)) for before, after in terms}
        ranked = {signs: (rank, named) for rank, (signs, named) in enumerate(terms.items())}
        return cls(ranked, sizes)

    def at(self, text: str, start: int, end: int) -> tuple[GlossaryTerm, str] | None:
        """Return the entry at `text[start:end]` with most matching signs, and its form there."""
        found = [match for size in self.sizes if (match := self._match(text, start, end, size))]
        return max(found, key=itemgetter(0))[1] if found else None

    def _match(
        self, text: str, start: int, end: int, size: tuple[int, int]
    ) -> tuple[tuple[int, int], tuple[GlossaryTerm, str]] | None:
        """Match with `size` signs: ((signs, negative rank), (entry, form)), or None."""
        before, after = size
        if before > start or end + after > len(text):
            return None
        form = text[start - before : end + after]
        known = self.by_signs.get((form[:before], form[len(form) - after :]))
        if known is None:
            return None
        rank, (name, entry) = known
        if name.isupper() and name not in form:
            return None
        return (before + after, -rank), (entry, form)


def _named_forms(terms: Iterable[GlossaryTerm]) -> Iterator[_NamedEntry]:
    for entry in terms:
        for name in term_forms(entry.term):
            if len(name) > 1 or name == entry.term:  # the S of "entropy (S)" would match anywhere
                yield name, entry


def _are_adjacent(text: str, words: Sequence[re.Match[str]]) -> bool:
    """Whether only blanks are between the words."""
    return all(
        _BETWEEN_WORDS.fullmatch(text, one.end(), other.start()) for one, other in pairwise(words)
    )


def _unchanged(word: str) -> Collection[str]:
    return (word,)


def _variants(term: str, numbers: Callable[[str], Collection[str]]) -> Iterator[_SignedWords]:
    words = [word[0].casefold() for word in _WORD.finditer(term)]
    signs = _SIGNS.fullmatch(term)
    if not words or not signs:
        return
    *before, last = words
    for form in numbers(last):
        yield signs["before"], (*before, form), signs["after"]
