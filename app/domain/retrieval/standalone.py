"""Follow-up questions made standalone by rules.

"And why is it slower?" depends on earlier turns. The terms of the last turns are searched for too.
A question with an anaphor or few terms depends on the previous question, its antecedent. An
antecedent that has an anaphor or no terms depends on the question before it. For the embedding, all
antecedents and the beginning of the last answer precede the question. The answer is included
because it names the topic in the book's words. A question without a topic ("how does it work?") is
compared with the book together with its antecedents, but "what is a heap?" alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.languages import known_language, without_words
from app.domain.retrieval.query import Turn
from app.domain.search_text import has_anaphor

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

    antecedents: list[str] = []
    for one in reversed(questions[-MAX_CHAIN:]):
        antecedents.insert(0, one)
        if not is_dependent(one, 0):
            break
    dependent = is_dependent(question, FEW_TERMS)
    factor = 1.0 if dependent else INDEPENDENT_FACTOR
    framed = without_words(question, known_language(language).frame.split())
    few = count_terms(question.rstrip(_END)) <= FEW_TERMS
    has_topic = count_terms(framed.rstrip(_END)) and not (few and has_anaphor(question, language))
    whole = "\n".join([*antecedents, question]) if dependent else question
    return Standalone(
        whole,
        "\n".join([*antecedents, *answers, question]) if dependent else question,
        question if has_topic else whole,
        (
            *((text, factor) for text in reversed(antecedents)),
            *((text, factor * ASSISTANT_WEIGHT) for text in answers),
        ),
    )


def rewritten_by_model(rewritten: str, question: str) -> Standalone:
    """Search for the question that the model wrote, and for the terms of the original one."""
    return Standalone(rewritten, rewritten, rewritten, ((question, 1.0),))
