"""Glossary terms of a book, and the search for them on a page."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.domain.chunking.chunk import Passage
from app.domain.definitions import definition_in, referred_to, term_forms
from app.domain.document import BlockKind
from app.domain.english import other_numbers
from app.domain.fences_and_tables import without_fences
from app.domain.languages import in_any

_GLOSSARY = re.compile(in_any("glossary"), re.IGNORECASE)
"""In the heading above the entries of a book's glossary."""
_WORD = re.compile(r"[-.@#$%&+~^]*\w+(?:[-\u2010\u2011]\w+)*[+#]*")
"""A word with the signs around it: `--lib`, `.gitignore`, `C++`."""


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    term: str
    definition: str
    paragraph_id: str
    url: str
    """Opens the book's site at the glossary's entry."""
    forms: tuple[str, ...] = ()
    """The forms of the term that occur in the page's text."""


def glossary_terms(passage: Passage) -> Iterator[GlossaryTerm]:
    """Yield the terms of a glossary entry, as plain text; nothing for other passages."""
    if passage.kind is not BlockKind.GLOSSARY_ENTRY:
        return
    definition = without_fences(definition_in(passage))
    for term in passage.terms if definition else ():
        yield GlossaryTerm(term, definition, passage.paragraph_id, passage.url)


def in_glossary(passage: Passage) -> bool:
    """Whether this is an entry under the heading of a glossary."""
    return passage.kind is BlockKind.GLOSSARY_ENTRY and any(
        map(_GLOSSARY.search, passage.heading_path)
    )


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


class TermFinder:
    """Finds terms as whole words, the longest match first.

    English plurals and each form of "rank fusion (RF)" match. Case is ignored unless the term is
    all capitals: "IT" does not match "it". Signs around a term are part of it: "C++" is not "C".
    """

    def __init__(self, terms: Iterable[GlossaryTerm]) -> None:
        """The first entry of a form wins; an exact form wins over a plural."""
        self._terms: dict[tuple[str, ...], tuple[str, GlossaryTerm]] = {}
        """Folded words -> a form of the term, and its entry."""
        named = list(_named_forms(terms))
        for name, entry in named:
            self._terms.setdefault(tuple(_folded(name)), (name, entry))
        for name, entry in named:
            *before, last = _folded(name)
            for form in other_numbers(last):
                self._terms.setdefault((*before, form), (name, entry))
        self._longest = max(map(len, self._terms), default=0)

    def find(self, passages: Iterable[Passage]) -> list[GlossaryTerm]:
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
        return [replace(entry, forms=tuple(found)) for entry, found in forms.items()]

    def _in_text(self, text: str) -> Iterator[tuple[GlossaryTerm, str]]:
        words = list(_WORD.finditer(text))
        folded = [word[0].casefold() for word in words]
        at = 0
        while at < len(words):
            length = 1
            for count in range(self._longest, 0, -1):
                name, entry = self._terms.get(tuple(folded[at : at + count]), ("", None))
                stretch = words[at : at + count]
                form = text[stretch[0].start() : stretch[-1].end()]
                said = name in form or not name.isupper()
                gaps = (text[a.end() : b.start()] for a, b in pairwise(stretch))
                if entry and said and all(map(str.isspace, gaps)):
                    yield entry, form
                    length = count
                    break
            at += length


def _folded(term: str) -> list[str]:
    return [word[0].casefold() for word in _WORD.finditer(term)]


def _named_forms(terms: Iterable[GlossaryTerm]) -> Iterator[tuple[str, GlossaryTerm]]:
    for entry in terms:
        for name in term_forms(entry.term):
            # The S of "entropy (S)" would match anywhere.
            if (len(name) > 1 or name == entry.term) and _WORD.search(name):
                yield name, entry
