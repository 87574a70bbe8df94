"""A book's glossary, and which of its terms stand on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.retrieval.definitions import referred_to, term_forms

_WORD = re.compile(r"\w+(?:[-\u2010\u2011]\w+)*")
_BETWEEN_WORDS = re.compile(r"\s+")
_AFTER_TERM = " \t\n:.;,-\u2013\u2014"

Words: TypeAlias = tuple[str, ...]


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
    for term in passage.terms:
        text = passage.text
        named = text.casefold().startswith(term.casefold())
        definition = text[len(term) :].lstrip(_AFTER_TERM) if named else text
        yield GlossaryTerm(term, definition, passage.paragraph_id, passage.url)


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

    Capitals do not matter, but for a name without a small letter: "IT" is not "it".
    """

    _by_first_word: Mapping[str, Sequence[tuple[Words, _Named]]] = field(repr=False)

    @classmethod
    def of(cls, terms: Iterable[GlossaryTerm]) -> TermFinder:
        """Of entries with the same term the first counts."""
        found: dict[str, dict[Words, _Named]] = {}
        for entry in terms:
            for name in term_forms(entry.term):
                for words in _variants(name):
                    found.setdefault(words[0], {}).setdefault(words, (name, entry))
        return cls(
            {
                first: sorted(entries.items(), key=lambda item: -len(item[0]))
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
            for candidate, (name, entry) in self._by_first_word.get(folded[at], ()):
                end = at + len(candidate)
                if tuple(folded[at:end]) == candidate and _run_on(text, words[at:end]):
                    form = text[words[at].start() : words[end - 1].end()]
                    if name in form or not name.isupper():
                        yield entry, form
                        length = len(candidate)
                        break
            at += length


def _run_on(text: str, words: Sequence[re.Match[str]]) -> bool:
    """Whether only blanks stand between the words."""
    return all(
        _BETWEEN_WORDS.fullmatch(text, one.end(), other.start()) for one, other in pairwise(words)
    )


def _variants(term: str) -> Iterator[Words]:
    words = [word[0].casefold() for word in _WORD.finditer(term)]
    if not words:
        return
    *before, last = words
    for form in (last, f"{last}s", f"{last}es", f"{last[:-1]}ies" if last.endswith("y") else last):
        yield (*before, form)
