"""Follow-up questions made to stand alone by rule."""

import pytest

from app.adapters.index_terms import IndexTerms
from app.domain.retrieval.query import SparseVector, Turn, blend
from app.domain.retrieval.standalone import (
    ANSWER_CHARS,
    ASSISTANT_WEIGHT,
    INDEPENDENT_FACTOR,
    standalone,
)
from app.domain.terms import words
from app.services.lexical import LexicalEncoder
from tests.recorded_cases import case_lines

HISTORY = (
    Turn("user", "What is a stack?"),
    Turn("assistant", "Last in, first out."),
    Turn("user", "And a queue?"),
    Turn("assistant", "First in, first out."),
)


def test_a_question_that_leans_on_the_last_one_is_embedded_with_it() -> None:
    found = standalone("Why is it slow?", HISTORY, lambda _: 1, "en")
    assert found.question == "And a queue?\nWhy is it slow?"
    assert found.embedded == "And a queue?\nFirst in, first out.\nWhy is it slow?"
    assert found.background == (
        ("And a queue?", 1.0),
        ("First in, first out.", ASSISTANT_WEIGHT),
    )


@pytest.mark.parametrize(
    ("asked", "in_front"),
    [
        (["What is a stack?", "Why is it slow?"], "What is a stack?\nWhy is it slow?\n"),
        (["What is a stack?", "Why?"], "What is a stack?\nWhy?\n"),
        (["What is a stack?", "And a queue?"], "And a queue?\n"),
        (["A heap?", "And its use?", "Is it old?", "Why?"], "And its use?\nIs it old?\nWhy?\n"),
        (["Is it slow?"], "Is it slow?\n"),
    ],
)  # fmt: skip
def test_what_the_last_question_leans_on_is_leant_on_as_well(
    asked: list[str], in_front: str
) -> None:
    def count_terms(text: str) -> int:
        return len({"stack", "queue", "heap", "slow", "use", "old"} & set(words(text)))

    found = standalone("What else?", [Turn("user", one) for one in asked], count_terms, "en")
    assert found.question == f"{in_front}What else?"
    assert dict(found.background)[asked[-1]] == 1.0


def test_an_independent_question_is_embedded_alone_and_its_background_counts_less() -> None:
    question = "Which sorting algorithm compares neighbouring elements?"
    found = standalone(question, HISTORY, lambda _: 5, "en")
    assert found.embedded == found.question == question
    assert found.background[0] == ("And a queue?", INDEPENDENT_FACTOR)


@pytest.mark.parametrize(("asked", "expected"), case_lines("leaning_questions"))
def test_pronouns_and_few_terms_tell_a_question_that_leans(asked: str, expected: str) -> None:
    """Parts of words are no pronouns; in a language without a list of them few terms decide."""
    language, own_terms, question = asked.replace(" |", "", 1).split(" ", 2)
    found = standalone(question, HISTORY, lambda _: int(own_terms), language)
    assert ("leans" if found.question != question else "stands alone") == expected


@pytest.mark.parametrize(
    ("language", "topic", "second", "third"),
    [
        ("en", "What is osmosis?", "another example please", "and why?"),
        ("en", "What is osmosis?", "Show me the code", "and why?"),
        ("de", "Was ist Osmose?", "Wozu ist das gut?", "zeig mir ein beispiel"),
        ("de", "Was ist Osmose?", "noch ein Beispiel bitte", "und warum?"),
        ("fr", "Qu'est-ce que l'osmose ?", "et pourquoi ?", "donne-moi un exemple"),
        ("fr", "Qu'est-ce que l'osmose\u202f?", "et pourquoi\u00a0?", "un exemple\u202f?"),
        ("es", "¿Qué es la ósmosis?", "¿y por qué?", "dame un ejemplo"),
    ],
)
def test_a_follow_up_of_a_follow_up_keeps_its_topic(
    language: str, topic: str, second: str, third: str
) -> None:
    terms = LexicalEncoder(IndexTerms().of_document, IndexTerms().of_query).terms
    history = [Turn("user", topic), Turn("user", second)]
    found = standalone(third, history, lambda text: len(terms(text, language)), language)
    assert found.question == f"{topic}\n{second}\n{third}"


@pytest.mark.parametrize(
    ("question", "language", "has_topic"),
    [
        ("How does it work?", "en", False),
        ("When do I need one?", "en", False),
        ("¿Y para qué sirve?", "es", False),
        ("Show me the code", "en", False),
        ("What is a heap?", "en", True),  # another topic
    ],
)
def test_a_follow_up_without_a_topic_is_compared_with_that_of_the_question_before(
    question: str, language: str, has_topic: bool
) -> None:
    terms = LexicalEncoder(IndexTerms().of_document, IndexTerms().of_query).terms
    found = standalone(question, HISTORY, lambda text: len(terms(text, language)), language)
    assert found.lexical == (question if has_topic else f"And a queue?\n{question}")


@pytest.mark.parametrize("history", [(), (Turn("user", " "),)])
def test_no_question_before_it_leaves_a_leaning_question_alone(history: tuple[Turn, ...]) -> None:
    found = standalone("Who invented it?", history, lambda _: 1, "en")
    assert (found.question, found.embedded) == ("Who invented it?",) * 2


def test_blending_keeps_the_questions_own_weights_and_the_best_of_the_background() -> None:
    question = SparseVector((5, 9), (1.0, 1.0))
    background = [
        (SparseVector((2, 5), (1.0, 1.0)), 0.4),
        (SparseVector((2, 7), (1.0, 2.0)), 0.2),
    ]
    assert blend(question, background) == SparseVector((2, 5, 7, 9), (0.4, 1.0, 0.4, 1.0))
    assert blend(question, []) == question


def test_of_a_long_answer_only_the_beginning_is_searched_for() -> None:
    history = [Turn("user", "A queue?"), Turn("assistant", "First. " + "Then more. " * 900)]
    found = standalone("Why is it slow?", history, lambda _: 1, "en")
    assert len(found.embedded) < 500
    assert all(len(text) <= ANSWER_CHARS for text, _ in found.background)
