"""Recognises text that defines a term, and text that states learning objectives."""

from __future__ import annotations

import re

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.glossary import definition_in
from app.domain.languages import LANGUAGES, in_any
from app.domain.retrieval.definition_terms import referred_to, term_forms
from app.domain.terms import Terms

_KIND = r"(?:an?|any|one|the|when|what|how|un[ae]?|l[ae]|el|eine?|d(?:er|ie|as)|uma?)\b"
_DEFINES = re.compile(
    rf"\b(?:is|are|was|were|es|son|ist|sind|est|sont|é|são)(?=\s+{_KIND})"
    r"|\b(?:means?|refers?\s+to|consists?\s+of|describes?|denotes?|involves?|represents?)\b"
    rf"|(?::|[\u2013\u2014]|\s-\s)(?=\s*(?-i:An?\b|{_KIND}))",
    re.IGNORECASE,
)
"""What follows a term that is defined, and not a label as in "Usage: Call it ..."."""
_CALLED = re.compile(
    r"\b(?:called|named|termed|dubbed|known as|referred to as|by the name of|llama[dns]*|genannt"
    r"|heißt|appelée?s?)\s+(?:(?:an?|the|un[ae]?|eine?)\s+)?"
    r"(?P<name>[^\s,;:.()]+(?:\s+[^\s,;:.()]+){0,4})",
    re.IGNORECASE,
)
_POINTS_AT = re.compile(r"\s*(?:this|that|these|those)\b", re.IGNORECASE)

ASKS_OBJECTIVES = " ".join(one.asks_objectives for one in LANGUAGES.values())
_OBJECTIVES = re.compile(rf"\b(?:{in_any(lambda one: one.objectives)})\b", re.IGNORECASE)


def defines(passage: Passage, asked: frozenset[int], terms: Terms) -> bool:
    """Whether the author marks a term of exactly these words, or its abbreviation, as defined here.

    False if the passage only refers to another definition.
    """
    marked = any(terms(form) == asked for term in passage.terms for form in term_forms(term))
    return marked and not only_refers(passage)


def only_refers(passage: Passage) -> bool:
    """Whether an entry only refers to another: "See lock file."."""
    return bool(referred_to(definition_in(passage)))


def subject_match(asked: frozenset[int], sentence: str, terms: Terms) -> float:
    """Score the subject of a defining sentence: the text before its verb.

    1 if it has exactly the asked terms, 1 / (1 + n) with n further terms, else 0.
    """
    found = _DEFINES.search(sentence)
    if not found or _POINTS_AT.match(sentence):
        return 0.0
    # "TCP (a protocol) is ..." is about TCP.
    readings = [terms(form) for form in term_forms(sentence[: found.start()])]
    return max(1 / (1 + len(one - asked)) if one >= asked else 0.0 for one in readings)


def names_term(asked: frozenset[int], sentence: str, terms: Terms) -> bool:
    """Whether the sentence names the term: "These pieces are known as tokens."."""
    for called in _CALLED.finditer(sentence):
        named = called["name"].split()
        if any(terms(" ".join(named[:size])) == asked for size in range(1, len(named) + 1)):
            return True
    return False


def states_objectives(passage: Passage, before: Passage | None) -> bool:
    """Whether the paragraph says what the reader will learn: "you will be able to: ...".

    `before` is the paragraph before it, which may announce a list.
    """
    text = passage.text.strip()
    announced = passage.kind is BlockKind.LIST and before is not None and _announces(before)
    titled = passage.kind is BlockKind.ADMONITION and _OBJECTIVES.match(text)
    headed = any(map(names_objectives, passage.heading_path[-1:]))
    return bool(headed or titled or announced or _announces(passage))


def names_objectives(heading: str) -> bool:
    """Whether a section with this heading states objectives."""
    return _OBJECTIVES.search(heading) is not None


def _announces(passage: Passage) -> bool:
    return passage.text.rstrip().endswith(":") and names_objectives(passage.text)
