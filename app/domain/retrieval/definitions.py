"""Questions that ask what a term is: "What is osmosis?", "define osmosis", "Was heißt Osmose?".

Stop words take most of such a question away; with the words of this list gone too, only the term
is left. So no pattern of a question is needed: a question whose terms are just those of a defined
term asks for its definition.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

from app.domain.abbreviations import long_form

QUESTION_FRAME_WORDS = {
    "en": "define defined definition mean means meaning meant term word concept explain stand"
    " describe tell work works point purpose idea basics introduction",
    "es": "define definir definición significa significado término palabra concepto explica"
    " funciona funcionan sirve sirven idea introducción",
    "fr": "définir définis définition signifie signification veut dire terme mot concept explique"
    " fonctionne fonctionnent sert servent idée introduction",
    "de": "definiere definition bedeutet bedeutung heißt begriff wort versteht erkläre"
    " funktioniert funktionieren zweck idee grundlagen einführung",
    "pt": "defina definir definição significa significado termo palavra conceito explique"
    " funciona funcionam serve servem ideia introdução",
    "it": "definire definisci definizione significa significato termine parola concetto spiega"
    " funziona funzionano serve servono idea introduzione",
}
"""By language; what stands round the term in a question for it, and in a heading that names it."""

_NUMBER = re.compile(r"\d+(?:\.\d+)*[.:)]?\s+")
_MOTTO = re.compile(r":\s+|\s+[\u2013\u2014-]\s+")
_REFERS = re.compile(
    r"\W*(?:see|cf|siehe|véase|ver|voir|vedi)\b\.?(?: (?:also|auch|también|aussi|anche)\b)?:?"
    r" (?P<term>[^\s.!?]\S*?(?: [^\s.!?]\S*?){0,5}?)\W*",
    re.IGNORECASE,
)
_LONGEST_REFERENCE = 120  # characters
_BRACKETED = re.compile(r"([^()]*[^()\s])\s*\(([^()]+)\)\s*([^()\s][^()]*)?")
_ALSO = re.compile(r"\s*(?:also|or)\b,?\s*", re.IGNORECASE)


def term_forms(term: str) -> tuple[str, ...]:
    """The ways to say a term: "deoxyribonucleic acid (DNA)" goes by either name, too.

    "Frontal (coronal) plane" is either plane. Of "cortex (animal)" the word in brackets is no name,
    but tells which cortex.
    """
    match = _BRACKETED.fullmatch(term)
    if match is None:
        return (term,)
    named, inside, behind = match.groups()
    if behind:
        return term, f"{named} {behind}", f"{inside} {behind}"
    if inside.isalpha() and inside.islower() and not long_form(inside, named):
        return term, named
    return term, named, _ALSO.sub("", inside, count=1)


def heading_forms(heading: str) -> tuple[str, ...]:
    """What a heading may be the name of: its words without number, a call without arguments, and
    "Closures: Anonymous Functions" without the motto.
    """
    name = _NUMBER.sub("", heading, count=1) if heading[:1].isdigit() else heading
    before = _MOTTO.split(name, maxsplit=1)[0]
    return term_forms(name) if before == name else (*term_forms(name), *term_forms(before))


def referred_to(definition: str) -> str:
    """The term that a definition only refers to, "See lock file."; "" where it says something."""
    match = _REFERS.fullmatch(definition) if len(definition) <= _LONGEST_REFERENCE else None
    return match["term"] if match else ""


def definition_targets(
    terms: Sequence[int], frame_words: Collection[int]
) -> frozenset[tuple[int, ...]]:
    """What the question may ask the definition of: all its terms, or all but the frame_words."""
    bare = tuple(term for term in terms if term not in frame_words)
    return frozenset(focus for focus in (tuple(terms), bare) if focus)


def definition_id(terms: Sequence[int]) -> int:
    """The term of a sparse vector that says "here this is defined": 32 bits, unsigned."""
    text = " ".join(map(str, terms))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
