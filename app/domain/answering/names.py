"""Whether something is named by the very words that were asked for, which one stem may hide."""

from __future__ import annotations

from typing import TypeAlias

from app.domain.english import other_numbers
from app.domain.retrieval.definition_terms import term_forms
from app.domain.terms import words

Name: TypeAlias = tuple[str, ...]
"""Words as `words` gives them."""


def term_match_score(term: str, name: Name) -> int:
    """2 if the term, or its abbreviation, is just these words, 1 if but for the plural, else 0.

    Terms of one stem are told apart by it: hybrid and hybridization, test and testes.
    """
    readings = {tuple(words(form)) for form in term_forms(term)}
    if name in readings:
        return 2
    return int(any(_same_but_for_number(name, reading) for reading in readings))


def _same_but_for_number(name: Name, other: Name) -> bool:
    if not name or not other or name[:-1] != other[:-1]:
        return False
    return other[-1] in other_numbers(name[-1])
