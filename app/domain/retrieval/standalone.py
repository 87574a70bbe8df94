"""Follow-up questions made standalone by rules.

"And why is it slower?" depends on earlier turns. The terms of the last turns are searched for too.
A question with an anaphor or few terms depends on the previous question, its antecedent. An
antecedent that has an anaphor or no terms depends on the question before it. For the embedding, all
antecedents and the beginning of the last answer precede the question. The answer is included
because it names the topic in the book's words. A question without a topic ("how does it work?") is
compared with the book together with its antecedents, but "what is a heap?" alone.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.languages import in_any, known_language
from app.domain.retrieval.query import Turn
from app.domain.search_text import has_anaphor
from app.domain.terms import words

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
_FORM = re.compile(rf"\b(?:{in_any('code')})\b", re.IGNORECASE)
"""Words for the form of an answer, which are no topic: "show me the code"."""
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

    def topic_terms(text: str) -> int:
        return count_terms(topic_of(text, language))

    antecedents: list[str] = []
    for one in reversed(questions[-MAX_CHAIN:]):
        antecedents.insert(0, one)
        if topic_terms(one) and not has_anaphor(one, language):
            break
    few = count_terms(question.rstrip(_END)) <= FEW_TERMS
    refers = has_anaphor(question, language)
    dependent = few or refers
    factor = 1.0 if dependent else INDEPENDENT_FACTOR
    has_topic = topic_terms(question) and not (few and refers)
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


def topic_of(text: str, language: str) -> str:
    """Return the words of a question without those for its form: "" for "another example"."""
    known = known_language(language)
    frame = f"{known.frame} {known.anaphora}".split()
    return " ".join(one for one in words(_FORM.sub(" ", text)) if one not in frame)


def rewritten_by_model(rewritten: str, question: str) -> Standalone:
    """Search for the question that the model wrote, and for the terms of the original one."""
    return Standalone(rewritten, rewritten, rewritten, ((question, 1.0),))
