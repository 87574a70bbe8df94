"""Questions that set things against each other: "the difference between X and Y", "X or Y?"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.domain.terms import Terms

_LONGEST = 300
"""Characters of a question that is taken apart: the forms are not to run long on a hostile one."""
_MOST = 3
_LONGEST_NAME = 6  # words
_ARTICLE = (
    r"(?:(?:an?|the|un[ae]?|l[aeo]s?|el|il|gli|i|les|une?|des|ein(?:e[mnrs]?)?|d(?:er|ie|as|em|en)"
    r"|uma?|os?|as)\s+|l['\u2019])?"
)
_AND = r"\s+(?:and|y|e|ed|et|und)\s+"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.DOTALL)
    for form in (
        (
            rf"\b(?:differences?|distinctions?|contrast|comparison|diferen[cç]as?|diferencias?"
            rf"|unterschiede?|différences?|differenz[ae])\b.*?"
            rf"\b(?:between|entre|zwischen|tra|fra)\s+(?P<x>.+?){_AND}(?P<y>.+)"
        ),
        (
            rf"\bhow\s+(?:do|does|did|are|can)\s+(?P<x>.+?)(?:{_AND}|\s+or\s+)(?P<y>.+?)"
            rf"\s+(?:differ|different|compare|be\s+told\s+apart)\b"
        ),
        (
            r"\bhow\s+(?:does|do|is|are)\s+(?P<x>.+?)\s+(?:differ(?:ent)?\s+from|compare\s+(?:to|with))"
            r"\s+(?P<y>.+)"
        ),
        (
            rf"\b(?:compare|contrast|distinguish(?:\s+between)?|compara|compare[rz]|vergleiche?"
            rf"|confronta)\s+(?P<x>.+?)(?:{_AND}|\s+(?:with|to|against|from|con|avec|com|mit)\s+)"
            rf"(?P<y>.+)"
        ),
        r"^(?:(?:what\s+is\s+|explain\s+)?(?P<x>.+?))\s+(?:vs\.?|versus|gegenüber)\s+(?P<y>.+)",
        (
            r"^(?:.*[,:]\s+|(?:(?:which|what)\s+is\s+\w+|(?:should|shall|do|can|would)\s+(?:i|we|you|one)"
            r"\s+\w+|when\s+(?:to|do\s+(?:i|we|you))\s+\w+)[,:]?\s+)?(?P<x>.+?)\s+(?:or|o|oder|ou)\s+"
            r"(?P<y>[^?]+)\?"
        ),
    )
)
_ASIDE = re.compile(
    r"\s+(?:in|for|when|with|as|by|of|en|bei|dans)\s.*$|[,;:?!.]+(?:\s.*)?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Subject:
    """One of the things that are compared."""

    name: str
    readings: tuple[frozenset[int], ...]
    """The terms it may be defined under, the likeliest first: "dense" in "dense and sparse vectors"
    may stand for dense vectors."""


def compared(question: str, terms: Terms) -> tuple[Subject, ...]:
    """What the question sets against each other, two or three things; empty for other questions.

    Whether these are terms of the book is for its definitions to say.
    """
    plain = " ".join(question.split())
    for form in _FORMS if len(plain) <= _LONGEST else ():
        asked = form.search(plain)
        if asked:
            return _subjects([*re.split(r",\s*", asked["x"]), asked["y"]], terms)
    return ()


def _subjects(parts: list[str], terms: Terms) -> tuple[Subject, ...]:
    names = [re.sub(f"^{_ARTICLE}", "", part.strip(), flags=re.IGNORECASE) for part in parts]
    whole = names[-1].rstrip(" ?!.")
    names[-1] = _ASIDE.sub("", whole)
    if len(names) > _MOST or any(not 0 < len(name.split()) <= _LONGEST_NAME for name in names):
        return ()
    head = names[-1].split()[-1]
    readings = [
        *((terms(name), terms(f"{name} {head}")) for name in names[:-1]),
        (terms(whole), terms(names[-1])),
    ]
    subjects = tuple(
        Subject(name, tuple(dict.fromkeys(filter(None, each))))
        for name, each in zip(names, readings, strict=True)
    )
    return subjects if all(one.readings for one in subjects) else ()
