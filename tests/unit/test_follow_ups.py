"""Questions suggested after an answer, about what is near the hits."""

from dataclasses import replace
from functools import partial

import pytest

from app.domain.answering.follow_ups import suggestions
from app.domain.answering.request import AskRequest
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import Hit
from tests.fake_world import World, chunk, passage, terms
from tests.recorded_cases import case_lines

LIGHT = passage(
    "Photosynthesis turns light energy into chemical energy. "
    "Chlorophyll is the pigment that takes the light in.",
    "p-light",
    terms=("Photosynthesis", "Chlorophyll"),
    heading_path=("Plants", "2.1 Energy from light"),
)


def suggested(question: str, *passages: Passage) -> list[str]:
    hit = Hit(chunk(passages), 1.0)
    return [one for one, _ in suggestions(terms(question), [hit, hit], terms, "en")]


def test_terms_of_what_was_found_are_suggested_once_and_not_what_was_asked() -> None:
    assert suggested("What is photosynthesis?", LIGHT) == ['What does "Chlorophyll" mean?']


@pytest.mark.parametrize(("told", "question"), case_lines("suggested_headings"))
def test_a_heading_is_suggested_if_it_makes_a_question(told: str, question: str) -> None:
    heading, text = told.split(" | ")
    found = suggested("What is rain?", passage(text, heading_path=(heading,)))
    assert found == ([question] if question else [])


def test_headings_are_read_in_the_books_language_and_asked_in_the_readers() -> None:
    told = passage("A list is a row of values.", heading_path=("List",))
    book = replace(chunk((told,)), language="de")
    asks = partial(suggestions, frozenset(), [Hit(book, 1.0)], terms)
    assert [one for one, _ in asks("de")] == ["Was bedeutet „List“?"]
    assert [one for one, _ in asks("fr")] == ["Que signifie « List » ?"]
    english = chunk((passage("It is written.", heading_path=("Building the Index",)),))
    hit = Hit(replace(english, language="de"), 1.0)
    assert list(suggestions(frozenset(), [hit], terms, "en")) == []


def exercise(text: str) -> Passage:
    return passage(text, kind=BlockKind.EXERCISE, heading_path=("Tasks",), terms=("stoma",))


FRINGE = "Why does a fringe make the flight silent?"
NO_SUBJECTS = (
    *("Summary", "Review Questions", "Chapter learning objectives", "1. The", "x" * 90 + " yz"),
    *("3D", "TL;DR", "Exercise 7.1", "Problem 4b", "Section Quiz", "End-of-chapter quiz"),
    *("Practical Exercise: Tune a model", "Which of the following is wet?", "Uses of ?"),
)
LABELS = ("Note", "Warning", "Example 3.1", "N.B.", "Step 2", "Case 1", "You get")


@pytest.mark.parametrize(
    ("found", "question"),
    [
        (exercise(FRINGE), FRINGE),
        (exercise("Name two prey animals."), ""),
        (exercise("Look at the picture. What is it?"), ""),
        (exercise("看图。这是什么？"), ""),
        (exercise(f"Why does {'a very ' * 20} soft fringe help?"), ""),
        (exercise("Say what a stoma is."), ""),
        *((passage("Because.", heading_path=(heading,)), "") for heading in NO_SUBJECTS),
        *((passage(f"{label}: it gets wet.", terms=(label,)), "") for label in LABELS),
        (passage("Some of these are *very* large.", terms=("very",)), ""),
        (passage("A stoma is a pore in a leaf.", terms=("stoma",)), "stoma"),
        (passage("Such a pore is called a stoma and may close.", terms=("stoma",)), "stoma"),
        (passage("Each stoma opens by day.", terms=("stoma",)), ""),
        # A label of one point among others is no term.
        (passage("Speed: Twice that of the old one.", terms=("Speed",)), ""),
        (passage("Speed - Built on threads.", terms=("Speed",)), ""),
        (passage("Speed: The old one is half as fast.", terms=("Speed",)), ""),
        (passage("Speed: the way per second.", terms=("Speed",)), "Speed"),
        (passage("Speed \u2014 how far it comes.", terms=("Speed",)), "Speed"),
    ],
    ids=lambda one: one.text[:30] if isinstance(one, Passage) else "",
)
def test_a_short_question_and_a_term_that_the_book_explains_are_suggested(
    found: Passage, question: str
) -> None:
    asked = question if question.endswith("?") else f'What does "{question}" mean?'
    assert suggested("What is rain?", found) == [asked] * bool(question)


async def test_an_answer_ends_with_them_and_a_refusal_does_not() -> None:
    use_case = World((LIGHT,)).answering()
    answer = await use_case.answer(AskRequest("What does photosynthesis turn light into?"))
    assert not answer.refused
    assert 'What does "Chlorophyll" mean?' in answer.follow_ups
    refusal = await use_case.answer(AskRequest("Who won the hockey cup in Ottawa?"))
    assert (refusal.refused, refusal.follow_ups) == (True, ())


async def test_what_was_found_on_other_pages_comes_after_what_stands_near_the_citations() -> None:
    world = World((LIGHT,))
    other = passage(
        "A stoma is a pore that lets in light, gas and energy.",
        "p-stoma",
        terms=("stoma",),
        heading_path=("Plants", "Pores of the leaf"),
    )
    elsewhere = replace(chunk([other], "c-2"), file="other.md")
    world.index.stored = [elsewhere, *world.index.stored]
    asked = AskRequest("What does photosynthesis turn light energy into?")
    answer = await world.answering().answer(asked)
    assert {one.file for one in answer.citations} == {"page.md"}
    assert answer.follow_ups[:2] == ('What does "Chlorophyll" mean?', 'What does "stoma" mean?')


async def test_there_are_at_most_three() -> None:
    text = "Alpha beta gamma delta epsilon."
    many = passage(
        text,
        kind=BlockKind.GLOSSARY_ENTRY,
        terms=tuple(text.rstrip(".").split()),
        heading_path=("Greek",),
    )
    assert len(suggested("What is rain?", many)) == 5
    answer = await World((many,)).answering().answer(AskRequest("Alpha beta?"))
    assert len(answer.follow_ups) == 3
