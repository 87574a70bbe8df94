"""Misspelt questions: which words are put right, and by what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.adapters.tokens import token_counter
from app.domain.answer import Answer
from app.domain.answering.request import AskRequest
from app.services.vocabulary import closest, correctable
from tests.answer_fakes import World, passage

BOOK = {
    "photosynthesis": (9, "photosynthesis"),
    "closure": (3, "closure"),
    "closures": (2, "closures"),
    "eukaryotes": (1, "eukaryotes"),
    "createasyncthunk": (4, "createAsyncThunk"),
    "months": (7, "months"),
    "usstate": (3, "UsState"),
}


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("photosythesis", "photosynthesis"),
        ("Photosythesis", "photosynthesis"),
        ("clousure", "closure"),
        ("fotosynthesis", "photosynthesis"),
        ("eukariotes", "eukaryotes"),
        ("createAsyncThnk", "createAsyncThunk"),
        ("useState", ""),
        ("nebula", ""),
        ("sonths", ""),
        ("monhts", "months"),
        ("moth", ""),
        ("uneukaryotes", ""),
    ],
)
def test_a_word_that_the_book_lacks_is_taken_for_the_likest_that_it_has(
    word: str, right: str
) -> None:
    assert closest(word, BOOK) == right


def test_of_words_that_are_alike_the_most_frequent_is_taken() -> None:
    assert closest("clossurs", {"closures": (2, "closures"), "clossure": (5, "clossure")}) == (
        "clossure"
    )


def test_names_and_short_words_are_as_they_are() -> None:
    assert correctable("Does Gradio or redux use useStat in a hash table, or redux?") == [
        "redux",
        "useStat",
        "table",
    ]


def ask(
    question: str, text: str = "A closure captures values.", count: Callable[[str], int] = len
) -> tuple[Answer, list[str]]:
    world = World((passage(text), passage("Owls hunt.", "p-owls")))
    answering = world.answering()
    vocabulary = replace(answering.consult.vocabulary, count_tokens=count)
    answering = replace(answering, consult=replace(answering.consult, vocabulary=vocabulary))
    found = asyncio.run(answering.answer(AskRequest(question)))
    return found, [query.question for query in world.retriever.asked]


def test_a_misspelt_question_is_searched_for_and_answered_as_if_it_were_spelt_right() -> None:
    found, asked = ask("What is a clousure?")
    assert found.answer == "A closure captures values."
    assert found.searched_for == "What is a closure?"
    assert "What is a clousure?" not in asked


@pytest.mark.parametrize("question", ["wat is clousure", "was ist clousure", "que es clousure"])
def test_a_guess_at_the_language_of_a_few_words_leaves_no_misspelling(question: str) -> None:
    found, _ = ask(question)
    assert found.searched_for == question.replace("clousure", "closure")


def test_a_longer_question_in_another_language_keeps_its_words() -> None:
    found, _ = ask("was ist denn eine clousure in dieser Sprache")
    assert found.searched_for == ""


def test_a_refusal_says_what_was_searched_for() -> None:
    found, _ = ask("Who built the clousure of pyramids?")
    assert found.searched_for == "Who built the closure of pyramids?"


@pytest.mark.parametrize("question", ["A closure captures what values?", "Who built the pyramids?"])
def test_a_question_without_a_likely_word_is_searched_for_as_it_is(question: str) -> None:
    found, asked = ask(question)
    assert found.searched_for == ""
    assert asked.count(question) == 1


@pytest.mark.parametrize(
    ("question", "searched_for"),
    [
        ("What are monhts?", "What are months?"),
        ("What are moths?", ""),  # " moth" is one token
        ("What is easter?", ""),  # " Easter" is
    ],
)
def test_a_common_word_that_the_book_lacks_is_no_misspelling(
    question: str, searched_for: str
) -> None:
    found, _ = ask(question, "The months after it are easier.", token_counter())
    assert found.searched_for == searched_for
