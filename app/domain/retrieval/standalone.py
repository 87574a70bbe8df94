"""A question within a conversation, made to stand alone by rule.

"And why is it slower?" says little without the turns before it. The terms of the last turns are
searched for as well, at a lower weight; where the question leans on them (it has a pronoun or the
like, or hardly any term of its own), the last question is put in front of it for the embedding; and
where that points back itself, the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.domain.retrieval.query import SparseVector, Turn

FEW_TERMS = 3
LONGEST_CHAIN = 3
"""Questions that may lean one on the other: what it is, what its price is, what else there is."""
LEANT_ON = 0.4
"""Weight of the terms of the questions leant on, where the question's own have 1."""
BEFORE_THAT = 0.2
"""Of those of the question before them."""
ASSISTANT_WEIGHT = 0.15
INDEPENDENT = 0.3
"""Factor on these weights when the question does not lean on the turns before it."""

# Words that point back; left out are those that also serve as articles.
_ANAPHORA = {
    "en": "it its itself they them their theirs he him his she her hers this these those there"
    " one ones same such so then else other others another more",
    "es": "él ella ello ellos ellas su sus suyo suya esto eso esta este ese esa estos estas esos"
    " esas ahí allí mismo misma otro otra otros otras más entonces",
    "fr": "il elle ils elles lui leur leurs son sa ses en y ce cela ça ceci celui celle ceux celles"
    " même autre autres plus alors",
    "de": "er sie es ihn ihm ihr ihnen sein seine ihre dies dieser diese dieses da dort dabei dazu"
    " damit dafür davon derselbe andere anderen mehr dann so",
    "pt": "ele ela eles elas lhe lhes seu sua seus suas isso isto este esta esse essa estes estas"
    " esses essas aí ali lá mesmo mesma outro outra outros outras mais então",
}
# "Is that slower?", "the name of that": but not "the code that merges".
_POINTING_THAT = (
    r"(?:^|(?:about|after|and|are|as|at|before|but|by|can|could|did|do|does|for|from|how|if|in|into"
    r"|is|like|of|on|or|than|to|was|were|when|why|will|with|would)\s)\W*that"
)
_LEANING = {
    language: re.compile(
        rf"\b(?:{'|'.join([*words.split(), *([_POINTING_THAT] if language == 'en' else [])])})\b",
        re.IGNORECASE,
    )
    for language, words in _ANAPHORA.items()
}


@dataclass(frozen=True, slots=True)
class Standalone:
    question: str
    """What is embedded and reranked by."""
    words: str
    """What is searched for by its words, whole."""
    background: tuple[tuple[str, float], ...] = ()
    """Earlier turns, with the weight that their terms have in the search."""

    @classmethod
    def of(cls, question: str) -> Standalone:
        """A question without a history."""
        return cls(question, question)


def standalone(
    question: str, history: Sequence[Turn], count_terms: Callable[[str], int], language: str
) -> Standalone:
    """`count_terms` gives the number of distinct terms of a text, stop words left out."""
    asked = [turn.content for turn in history if turn.role == "user" and turn.content.strip()]
    said = [turn.content for turn in history if turn.role != "user"]
    leaning = count_terms(question) <= FEW_TERMS or _leans(question, language)
    factor = 1.0 if leaning else INDEPENDENT
    meant = _leant_on(asked, count_terms, language)
    rest = asked[: len(asked) - len(meant)]
    background = [(turn, LEANT_ON) for turn in reversed(meant)]
    background += [(turn, BEFORE_THAT) for turn in rest[-1:]]
    background += [(turn, ASSISTANT_WEIGHT) for turn in said[-1:]]
    return Standalone(
        "\n".join([*meant, question]) if leaning else question,
        question,
        tuple((turn, factor * weight) for turn, weight in background),
    )


def _leant_on(
    asked: Sequence[str], count_terms: Callable[[str], int], language: str
) -> Sequence[str]:
    """The last question; before one that itself says nothing alone, the one before it, too."""
    first = max(0, len(asked) - 1)
    earliest = max(0, len(asked) - LONGEST_CHAIN)
    while first > earliest and (_leans(asked[first], language) or not count_terms(asked[first])):
        first -= 1
    return asked[first:]


def rewritten_by_model(rewritten: str, question: str) -> Standalone:
    """Search for what the model wrote, and for the reader's own words as well."""
    return Standalone(rewritten, rewritten, ((question, 1.0),))


def _leans(question: str, language: str) -> bool:
    pattern = _LEANING.get(language)
    return pattern is not None and pattern.search(question) is not None


def blend(question: SparseVector, background: Iterable[tuple[SparseVector, float]]) -> SparseVector:
    """The question's terms as they are, and each other term at the greatest weight it has."""
    weights: dict[int, float] = {}
    for vector, weight in background:
        for term, value in zip(vector.indices, vector.values, strict=True):
            weights[term] = max(weights.get(term, 0.0), weight * value)
    weights.update(zip(question.indices, question.values, strict=True))
    terms = sorted(weights)
    return SparseVector(tuple(terms), tuple(weights[term] for term in terms))
