"""Steps that are told one by one in prose: which sentences, in which order."""

from __future__ import annotations

import pytest

from app.adapters.sentences import split_sentences
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.extractive import extract, quotable
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from tests.answer_fakes import context_of, extracted, in_order, passage, terms

QUESTION = "What are the steps of baking bread?"
FIRST = "The first step in baking bread is to feed the yeast."
SECOND = "In the second step the dough rests."
THIRD = "Step three takes the dough to the oven."
BESIDE = "Baking bread has more steps than baking the bread of owls has."
BESIDE_ONE = passage(BESIDE, "p-beside")


def told(*texts: str, heading: str = "Bakers") -> list[Passage]:
    path = ("Book", heading)
    return [passage(text, f"p-{at}", heading_path=path) for at, text in enumerate(texts)]


def answer(*passages: Passage, question: str = QUESTION) -> list[str]:
    return extracted(question, *passages).text.split("\n\n")


def test_the_steps_stand_in_the_books_order_whatever_is_found_first() -> None:
    context = context_of(*reversed(in_order(*told(FIRST, SECOND, THIRD, BESIDE))))
    weights = dict.fromkeys(terms(QUESTION), 1.0)
    given = ExtractionInput(QUESTION, context, weights, terms, split_sentences)
    units = quotable(given)
    found = extract(given, units, [0.0] * len(units))
    assert found.text.split("\n\n") == [FIRST, SECOND, THIRD]
    for (start, end), unit in found.claims:
        assert found.text[start:end] == unit.text


def test_a_label_gives_way_to_the_sentence_that_tells_the_step() -> None:
    steps = told(
        f"Step 1. It is early. {FIRST}", "Step 2. The dough rests. It is late.", f"Step 3. {THIRD}"
    )
    assert answer(*steps, BESIDE_ONE) == [FIRST, "The dough rests.", THIRD]


def test_one_step_may_be_missing_and_the_last_ends() -> None:
    last = "The final stage cools the loaf."
    fourth = "Step 4 wakes the baker."
    assert answer(*told(FIRST, THIRD, fourth, last)) == [FIRST, THIRD, fourth, last]


def test_told_twice_the_longer_telling_counts() -> None:
    short = told("In step one of baking bread sing.", "In step two hum.", "In step three dance.")
    steps = told(FIRST, SECOND, THIRD, "In the fourth step the loaf cools.")
    assert answer(*short, *steps) == [one.text for one in steps]


@pytest.mark.parametrize(
    "passages",
    [
        told(FIRST, SECOND),
        told(SECOND, THIRD, "In the fourth step the loaf cools."),
        told("In step one owls hunt.", "In step two owls sleep.", "In step 3 they bake bread."),
        told("Baking bread is the first step of a feast.", SECOND, THIRD),
        told("The first step of baking clay is to dig.", SECOND, THIRD),
        told(FIRST, SECOND, "Step three " + "takes the dough to an oven " * 60 + "."),
    ],
    ids=["two", "no first", "of something else", "a step itself", "of half of it", "too long"],
)
def test_else_it_is_answered_as_any_question(passages: list[Passage]) -> None:
    assert answer(*passages, BESIDE_ONE) != [one.text for one in passages]


def test_the_heading_may_say_what_the_steps_are_of() -> None:
    first = "The first step is to feed the yeast."
    steps = told(first, SECOND, THIRD, heading="Baking bread")
    assert answer(*steps, BESIDE_ONE) == [first, SECOND, THIRD]
    assert answer(*told(first, SECOND, THIRD), BESIDE_ONE) != [first, SECOND, THIRD]


def test_a_numbered_list_is_preferred() -> None:
    items = passage("1. Bake bread.\n2. Eat bread.\n3. Sleep.", "p-list", BlockKind.LIST)
    led = passage("The steps of baking bread:", "p-led")
    found = extracted(QUESTION, *told(FIRST, SECOND, THIRD), led, items)
    assert found.text.endswith(items.text)


def test_what_names_the_several_things_asked_for_needs_no_more() -> None:
    names = "There are four kinds of bread: rye, wheat, corn and owl."
    more = "There are kinds of bread for bakers with much time."
    question = "Which kinds of bread are there?"
    assert answer(passage(more), passage(names, "p-n"), question=question) == [names]


def test_a_step_that_announces_what_cannot_be_quoted_is_not_told() -> None:
    hanging = told(FIRST, "In the second step run this:", THIRD)
    listing = passage("x = 1\n" * 300, "p-code", BlockKind.CODE)
    first, second, third = hanging
    assert second.text not in answer(first, second, listing, third)
