"""Abbreviations: where a text introduces one, and questions that use it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from app.domain.abbreviations import introduced, written_out
from app.domain.answer import Answer
from app.domain.answering.request import AskRequest
from tests.answer_fakes import World, passage, terms

RRF = "Reciprocal rank fusion (RRF) merges ranked lists."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (RRF, [("RRF", "Reciprocal rank fusion")]),
        ("It is deoxyribonucleic acid (DNA).", [("DNA", "deoxyribonucleic acid")]),
        ("Every cell has messenger RNA (mRNA).", [("mRNA", "messenger RNA")]),
        ("HTTP (Hypertext Transfer Protocol) came", [("HTTP", "Hypertext Transfer Protocol")]),
        ("La red y unión de Álvarez (RUA)", [("RUA", "red y unión de Álvarez")]),
        ("Adenosine triphosphate (ATP), then ADP", [("ATP", "Adenosine triphosphate")]),
        ("a graph of vectors (HNSW) is", []),
        ("a big (fat) dog", []),
        ("the last war (1945)", []),
        ("the value (see Figure 3)", []),
        ("fusion ()", []),
        ("(RRF) opens the text", []),
        ("İstanbul rank fusion (RF)", []),
    ],
)
def test_what_is_introduced_is_told_by_its_letters(text: str, found: list[tuple[str, str]]) -> None:
    assert introduced(text) == found


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("What does RRF cost?", "What does Reciprocal rank fusion (RRF) cost?"),
        ("what does rrf cost?", "what does Reciprocal rank fusion (rrf) cost?"),
        ("Are RRFs dear?", "Are Reciprocal rank fusion (RRFs) dear?"),
        ("What does RRFX cost?", "What does RRFX cost?"),
        ("What does fusion cost?", "What does fusion cost?"),
        ("", ""),
    ],
)
def test_a_question_is_written_out_as_the_book_says_it(question: str, written: str) -> None:
    assert written_out(question, [RRF], terms) == written


def test_the_first_that_introduces_it_counts() -> None:
    others = ["Rich raw food (RRF) is good.", RRF]
    assert written_out("Why RRF?", others, terms) == "Why Rich raw food (RRF)?"


def ask(question: str, *told: str) -> tuple[Answer, list[str]]:
    passages = [passage(text, f"p-{at}") for at, text in enumerate(told)]
    world = World(tuple(passages))
    answering = replace(world.answering(), count_tokens=len)
    answer = asyncio.run(answering.answer(AskRequest(question)))
    return answer, [query.question for query in world.retriever.asked]


INTRODUCED = "Reciprocal rank fusion (RRF) throws the scores of the lists away."
CHOSEN = "The constant in RRF is sixty for nearly all."


def test_what_stands_under_the_short_form_is_found_by_what_the_long_one_says() -> None:
    question = "Which number do people choose in RRF?"
    found, asked = ask(question, INTRODUCED, CHOSEN)
    assert not found.refused
    assert CHOSEN in found.answer
    long = "Which number do people choose in Reciprocal rank fusion (RRF)?"
    assert [one for one in asked if one in (question, long)] == [question, long]


def test_a_question_about_something_else_stays_refused() -> None:
    found, asked = ask("Who painted the Mona Lisa?", INTRODUCED, CHOSEN)
    assert found.refused
    assert asked == ["Who painted the Mona Lisa?"]
