"""Follow-up questions made standalone by rules.

"And why is it slower?" depends on earlier turns. The terms of the last turns are searched for too.
A question with an anaphor or few terms depends on the previous question, its antecedent. An
antecedent that has an anaphor or no terms depends on the question before it. For the embedding, all
antecedents and the beginning of the last answer precede the question. The answer is included
because it names the topic in the book's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.domain.retrieval.query import SparseVector, Turn

FEW_TERMS = 3
"""A question with at most this many terms depends on the previous question."""
MAX_CHAIN = 3
"""Maximum questions in a chain of follow-ups: "What is it?", "Its price?", "What else?"."""
ASSISTANT_WEIGHT = 0.4
"""Weight of the terms of the last answer's beginning; those of the questions have weight 1."""
ANSWER_CHARS = 400
"""Maximum length of that beginning, in characters."""
INDEPENDENT_FACTOR = 0.3
"""Factor on the weights of earlier turns if the question does not depend on them."""

# Anaphora by language, without words that are also articles.
_ANAPHORA = {
    "en": "it its itself they them their theirs he him his she her hers this these those there"
    " one ones same such so then else other others another more",
    "es": "él ella ello ellos ellas su sus suyo suya esto eso esta este ese esa estos estas esos"
    " esas ahí allí mismo misma otro otra otros otras más entonces",
    "fr": "il elle ils elles lui leur leurs son sa ses en y ce cela ça ceci celui celle ceux celles"
    " même autre autres plus alors",
    "de": "er sie es ihn ihm ihr ihnen sein seine ihre dies dieser diese dieses da dort dabei dazu"
    " damit dafür davon derselbe andere anderen anderes weitere weiteren weiteres mehr dann so",
    "pt": "ele ela eles elas lhe lhes seu sua seus suas isso isto este esta esse essa estes estas"
    " esses essas aí ali lá mesmo mesma outro outra outros outras mais então",
}
_FURTHER = {
    # The pronoun "that" ("Is that slower?", "the name of that"), not the conjunction or relative
    # pronoun ("the code that merges").
    "en": r"|(?:^|(?:about|after|and|are|as|at|before|but|by|can|could|did|do|does|for|from|how|if"
    r"|in|into|is|like|of|on|or|than|to|was|were|when|why|will|with|would)\s)\W*that",
    # The pronoun "das" ("Wozu dient das?"), not the article; "noch ein" is "another".
    "de": r"|das(?=\W*$|\s(?:denn|eigentlich|genau|gut|überhaupt)\b)|noch(?=\seine?[nrs]?\b)",
}
"""Alternatives of regular expressions, by language."""
_ANAPHOR_PATTERNS = {
    language: re.compile(
        rf"\b(?:{words.replace(' ', '|')}{_FURTHER.get(language, '')})\b", re.IGNORECASE
    )
    for language, words in _ANAPHORA.items()
}
_END = "?!\u00a0\u202f "
"""The end of a question; a French question mark stands alone, so it would count as a term."""


@dataclass(frozen=True, slots=True)
class Standalone:
    question: str
    """Text for reranking and for scoring answerability."""
    embedded: str
    """Text for the embedding; if the question depends on earlier turns, with the last answer's
    beginning."""
    lexical: str
    """Text for lexical search, with full weight."""
    background: tuple[tuple[str, float], ...] = ()
    """(text, weight) of earlier turns for lexical search."""


def standalone(
    question: str, history: Sequence[Turn], count_terms: Callable[[str], int], language: str
) -> Standalone:
    """Make `question` standalone; `count_terms` counts distinct terms without stop words."""
    questions = [one.content for one in history if one.role == "user" and one.content.strip()]
    answers = [one.content[:ANSWER_CHARS] for one in history if one.role != "user"][-1:]

    def is_dependent(text: str, most_terms: int) -> bool:
        return has_anaphor(text, language) or count_terms(text.rstrip(_END)) <= most_terms

    antecedents = questions[_first_antecedent(questions, lambda text: is_dependent(text, 0)) :]
    dependent = is_dependent(question, FEW_TERMS)
    factor = 1.0 if dependent else INDEPENDENT_FACTOR
    return Standalone(
        "\n".join([*antecedents, question]) if dependent else question,
        "\n".join([*antecedents, *answers, question]) if dependent else question,
        question,
        (
            *((text, factor) for text in reversed(antecedents)),
            *((text, factor * ASSISTANT_WEIGHT) for text in answers),
        ),
    )


def _first_antecedent(questions: Sequence[str], is_dependent: Callable[[str], bool]) -> int:
    """Return the index at which the last chain of follow-ups begins.

    Each later question of the chain depends on the one before it.
    """
    first = max(0, len(questions) - 1)
    earliest = max(0, len(questions) - MAX_CHAIN)
    while first > earliest and is_dependent(questions[first]):
        first -= 1
    return first


def rewritten_by_model(rewritten: str, question: str) -> Standalone:
    """Search for the question that the model wrote, and for the terms of the original one."""
    return Standalone(rewritten, rewritten, rewritten, ((question, 1.0),))


def has_anaphor(question: str, language: str) -> bool:
    """Whether a word refers to an earlier sentence, in the languages that are known here."""
    pattern = _ANAPHOR_PATTERNS.get(language)
    return pattern is not None and pattern.search(question) is not None


def blend(question: SparseVector, background: Iterable[tuple[SparseVector, float]]) -> SparseVector:
    """Add background terms, each with its highest weight; the question's own terms keep theirs."""
    weights: dict[int, float] = {}
    for vector, weight in background:
        for term, value in zip(vector.indices, vector.values, strict=True):
            weights[term] = max(weights.get(term, 0.0), weight * value)
    weights.update(zip(question.indices, question.values, strict=True))
    terms = sorted(weights)
    return SparseVector(tuple(terms), tuple(weights[term] for term in terms))
