"""Scores of paragraphs by the tokens of the question, with a tiny model of one token a word."""

from __future__ import annotations

import asyncio

import pytest

from app.adapters.late_interaction import LateInteractionScorer
from tests.token_model import tiny_embedder

WORDS = ["owl", "mouse", "vole", "night", "prey"]


def scores(question: str, *paragraphs: tuple[str, str]) -> list[float]:
    scorer = LateInteractionScorer(tiny_embedder(WORDS, beside=0.0))
    return asyncio.run(scorer.scores(question, paragraphs))


def test_a_paragraph_of_the_question_s_words_has_the_highest_score() -> None:
    same, half, none = scores("owl night", ("", "owl night"), ("", "owl prey"), ("", "vole"))
    assert same == pytest.approx(2.0, abs=1e-3)
    assert half == pytest.approx(0.5 + 0.5, abs=1e-3)
    assert none == pytest.approx(0.0, abs=1e-3)


def test_each_word_of_the_question_counts_once_however_long_the_paragraph_is() -> None:
    short, long = scores("owl", ("", "owl"), ("", "owl mouse vole night prey"))
    assert short - 1 == pytest.approx(1.0, abs=1e-3)  # the best token alone
    assert long == pytest.approx(1.0 + 5**-0.5, abs=1e-3)  # and the mean of five words


def test_headings_count_as_context_and_not_as_words_of_the_paragraph() -> None:
    (score,) = scores("owl", ("owl", "mouse"))
    assert score == pytest.approx(3**-0.5, abs=1e-3)  # of "owl", "." and "mouse"


@pytest.mark.parametrize(("question", "text"), [("", "owl"), ("owl", "")])
def test_without_words_there_is_no_score(question: str, text: str) -> None:
    assert scores(question, ("", text)) == [0.0]


def test_scores_are_the_same_when_the_paragraph_is_known() -> None:
    scorer = LateInteractionScorer(tiny_embedder(WORDS))
    first = asyncio.run(scorer.scores("owl prey", [("night", "owl vole")]))
    assert asyncio.run(scorer.scores("owl prey", [("night", "owl vole")])) == first


@pytest.mark.parametrize(
    ("asked_in", "language", "read"), [("en", "en", True), ("es", "en", False), ("es", "es", False)]
)
def test_the_english_model_reads_english_questions_about_english_books(
    asked_in: str, language: str, *, read: bool
) -> None:
    scorer = LateInteractionScorer(tiny_embedder(WORDS))
    assert scorer.reads(asked_in, language) is read
