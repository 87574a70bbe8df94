"""A question taken apart: what it asks of, and in which form the answer comes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.answering.comparison import Subject, compared
from app.domain.answering.definitions import defined_terms, name_asked
from app.domain.answering.names import Name
from app.domain.terms import Terms, words

_ASKS_CODE = re.compile(
    r"\b(?:code|snippet|listing|syntax|program|command|example)s?\b|```"
    r"|\bhow (?:to|(?:do|can) (?:i|you|we)) (?:write|declare|define|implement|create|call|install"
    r"|configure|import|set up|add|run)\b",
    re.IGNORECASE,
)
_ASKS_TO_DO = re.compile(
    r"\b(?:how (?:to|(?:do|can|could|should|would) (?:i|you|we|one))|cómo (?:se|puedo|hago)"
    r"|wie (?:kann|mache|baue)|comment (?:on|faire|puis-je))\b",
    re.IGNORECASE,
)
_ASKS_RESULT = re.compile(
    r"\b(?:outputs?|prints?|printed|displays?|results?|errors?|messages?|warnings?|happens?|shown?"
    r"|look like)\b",
    re.IGNORECASE,
)
_CODE = (
    r"(?:(?:source )?code|snippet|listing|program|function|script|implementation|commands?|query"
    r"|c[oó]digo|programa|programm|función|fonction|funktion)s?"
)
_SHOW_CODE = re.compile(
    r"^\W*(?:(?:please|can you|could you|i want to|let me) )*"
    r"(?:show|give|write|print|see|display|is there|where is"
    rf"|muestra\w*|zeige?|montrez?|mostr[ae]\w*)\b.*\b{_CODE}\b"
    rf"|\b{_CODE} (?:for|that|to|which|para|que|für|pour)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"\b(?:steps?|stages?|phases?|procedures?|instructions|pasos?|etapas?|schritte?|étapes?)\b",
    re.IGNORECASE,
)
_WANTED = re.compile(
    rf"\b(?:{_CODE}|steps?|stages?|phases?|procedures?|instructions|orders?|shows?|gives?|writes?"
    r"|prints?|displays?|examples?)\b",
    re.IGNORECASE,
)
_ASKS_TABLE = re.compile(r"\b(?:tables?|compare[ds]?|comparison|versus|vs)\b", re.IGNORECASE)
_ASKS_LIST = re.compile(
    r"\b(?:steps?|stages?|phases?|types?|kinds?|list|name|which|what are|rules?|principles?"
    r"|advantages?|reasons?|parts?)\b",
    re.IGNORECASE,
)
_ASKS_HOW = re.compile(r"\bhow (?:do|does|can|to)\b", re.IGNORECASE)
_ASKS_SEVERAL = re.compile(
    r"^\W*(?:list|name|enumerate)\b"
    r"|\b(?:steps|stages|phases|types|kinds|forms|parts|components|reasons|rules|principles"
    r"|advantages|disadvantages|functions|factors|examples)\b",
    re.IGNORECASE,
)
_ASKS_FORMULA = re.compile(
    r"\b(?:formula|equation|fórmula|ecuación|formel|gleichung|formule)s?\b", re.IGNORECASE
)
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|old|far|fast|tall|large|big|often)|what (?:percentage|number)"
    r"|cuánt[oa]s?|wie viele?|combien|quant[oa]s?)\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\b(?:when (?:did|was|were)|(?:what|which) (?:year|date|century)|cuándo|wann|quand|quando)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|million|billion"
    r"|half|percent)\b",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b(?:1\d{3}|20\d{2})s?\b|\bcentur(?:y|ies)\b|\byears? ago\b", re.IGNORECASE)
_ASKS_CHANGE = re.compile(
    r"\b(?:chang(?:e[sd]?|ing|elog)|what['\u2019]?s new|newest|latest|releas\w+|versions?"
    r"|deprecat\w+|removed|added|fixe[sd]|breaking|broken|upgrad\w+|migrat\w+|since|bugs?|still)\b",
    re.IGNORECASE,
)
_ASKS_WHAT_IT_DOES = re.compile(r"\bwhat\s+do(?:es)?\b.+\bdo\b", re.IGNORECASE | re.DOTALL)
_ASKS_FACT = re.compile(
    r"^\s*(?:who|whose|when|where|which|is|are|was|were|does|do|did|can|has|have)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The question, taken apart."""

    weights: Mapping[int, float]
    """Term to its share of the question; the shares add up to 1."""
    defined: frozenset[int]
    """The terms of X in "what is X?", else empty."""
    name: Name
    """The words of X as they are written."""
    does: bool
    """Whether it is asked what X does."""
    compared: tuple[Subject, ...]
    """What is set against each other, if anything is."""
    to_do: bool
    """Whether it is asked how something is done."""
    code: bool
    code_languages: frozenset[str]
    """Words of a how-to question, among them the language that its code should be in."""
    listing: bool
    """Whether code is to be shown."""
    steps: bool
    wanted: frozenset[int]
    """The terms that only say what is wanted: "code", "steps"."""
    result: bool
    """Whether what a program prints is an answer."""
    table: bool
    list: bool
    """Whether a list as a whole may be the answer."""
    how: bool
    """Whether a numbered list as a whole may be: the steps of something."""
    several: bool
    """Whether the names of several things are asked for."""
    formula: bool
    change: bool
    """Whether it is asked what changed, so that a log of changes may be the answer."""
    type: re.Pattern[str] | None
    """What the answer must hold: a number, a time."""
    explains: bool
    """Whether more than one fact is asked for."""

    @property
    def subject(self) -> dict[int, float]:
        """The weights of the terms that say what it is about, and not what is wanted of that."""
        return {term: weight for term, weight in self.weights.items() if term not in self.wanted}

    @classmethod
    def of(cls, question: str, weights: Mapping[int, float], terms: Terms) -> Asked:
        """`weights` are of all its terms, in any unit."""
        total = sum(weights.values()) or 1.0
        to_do = bool(_ASKS_TO_DO.search(question))
        return cls(
            weights={term: weight / total for term, weight in weights.items()},
            defined=defined_terms(question, terms),
            name=name_asked(question),
            does=bool(_ASKS_WHAT_IT_DOES.search(question)),
            compared=compared(question, terms),
            to_do=to_do,
            code=bool(_ASKS_CODE.search(question)),
            code_languages=frozenset(words(question) if to_do else ()),
            listing=bool(_SHOW_CODE.search(question)),
            steps=bool(_STEPS.search(question)),
            wanted=terms(" ".join(_WANTED.findall(question))),
            result=bool(_ASKS_RESULT.search(question)),
            table=bool(_ASKS_TABLE.search(question)),
            list=bool(_ASKS_LIST.search(question)),
            how=bool(_ASKS_HOW.search(question)),
            several=bool(_ASKS_SEVERAL.search(question)),
            formula=bool(_ASKS_FORMULA.search(question)),
            change=bool(_ASKS_CHANGE.search(question)),
            type=_wanted_type(question),
            explains=_wanted_type(question) is None and not _ASKS_FACT.search(question),
        )


def _wanted_type(question: str) -> re.Pattern[str] | None:
    if _ASKS_NUMBER.search(question):
        return _NUMBER
    return _TIME if _ASKS_TIME.search(question) else None
