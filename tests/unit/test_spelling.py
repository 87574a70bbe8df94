"""Misspelt questions: which words are put right, and by what."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from app.domain.answer import Answer
from app.domain.answering.request import AskRequest
from app.domain.answering.spelling import long_words, respelled
from tests.answer_fakes import World, passage

BOOK = "Photosynthesis makes sugar. A closure captures the difference between eukaryotes."


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("what is photosythesis", "what is photosynthesis"),
        ("what is a clousure?", "what is a closure?"),
        ("diference betwen eukariotes", "difference between eukaryotes"),
        ("Photosythesis steps", "photosynthesis steps"),
        ("what is a nebula", "what is a nebula"),
        ("what is suger", "what is suger"),
        ("are eukaryotes uneukaryotes", "are eukaryotes uneukaryotes"),
        ("is it a clos", "is it a clos"),
        ("", ""),
    ],
)
def test_a_word_that_the_book_lacks_is_taken_for_the_likest_that_it_has(
    question: str, right: str
) -> None:
    assert respelled(question, long_words(question), [BOOK]) == right


def test_names_and_short_words_are_as_they_are() -> None:
    assert long_words("Does Gradio or redux use a hash table, or redux?") == ["redux", "table"]


def ask(question: str) -> tuple[Answer, list[str]]:
    world = World((passage("A closure captures values."), passage("Owls hunt.", "p-owls")))
    answering = world.answering()
    answering = replace(answering, consult=replace(answering.consult, count_tokens=len))
    found = asyncio.run(answering.answer(AskRequest(question)))
    return found, [query.question for query in world.retriever.asked]


def test_a_misspelt_question_is_answered_as_if_it_were_spelt_right() -> None:
    found, _ = ask("What is a clousure?")
    assert found.answer == "A closure captures values."


@pytest.mark.parametrize("question", ["A closure captures what values?", "Who built the pyramids?"])
def test_only_what_would_be_refused_and_has_a_likely_word_is_looked_for_again(
    question: str,
) -> None:
    _, asked = ask(question)
    assert asked.count(question) == 1
    assert not [one for one in asked if one.startswith(question[:4]) and one != question]
