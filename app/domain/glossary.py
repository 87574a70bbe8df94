"""A book's glossary, and which of its terms stand on a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.plurals import other_numbers
from app.domain.retrieval.definitions import referred_to, term_forms

_WORD = re.compile(r"\w+(?:[-\u2010\u2011]\w+)*")
_BETWEEN_WORDS = re.compile(r"\s+")
_AFTER_TERM = re.compile(r"\s*(?:(?::|[.;,\u2013\u2014-]+(?=\s))\s*)?")
_SIGNS = re.compile(r"(?P<before>[-.@#$%&/+!~^]*).*?(?P<after>[+#!]*)", re.DOTALL)

Words: TypeAlias = tuple[str, ...]
_Sought: TypeAlias = tuple[str, Words, str]
"""Signs, folded words, signs: "--lib" is "--", ("lib",), "" and "C++" is "", ("c",), "++"."""


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
    """As it stands on the page, capitals and plural, each once."""


def glossary_terms(passage: Passage) -> Iterator[GlossaryTerm]:
    """Yield the terms of a glossary entry; nothing for any other passage."""
    if passage.kind is not BlockKind.GLOSSARY_ENTRY:
        return
    definition = definition_in(passage)
    for term in passage.terms if definition else ():
        yield GlossaryTerm(term, definition, passage.paragraph_id, passage.url)


def definition_in(passage: Passage) -> str:
    """The text without the terms in front of it."""
    text = passage.text
    for term in passage.terms:
        if text.casefold().startswith(term.casefold()):
            text = _AFTER_TERM.sub("", text[len(term) :], count=1)
    return text


def with_references(terms: Sequence[GlossaryTerm]) -> dict[GlossaryTerm, GlossaryTerm]:
    """Each term as it is to be explained: one that only says "See posting." as posting is."""
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
    """Finds terms as whole words, the longest at each place, the English plural included; of
    "rank fusion (RF)" either name.

    Capitals do not matter, but for a name without a small letter: "IT" is not "it". Signs before
    and after it do: "-a" is not "a", nor "C++" what "C" is.
    """

    _by_first_word: Mapping[str, Sequence[tuple[_Sought, _Named]]] = field(repr=False)

    @classmethod
    def of(cls, terms: Iterable[GlossaryTerm]) -> TermFinder:
        """Of entries with the same term the first counts; one with just this term before one with
        its plural.
        """
        found: dict[str, dict[_Sought, _Named]] = {}
        named = [
            (name, entry)
            for entry in terms
            for name in term_forms(entry.term)
            if len(name) > 1 or name == entry.term  # of "entropy (S)" the S is in any text
        ]
        for numbers in (_as_it_is, other_numbers):
            for name, entry in named:
                for sought in _variants(name, numbers):
                    found.setdefault(sought[1][0], {}).setdefault(sought, (name, entry))
        return cls(
            {
                first: sorted(entries.items(), key=lambda item: _longest_first(*item[0]))
                for first, entries in found.items()
            }
        )

    def find(self, passages: Iterable[Passage]) -> list[TermOnPage]:
        """Return the terms in the passages' texts, in the order in which they first appear.

        That an entry of the glossary names its own term does not count.
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
            for (before, candidate, after), (name, entry) in self._by_first_word.get(
                folded[at], ()
            ):
                last = at + len(candidate)
                if tuple(folded[at:last]) != candidate or not _run_on(text, words[at:last]):
                    continue
                start, end = words[at].start() - len(before), words[last - 1].end() + len(after)
                form = text[max(0, start) : end]
                signed = form.startswith(before) and form.endswith(after)
                if signed and (name in form or not name.isupper()):
                    yield entry, form
                    length = len(candidate)
                    break
            at += length


def _longest_first(before: str, words: Words, after: str) -> tuple[int, int]:
    return -len(words), -len(before + after)


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
