"""Questions that ask what a term is: "What is osmosis?", "define osmosis", "Was heißt Osmose?".

Stop words take most of such a question away; with the words of this list gone too, only the term
is left. So no pattern of a question is needed: a question whose terms are just those of a defined
term asks for its definition.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

CARRIERS = {
    "en": "define defined definition mean means meaning meant term word concept explain stand",
    "es": "define definir definición significa significado término palabra concepto explica",
    "fr": "définir définis définition signifie signification veut dire terme mot concept explique",
    "de": "definiere definition bedeutet bedeutung heißt begriff wort versteht erkläre",
    "pt": "defina definir definição significa significado termo palavra conceito explique",
}
"""By language; what stands round the term in a question for its definition."""

_NUMBER = re.compile(r"\d+(?:\.\d+)*[.:)]?\s+")
_ABBREVIATED = re.compile(r"(.+?)\s*\(([^()]+)\)\s*")


def term_forms(term: str) -> tuple[str, ...]:
    """The ways to say a term: "deoxyribonucleic acid (DNA)" goes by either name, too."""
    match = _ABBREVIATED.fullmatch(term)
    return (term, match[1], match[2]) if match else (term,)


def heading_forms(heading: str) -> tuple[str, ...]:
    """What a heading may be the name of: its words without number, a call without arguments."""
    return term_forms(_NUMBER.sub("", heading, count=1) if heading[:1].isdigit() else heading)


def focuses(terms: Sequence[int], carriers: Collection[int]) -> frozenset[tuple[int, ...]]:
    """What the question may ask the definition of: all its terms, or all but the carriers."""
    bare = tuple(term for term in terms if term not in carriers)
    return frozenset(focus for focus in (tuple(terms), bare) if focus)


def definition_id(terms: Sequence[int]) -> int:
    """The term of a sparse vector that says "here this is defined": 32 bits, unsigned."""
    text = " ".join(map(str, terms))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
