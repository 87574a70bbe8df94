"""Questions for code or steps: the listing or numbered list whole, with what introduces it."""

from __future__ import annotations

import pytest

from app.domain.answering.listings import is_result
from app.domain.answering.units import Unit
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from tests.answer_fakes import extracted, passage

KNEADING = ("Bread", "Kneading dough")
TOLD = passage("Kneading dough makes bread soft, and dough that is kneaded rises.", "p-told")
LEAD = passage(
    "Robots knead dough in bakeries. Such a machine was shown in Lyon:",
    "p-lead",
    heading_path=KNEADING,
)
CODE = passage("while soft():\n    fold()", "p-code", BlockKind.CODE, heading_path=KNEADING)
OTHER_CODE = passage("print(price)", "p-price", BlockKind.CODE)
STEPS = passage("1. Fold it.\n2. Press it.\n3. Turn it.", "p-steps", BlockKind.LIST)
BULLETS = passage("- kneading dough by hand\n- a robot", "p-bullets", BlockKind.LIST)
FAR = passage("x " * 60, "p-far", BlockKind.EXERCISE)
SHOWN = f"{LEAD.text}\n\n```\n{CODE.text}\n```"


def answer(question: str, *passages: Passage) -> str:
    return extracted(question, *passages).text


@pytest.mark.parametrize(
    "question",
    [
        "Show me the code that kneads dough.",
        "Can you give me a program for kneading dough?",
        "Is there a function to knead dough?",
        "Write a script which kneads dough",
    ],
)
def test_code_that_is_asked_for_is_shown_with_what_introduces_it(question: str) -> None:
    assert answer(question, OTHER_CODE, TOLD, FAR, LEAD, CODE) == SHOWN


@pytest.mark.parametrize(
    "question",
    [
        "What are the steps of kneading dough?",
        "Which stages has the kneading of dough, in order?",
    ],
)
def test_steps_that_are_asked_for_are_the_numbered_list_with_what_introduces_it(
    question: str,
) -> None:
    found = answer(question, BULLETS, FAR, LEAD, STEPS)
    assert found == f"{LEAD.text}\n\n{STEPS.text}"


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("What is kneading?", (TOLD, FAR, LEAD, CODE)),
        ("Show me the code that melts iron and kneads it", (OTHER_CODE, TOLD)),
        ("What are the steps of kneading dough?", (TOLD, BULLETS)),
    ],
    ids=["not asked for", "on something else", "not numbered"],
)
def test_other_blocks_do_not_take_the_place_of_an_answer(
    question: str, passages: tuple[Passage, ...]
) -> None:
    assert TOLD.text in answer(question, *passages)


INSTALLING = ("Ovens", "Installing the oven")
COMMAND_LEAD = passage("Open a terminal and run this:", "p-run", heading_path=INSTALLING)
COMMAND = passage("$ pip install oven", "p-command", BlockKind.CODE, heading_path=INSTALLING)
RESULT_LEAD = passage(
    "If it went well, this line about the oven will appear:", "p-lead-2", heading_path=INSTALLING
)
RESULT = passage(
    "The oven is installed now.", "p-result", BlockKind.CODE, language="text",
    heading_path=INSTALLING,
)  # fmt: skip


def test_what_is_to_be_run_is_shown_and_not_what_comes_of_it() -> None:
    found = answer("How do I install the oven?", COMMAND_LEAD, COMMAND, RESULT_LEAD, RESULT)
    assert found == f"{COMMAND_LEAD.text}\n\n```\n{COMMAND.text}\n```"


@pytest.mark.parametrize(
    ("heading_path", "shown"),
    [(("Kneading dough", "Usage"), True), (("Kneading dough", "Iron robots"), True),
     (("Usage", "Kneading dough"), True), (("Kneading dough", "Usage", "Robots"), False)],
)  # fmt: skip
def test_a_heading_that_says_nothing_of_the_question_leaves_it_to_the_one_above(
    heading_path: tuple[str, ...], *, shown: bool
) -> None:
    told = passage("Some dough rises in an hour if the day is warm.", "p-warm")
    lead = passage("Write this into robot.yaml of the folder:", "p-lead", heading_path=heading_path)
    code = passage("fold: 3", "p-fold", BlockKind.CODE, heading_path=heading_path)
    assert (code.text in answer("How do I knead dough?", told, FAR, lead, code)) == shown


def test_code_that_only_a_far_sentence_ties_to_the_question_is_not_the_best() -> None:
    far = passage("Machines knead dough if you let them. Add this price:", "p-far-lead")
    price = passage("price: 5", "p-price", BlockKind.CODE)
    near = passage("Add this to the file in which dough is told how to knead:", "p-near-lead")
    code = passage("fold: 3", "p-fold", BlockKind.CODE)
    found = answer("How do I knead dough?", far, price, FAR, near, code)
    assert code.text in found
    assert price.text not in found


def test_a_letter_to_be_copied_is_not_how_something_is_done() -> None:
    lead = passage("Here are answers that you may use:", "p-lead")
    letter = passage("Dear baker, you knead dough and ask why. " * 6, "p-letter", BlockKind.CODE)
    found = answer("How do I knead dough?", TOLD, FAR, lead, letter)
    assert TOLD.text in found
    assert letter.text not in found


def test_what_comes_of_it_is_shown_when_it_is_asked_for() -> None:
    question = "What output do I get when I install the oven?"
    assert RESULT.text in answer(question, COMMAND_LEAD, COMMAND, RESULT_LEAD, RESULT)


@pytest.mark.parametrize(
    ("listing", "language", "lead", "shows_result"),
    [
        ("x = 1", "python", "", False),
        ("x = 1", "python", "This prints the following:", True),
        ("Done.", "text", "", True),
        ("Done.", "text", "Write this into the file:", False),
        ("Done.", "text", "Write this into .oven.yaml of the folder:", False),
        ("$ make bread\n$ eat bread", "console", "", False),
        ("$ make bread\nmixing\nkneading\nbaking", "console", "", True),
        ("$ make bread\nmixing\nkneading\nbaking", "console", "Now run the command:", False),
        (">>> 1 + 1\n2", "pycon", "", False),
    ],
)
def test_a_listing_shows_a_result(
    listing: str, language: str, lead: str, *, shows_result: bool
) -> None:
    before = Unit(0, 0, len(lead), BlockKind.PARAGRAPH, lead) if lead else None
    assert is_result(listing, language, before) == shows_result


def test_a_list_chosen_for_one_of_its_items_keeps_what_introduces_it() -> None:
    lead = passage("It goes like this:", "p-lead")
    steps = passage("1. Buy flour.\n2. Knead the dough by hand.\n3. Bake.", "p-s", BlockKind.LIST)
    found = answer("Which steps knead the dough by hand?", lead, steps)
    assert found == f"{lead.text}\n\n{steps.text}"
